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
      last = std::exchange(first, touchedIn(entries, begin, first - kFarApart + 1));
      if (first == kNoPage) continue;
    }
    // No more than these two need, but for folios, which would be cut.
    range.begin = std::max(range.begin, table + first / kUncut * kUncut * kPage);
    range.end = std::min(range.end, table + (last / kUncut + 1) * kUncut * kPage);
    return WideSpan{table, range, first, last};
  }
  return std::nullopt;
}

base::Result<std::optional<WideSpan>> wideSpanAround(AddressRange range, PageTables& reader,
                                                     const Process& process,
                                                     const std::vector<MappingUse>& uses,
                                                     MappingWalk::Wanted wanted) {
  std::optional<WideSpan> span;
  if (kIsArm64) return span;
  auto look = [&](uint64_t table, page_table_kind kind, Entries entries) {
    span = wideSpanOf(table, kind, entries, uses, wanted, (range.begin - table) / kPage,
                      (range.end - table) / kPage);
  };
  TG_ASSIGN_OR_RETURN(bool is_there,
                      reader.read(process.thread(), {&range.begin, 1}, PAGE_TABLE_ALL, look));
  if (!is_there) return process.whyNothing("maps", 0);
  return span;
}

base::Result<bool> wasFlushed(const WideSpan& span, PageTables& reader, const Process& process) {
  bool was_flushed = false;
  auto look = [&](uint64_t, page_table_kind kind, Entries entries) {
    was_flushed = kind == PAGE_TABLE_OF_PAGES && isUntouched(entries[span.first]) &&
                  isUntouched(entries[span.last]);
  };
  TG_ASSIGN_OR_RETURN(bool is_there,
                      reader.read(process.thread(), {&span.table, 1}, PAGE_TABLE_ALL, look));
  if (!is_there) return process.whyNothing("maps", 0);
  return was_flushed;
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
      TG_ASSIGN_OR_RETURN(done.is_done, wasFlushed(span, reader, process));
      if (done.is_done) return done;
    }
  }
  return done;
}

}  // namespace tidegauge::wss
