#include "wss/wide_flush.h"

#include <algorithm>
#include <utility>

namespace tidegauge::wss {
namespace {

constexpr size_t kFarApart = 64;  // more than 33, the kernel's limit as it comes
constexpr size_t kMostSeen = 32;  // tables that are looked at
constexpr size_t kSeenFirst = 4;  // mostly enough, and each of them is 4 KiB to read
constexpr size_t kMostTried = 4;  // of them made cold, until one flushed
constexpr size_t kUncut = 64;     // pages of the largest folio that is sampled at all
constexpr size_t kNoPage = PAGE_TABLE_ENTRIES;

bool isUntouched(uint64_t entry) { return isThere(entry) && !isTouched(entry); }

// The first of entries [from, to) that is touched.
size_t touchedIn(Entries entries, size_t from, size_t to) {
  for (size_t i = from; i < to; ++i)
    if (isTouched(entries[i])) return i;
  return kNoPage;
}

size_t lastTouchedIn(Entries entries, size_t from, size_t to) {
  for (size_t i = to; i > from; --i)
    if (isTouched(entries[i - 1])) return i - 1;
  return kNoPage;
}

// The table at `address`, as it is now.
base::Status lookAt(uint64_t address, PageTables& reader, const Process& process,
                    const PageTables::Visit& visit) {
  TG_ASSIGN_OR_RETURN(bool is_there,
                      reader.read(process.thread(), {&address, 1}, PAGE_TABLE_ALL, visit));
  if (!is_there) return process.whyNothing("maps", 0);
  return base::okStatus();
}

base::Result<bool> isFlushedNow(const WideSpan& span, PageTables& reader, const Process& process) {
  bool is_flushed = false;
  TG_RETURN_IF_ERROR(
      lookAt(span.table, reader, process, [&](uint64_t, page_table_kind kind, Entries entries) {
        is_flushed = wasFlushed(span, kind, entries);
      }));
  return is_flushed;
}

std::vector<uint64_t> someOf(const TableRuns& tables) {
  std::vector<uint64_t> some;
  size_t count = std::min(tables.count(), kMostSeen);
  // The first and the last among them: the heap, and stacks.
  for (size_t i = 0; i < count; ++i)
    some.push_back(tables.at(count == 1 ? 0 : i * (tables.count() - 1) / (count - 1)));
  return some;
}

}  // namespace

std::optional<WideSpan> wideSpanOf(uint64_t table, page_table_kind kind, Entries entries,
                                   const std::vector<MappingUse>& uses, MappingWalk::Wanted wanted,
                                   size_t from, size_t to) {
  if (kind != PAGE_TABLE_OF_PAGES) return std::nullopt;
  uint64_t end = table + kTable;
  auto use =
      std::ranges::upper_bound(uses, table, {}, [](const auto& it) { return it.mapping.end; });
  for (; use != uses.end() && use->mapping.start < end; ++use) {
    if (!wanted(use->mapping)) continue;
    AddressRange range{std::max(table, use->mapping.start), std::min(end, use->mapping.end)};
    size_t begin = (range.begin - table) / kPage, after = (range.end - table) / kPage;
    size_t first = touchedIn(entries, std::max(begin, from), std::min(after, to));
    if (first == kNoPage) continue;
    size_t last = touchedIn(entries, first + kFarApart, after);
    if (last == kNoPage) {
      if (first < begin + kFarApart) continue;
      last = std::exchange(first, lastTouchedIn(entries, begin, first - kFarApart + 1));
      if (first == kNoPage) continue;
    }
    // No more than these two need, but for folios, which would be cut.
    range.begin = std::max(range.begin, table + first / kUncut * kUncut * kPage);
    range.end = std::min(range.end, table + (last / kUncut + 1) * kUncut * kPage);
    return WideSpan{table, range, first, last};
  }
  return std::nullopt;
}

bool wasFlushed(const WideSpan& span, page_table_kind kind, Entries entries) {
  return kind == PAGE_TABLE_OF_PAGES && isUntouched(entries[span.first]) &&
         isUntouched(entries[span.last]);
}

base::Result<WideFlush> flushWide(PageTables& reader, const Process& process,
                                  const TableRuns& tables, const std::vector<MappingUse>& uses,
                                  MappingWalk::Wanted wanted, Clock& clock) {
  WideFlush done;
  if (kIsArm64) return done;
  std::vector<uint64_t> some = someOf(tables);
  std::span<const uint64_t> all = some;
  size_t first = std::min(all.size(), kSeenFirst), tried = 0;
  for (auto few : {all.first(first), all.subspan(first)}) {
    if (tried == kMostTried) break;
    std::vector<WideSpan> spans;
    auto look = [&](uint64_t table, page_table_kind kind, Entries entries) {
      if (tried + spans.size() == kMostTried) return;
      if (auto span = wideSpanOf(table, kind, entries, uses, wanted)) spans.push_back(*span);
    };
    TG_ASSIGN_OR_RETURN(bool is_there, reader.read(process.thread(), few, PAGE_TABLE_ALL, look));
    if (!is_there) return process.whyNothing("maps", 0);
    for (const WideSpan& span : spans) {
      ++tried;
      TG_ASSIGN_OR_RETURN(MadeCold made, makeCold(process, {&span.range, 1}, clock));
      done.stall_ns = std::max(done.stall_ns, made.longest_ns);
      TG_ASSIGN_OR_RETURN(done.is_done, isFlushedNow(span, reader, process));
      if (done.is_done) return done;
    }
  }
  return done;
}

base::Result<ColdAndFlush> makeColdAndFlush(PageTables& reader, const Process& process,
                                            std::vector<AddressRange> ranges,
                                            const std::vector<MappingUse>& uses,
                                            MappingWalk::Wanted wanted, Clock& clock) {
  ColdAndFlush done;
  if (ranges.empty()) return done;
  // A range in the middle lies among touched pages, more likely than one of a stack does. It is looked at and made cold
  // when all others are, so that little can happen to it meanwhile.
  auto at = ranges.begin() + static_cast<ptrdiff_t>(ranges.size() / 2);
  AddressRange middle = *at;
  ranges.erase(at);
  TG_ASSIGN_OR_RETURN(done.made, makeCold(process, ranges, clock));
  std::optional<WideSpan> wide;
  // Of a huge page, or what is left of it, all is made cold.
  if (!kIsArm64 && middle.end - middle.begin <= kUncut * kPage) {
    auto look = [&](uint64_t table, page_table_kind kind, Entries entries) {
      wide = wideSpanOf(table, kind, entries, uses, wanted, (middle.begin - table) / kPage,
                        (middle.end - table) / kPage);
    };
    TG_RETURN_IF_ERROR(lookAt(middle.begin, reader, process, look));
  }
  TG_ASSIGN_OR_RETURN(MadeCold last, makeCold(process, {wide ? &wide->range : &middle, 1}, clock));
  done.made.longest_ns = std::max(done.made.longest_ns, last.longest_ns);
  if (!last.locked.empty()) {
    auto& locked = done.made.locked;
    locked.insert(std::ranges::upper_bound(locked, middle.begin, {}, &AddressRange::begin), middle);
  } else if (wide) {
    TG_ASSIGN_OR_RETURN(done.is_flushed, isFlushedNow(*wide, reader, process));
    // Until Linux 6.8 a large folio that cannot be made cold ended it for all that came behind in its table.
    if (!done.is_flushed) {
      TG_ASSIGN_OR_RETURN(last, makeCold(process, {&middle, 1}, clock));
      done.made.longest_ns = std::max(done.made.longest_ns, last.longest_ns);
    }
  }
  return done;
}

}  // namespace tidegauge::wss
