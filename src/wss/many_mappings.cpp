#include "wss/many_mappings.h"

#include <fcntl.h>

#include <algorithm>

#include "base/huge_pages.h"
#include "wss/clear_refs.h"
#include "wss/read_maps.h"
#include "wss/span_chance.h"
#include "wss/wide_flush.h"

namespace tidegauge::wss {
namespace {

// Of those that can have pages far enough apart for a flush of all.
constexpr uint64_t kWide = 40 * kPage;

// The data of programs and libraries, too, which mostly were written to, and then are of no file.
bool isWide(const Mapping& mapping) {
  bool is_data = mapping.kind == MappingKind::kFile && mapping.writable && !mapping.shared;
  return (is_data || isPrivateMemory(mapping)) && mapping.end - mapping.start > kWide;
}

}  // namespace

base::Result<std::optional<ManyMappings>> ManyMappings::list(PageTables& tables,
                                                             const Process& process,
                                                             uint32_t many) {
  std::optional<MappingsState> before = tables.mappingsOf(process.thread());
  if (!before || before->count < many || !before->changes) return std::optional<ManyMappings>{};
  ManyMappings listed;
  TG_RETURN_IF_ERROR(listed.listNow(process, *before));
  return std::optional(std::move(listed));
}

base::Status ManyMappings::listNow(const Process& process, const MappingsState& before) {
  constexpr size_t kMore = 64;  // mapped since; and [vsyscall], which is not counted
  TG_ASSIGN_OR_RETURN(uses_, readMaps(process, before.count + kMore));
  changes_ = before.changes;
  ++lists_;
  return base::okStatus();
}

bool ManyMappings::isListed(const std::optional<MappingsState>& state) const {
  return state && changes_ && state->changes == changes_;
}

base::Result<Clearing> ManyMappings::clear(PageTables& tables, const Process& process, Flush flush,
                                           Clock& clock) {
  TG_ASSIGN_OR_RETURN(Clearing done, clearReferences(process, Flush::kNone, clock));
  if (changes_) ++*changes_;
  int64_t cpu_ns = clock.cpu_ns();
  TG_RETURN_IF_ERROR(flushAll(tables, process, flush, clock, done.cost.stall_ns));
  done.pass.end_ns = clock.now_ns();
  done.cost.cpu_ns += clock.cpu_ns() - cpu_ns;
  return done;
}

base::Status ManyMappings::flushAll(PageTables& tables, const Process& process, Flush flush,
                                    Clock& clock, int64_t& stall_ns) {
  WordFile flags(open("/proc/kpageflags", O_RDONLY | O_CLOEXEC));
  auto chance = [&](const WideSpan& span, const Stretch& stretch) {
    return chanceOf(span, stretch, flags);
  };
  TableRuns all = tablesOf(uses_, isWide);
  // Where too few pages were touched as yet: a walk would take longer than these pauses.
  constexpr std::array<int64_t, 4> kPauses_ns{0, 1'000'000, 2'000'000, 4'000'000};
  for (int64_t pause_ns : kPauses_ns) {
    if (pause_ns > 0) clock.sleep(pause_ns);
    auto wide = flushWide(tables, process, all, uses_, isWide, clock, chance);
    // A right is missing, or the process is gone, which the walk tells.
    if (!wide.ok()) break;
    stall_ns = std::max(stall_ns, wide.value().stall_ns);
    take(wide.value().taken);
    // One flush is of one mapping, so that must still be the one that is listed.
    if (!isListed(tables.mappingsOf(process.thread()))) break;
    if (wide.value().is_done) return base::okStatus();
  }
  if (flush != Flush::kFree) return base::okStatus();
  TG_ASSIGN_OR_RETURN(Clearing walked, flushTlb(process, clock));
  was_walked_ = true;
  if (changes_) ++*changes_;
  stall_ns = std::max(stall_ns, walked.cost.stall_ns);
  return base::okStatus();
}

base::Result<std::vector<MappingUse>> ManyMappings::now(PageTables& tables,
                                                        const Process& process) {
  std::optional<MappingsState> state = tables.mappingsOf(process.thread());
  if (!state) return process.whyNothing("maps", 0);
  if (!isListed(state)) {
    TG_RETURN_IF_ERROR(listNow(process, *state));
  }
  std::vector<MappingUse> copy;
  copy.reserve(uses_.size());
  base::preferHugePages(copy.data(), copy.capacity() * sizeof(MappingUse));
  copy = uses_;
  return copy;
}

void ManyMappings::take(const std::vector<PageBits>& more) {
  for (const PageBits& one : more) {
    PageBits::Bits& bits = taken_[one.table];
    for (size_t i = 0; i < bits.size(); ++i) bits[i] |= one.touched[i];
  }
}

Entries ManyMappings::withTaken(uint64_t table, page_table_kind kind, Entries entries) {
  auto found = taken_.find(table);
  if (found == taken_.end() || kind != PAGE_TABLE_OF_PAGES) return entries;
  std::ranges::copy(entries, entries_.begin());
  for (size_t i = 0; i < entries_.size(); ++i)
    if (PageBits::at(found->second, i) && isThere(entries_[i])) entries_[i] |= kEntryAccessed;
  return entries_;
}

}  // namespace tidegauge::wss
