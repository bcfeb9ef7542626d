#include "wss/pte/many_mappings.h"

#include <fcntl.h>

#include <algorithm>

#include "base/memory/memory.h"
#include "wss/backends/clear_refs.h"
#include "wss/pages/read_maps.h"
#include "wss/pte/read_tables.h"
#include "wss/pte/span_chance.h"
#include "wss/pte/wide_flush.h"

namespace tidegauge::wss {
namespace {

// Mappings that can have pages far enough apart to flush everything: writable ones, which become
// private once written, including the data of programs and libraries.
bool isWide(const Mapping& mapping) {
  bool is_private =
      isPrivateMemory(mapping) || (mapping.kind == MappingKind::kFile && !mapping.shared);
  return is_private && mapping.writable && mapping.end - mapping.start > kFarApart * kPage;
}

// Those of `tables` that exist and contain pages: few of reserved addresses do, and a flush needs
// only a few.
base::Result<TableRuns> ofPages(const TableRuns& tables, PageTables& reader,
                                const Process& process) {
  constexpr size_t kMaxAsked = 4096;  // 0.1 µs each
  if (tables.count() > kMaxAsked) return tables;
  TableRuns there;
  auto visit = [&](uint64_t table, page_table_kind kind, Entries) {
    if (kind == PAGE_TABLE_OF_PAGES) there.add(table, table + kTable);
  };
  TG_ASSIGN_OR_RETURN(bool is_there,
                      reader.read(process.thread(), tables.addresses(), PAGE_TABLE_KIND, visit));
  if (!is_there) return process.whyNothing("maps", 0);
  return there;
}

// The number of changes after one by this program.
bool isNext(const std::optional<uint32_t>& before, const std::optional<uint32_t>& now) {
  return before && now && *now == *before + 1;
}

}  // namespace

base::Result<std::optional<ManyMappings>> ManyMappings::clear(PageTables& tables,
                                                              const Process& process, Flush flush,
                                                              Clock& clock, Clearing& done,
                                                              uint32_t many) {
  std::optional<MappingsState> before = tables.mappingsOf(process.thread());
  if (!before) return process.whyNothing("maps", 0);
  if (before->count < many || !before->changes) {
    TG_ASSIGN_OR_RETURN(done, clearReferences(process, flush, clock));
    return std::optional<ManyMappings>{};
  }
  TG_ASSIGN_OR_RETURN(done, clearReferences(process, Flush::kNone, clock));
  std::optional<MappingsState> now = tables.mappingsOf(process.thread());
  if (!now) return process.whyNothing("maps", 0);
  std::optional<ManyMappings> listed;
  // If they changed within that time, they will change again until the flush, or until they are
  // read.
  if (isNext(before->changes, now->changes)) {
    listed.emplace();
    TG_RETURN_IF_ERROR(listed->listNow(process, *now));
  }
  if (listed && flush != Flush::kNone) {
    TG_ASSIGN_OR_RETURN(done.is_flushed,
                        listed->flushWithout(tables, process, clock, done.cost.stall_ns));
  }
  if (!done.is_flushed && flush != Flush::kNone) {
    TG_ASSIGN_OR_RETURN(Clearing walked, flushTlb(process, flush, clock));
    add(done, walked);
    if (listed && flush == Flush::kFree) {
      listed->was_walked_ = true;
      if (listed->changes_) ++*listed->changes_;
    }
  }
  done.pass.end_ns = clock.now_ns();
  return listed;
}

bool ManyMappings::isListed(const std::optional<MappingsState>& state) const {
  return state && changes_ && state->changes == changes_;
}

base::Status ManyMappings::listNow(const Process& process, const MappingsState& before) {
  constexpr size_t kMore = 64;  // mapped since; and [vsyscall], which is not counted
  TG_ASSIGN_OR_RETURN(uses_, readMaps(process, before.count + kMore));
  changes_ = before.changes;
  ++lists_;
  return base::okStatus();
}

base::Result<bool> ManyMappings::flushWithout(PageTables& tables, const Process& process,
                                              Clock& clock, int64_t& stall_ns) {
  WordFile flags(open("/proc/kpageflags", O_RDONLY | O_CLOEXEC));
  auto judge = [&](const WideSpan& span, const Stretch& stretch) {
    return chanceOf(span, stretch, flags);
  };
  pid_t asked = process.thread();
  TG_ASSIGN_OR_RETURN(std::vector<uint64_t> empty, emptyGiants(tables, process, uses_, isWide));
  TG_ASSIGN_OR_RETURN(TableRuns some, ofPages(tablesOf(uses_, isWide, empty), tables, process));
  // If too few pages are touched yet: waits as long as a walk would take.
  constexpr int64_t kWalkOfAMapping_ns = 350;
  auto left_ns = static_cast<int64_t>(uses_.size()) * kWalkOfAMapping_ns;
  for (int64_t pause_ns = 1'000'000;; pause_ns *= 2) {
    auto wide = flushWide(tables, process, some, uses_, isWide, clock, judge);
    if (!wide.ok()) {
      // The thread in use has ended: everything must be repeated. If not, a privilege is missing.
      if (process.thread() != asked) return std::move(wide.error());
      return false;
    }
    stall_ns = std::max(stall_ns, wide.value().stall_ns);
    for (const PageBits& one : wide.value().taken)
      for (size_t i = 0; i < one.touched.size(); ++i) taken_[one.table][i] |= one.touched[i];
    // One flush uses one mapping, so that must still be the listed one.
    if (!isListed(tables.mappingsOf(process.thread()))) return false;
    if (wide.value().is_done) return true;
    left_ns -= pause_ns;
    if (kIsArm64 || some.empty() || left_ns < 0) return false;
    clock.sleep(pause_ns);
  }
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

Entries ManyMappings::withTaken(uint64_t table, page_table_kind kind, Entries entries) {
  auto found = taken_.find(table);
  if (found == taken_.end() || kind != PAGE_TABLE_OF_PAGES) return entries;
  std::ranges::copy(entries, entries_.begin());
  for (size_t i = 0; i < entries_.size(); ++i)
    if (PageBits::at(found->second, i) && isThere(entries_[i])) entries_[i] |= kEntryAccessed;
  return entries_;
}

}  // namespace tidegauge::wss
