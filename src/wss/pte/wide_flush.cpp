#include "wss/pte/wide_flush.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace tidegauge::wss {
namespace {

constexpr size_t kMaxSeen = 32;   // tables that are examined, each with the next one
constexpr size_t kSeenFirst = 4;  // usually enough, and each takes 4 KiB to read
constexpr size_t kMaxTried = 4;   // of these made cold, until one flushed
constexpr size_t kUncut = 64;     // pages of the largest folio that is sampled at all
constexpr size_t kNoneTouched = ~size_t{0};

// The first touched one of entries [from, to).
size_t firstTouchedIn(std::span<const __u64> entries, size_t from, size_t to) {
  for (size_t i = from; i < to; ++i)
    if (isTouched(entries[i])) return i;
  return kNoneTouched;
}

size_t lastTouchedIn(std::span<const __u64> entries, size_t from, size_t to) {
  for (size_t i = to; i > from; --i)
    if (isTouched(entries[i - 1])) return i - 1;
  return kNoneTouched;
}

// Reads the current table at `address`.
base::Status lookAt(uint64_t address, PageTables& reader, const Process& process,
                    const PageTables::Visit& visit) {
  TG_ASSIGN_OR_RETURN(bool is_there,
                      reader.read(process.thread(), {&address, 1}, PAGE_TABLE_ALL, visit));
  if (!is_there) return process.whyNothing("maps", 0);
  return base::okStatus();
}

base::Result<bool> isFlushedNow(const WideSpan& span, PageTables& reader, const Process& process) {
  bool are_cold = true;
  for (uint64_t page : {span.first, span.last}) {
    TG_RETURN_IF_ERROR(
        lookAt(page, reader, process, [&](uint64_t, page_table_kind kind, Entries entries) {
          are_cold = are_cold && isCold(page, kind, entries);
        }));
  }
  return are_cold;
}

// In the order of addresses.
std::vector<uint64_t> someOf(const TableRuns& tables) {
  std::vector<uint64_t> some;
  size_t count = std::min(tables.count(), kMaxSeen);
  // Includes the first and the last: the heap, and stacks.
  for (size_t i = 0; i < count; ++i) {
    uint64_t table = tables.at(count == 1 ? 0 : i * (tables.count() - 1) / (count - 1));
    for (uint64_t one : {table, table + kTable})
      if (tables.has(one) && (some.empty() || some.back() < one)) some.push_back(one);
  }
  return some;
}

// Tables as they are read, each with the previous one if that is adjacent.
class Stretches {
 public:
  Stretch add(uint64_t table, page_table_kind kind, Entries entries) {
    bool is_next = has_last_ && table == last_ + kTable;
    if (is_next) std::ranges::copy(half(1), half(0).begin());
    if (kind == PAGE_TABLE_OF_PAGES)
      std::ranges::copy(entries, half(1).begin());
    else
      std::ranges::fill(half(1), 0);
    last_ = table;
    has_last_ = true;
    return is_next ? Stretch{table - kTable, entries_} : Stretch{table, half(1)};
  }
  // Ends the current stretch.
  void cut() { has_last_ = false; }

 private:
  std::span<__u64> half(size_t i) {
    return std::span(entries_).subspan(i * PAGE_TABLE_ENTRIES, PAGE_TABLE_ENTRIES);
  }
  std::array<__u64, size_t{2} * PAGE_TABLE_ENTRIES> entries_{};
  uint64_t last_ = 0;
  bool has_last_ = false;
};

// Its touched pages, table by table.
std::vector<PageBits> touchedIn(const WideSpan& span, const Stretch& stretch) {
  std::vector<PageBits> touched;
  for (uint64_t page = span.range.begin; page < span.range.end; page += kPage) {
    if (!isTouched(stretch.at(page))) continue;
    uint64_t table = page / kTable * kTable;
    if (touched.empty() || touched.back().table != table) touched.push_back({.table = table});
    size_t i = (page - table) / kPage;
    touched.back().touched[i / 64] |= uint64_t{1} << i % 64;
  }
  return touched;
}

}  // namespace

std::optional<WideSpan> wideSpanOf(const Stretch& stretch, const std::vector<MappingUse>& uses,
                                   MappingWalk::Wanted wanted, AddressRange within) {
  uint64_t end = stretch.end();
  auto pageOf = [&](uint64_t address) { return (address - stretch.begin) / kPage; };
  auto addressOf = [&](size_t page) { return stretch.begin + page * kPage; };
  auto use = std::ranges::upper_bound(uses, stretch.begin, {},
                                      [](const auto& it) { return it.mapping.end; });
  for (; use != uses.end() && use->mapping.start < end; ++use) {
    if (!wanted(use->mapping)) continue;
    AddressRange range{std::max(stretch.begin, use->mapping.start),
                       std::min(end, use->mapping.end)};
    AddressRange from{std::max(range.begin, within.begin), std::min(range.end, within.end)};
    if (from.begin >= from.end) continue;
    size_t begin = pageOf(range.begin), after = pageOf(range.end);
    size_t first = firstTouchedIn(stretch.entries, pageOf(from.begin), pageOf(from.end));
    if (first == kNoneTouched) continue;
    size_t last = firstTouchedIn(stretch.entries, first + kFarApart, after);
    if (last == kNoneTouched) {
      if (first < begin + kFarApart) continue;
      last = std::exchange(first, lastTouchedIn(stretch.entries, begin, first - kFarApart + 1));
      if (first == kNoneTouched) continue;
    }
    // No wider than these two need, except for folios, which would be cut.
    range.begin = std::max(range.begin, addressOf(first / kUncut * kUncut));
    range.end = std::min(range.end, addressOf((last / kUncut + 1) * kUncut));
    return WideSpan{range, addressOf(first), addressOf(last)};
  }
  return std::nullopt;
}

bool isCold(uint64_t page, page_table_kind kind, Entries entries) {
  if (kind != PAGE_TABLE_OF_PAGES) return false;
  uint64_t entry = entries[page / kPage % PAGE_TABLE_ENTRIES];
  return isThere(entry) && !isTouched(entry);
}

base::Result<WideFlush> flushWide(PageTables& reader, const Process& process,
                                  const TableRuns& tables, const std::vector<MappingUse>& uses,
                                  MappingWalk::Wanted wanted, Clock& clock, const Judge& judge) {
  WideFlush done;
  if (kIsArm64) return done;
  struct Try {
    WideSpan span;
    std::vector<PageBits> touched;
    Chance chance;
  };
  Stretches stretches;
  std::vector<uint64_t> some = someOf(tables);
  std::span<const uint64_t> all = some;
  size_t first = std::min(all.size(), kSeenFirst), tried = 0;
  for (auto few : {all.first(first), all.subspan(first)}) {
    if (tried == kMaxTried) break;
    std::vector<Try> tries;
    auto look = [&](uint64_t table, page_table_kind kind, Entries entries) {
      if (tried + tries.size() == kMaxTried) return;
      Stretch stretch = stretches.add(table, kind, entries);
      auto span = wideSpanOf(stretch, uses, wanted);
      Chance chance = Chance::kNone;
      // After one that must not be made cold there may be others.
      while (span && (chance = judge(*span, stretch)) == Chance::kNone)
        span = wideSpanOf(stretch, uses, wanted, {span->last + kPage, stretch.end()});
      if (!span) return;
      tries.push_back({*span, touchedIn(*span, stretch), chance});
      stretches.cut();
    };
    TG_ASSIGN_OR_RETURN(bool is_there, reader.read(process.thread(), few, PAGE_TABLE_ALL, look));
    if (!is_there) return process.whyNothing("maps", 0);
    for (const Try& one : tries) {
      ++tried;
      TG_ASSIGN_OR_RETURN(MadeCold made, makeCold(process, {&one.span.range, 1}, clock));
      std::ranges::copy(one.touched, std::back_inserter(done.taken));
      done.stall_ns = std::max(done.stall_ns, made.longest_ns);
      done.is_done = one.chance == Chance::kSure && made.locked.empty();
      if (!done.is_done) {
        TG_ASSIGN_OR_RETURN(done.is_done, isFlushedNow(one.span, reader, process));
      }
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
  // A range in the middle is more likely to be among touched pages than one of a stack. It is
  // examined and made cold after all others, so that little can change meanwhile.
  auto at = ranges.begin() + static_cast<ptrdiff_t>(ranges.size() / 2);
  AddressRange middle = *at;
  ranges.erase(at);
  TG_ASSIGN_OR_RETURN(done.made, makeCold(process, ranges, clock));
  std::optional<WideSpan> wide;
  // All of a huge page, or of its remaining part, is made cold.
  if (!kIsArm64 && middle.end - middle.begin <= kUncut * kPage) {
    auto look = [&](uint64_t table, page_table_kind kind, Entries entries) {
      if (kind == PAGE_TABLE_OF_PAGES) wide = wideSpanOf({table, entries}, uses, wanted, middle);
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
    // Until Linux 6.8, a large folio that cannot be made cold ended the call for the rest of its
    // table.
    if (!done.is_flushed) {
      TG_ASSIGN_OR_RETURN(last, makeCold(process, {&middle, 1}, clock));
      done.made.longest_ns = std::max(done.made.longest_ns, last.longest_ns);
    }
  }
  return done;
}

}  // namespace tidegauge::wss
