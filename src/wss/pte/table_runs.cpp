#include "wss/pte/table_runs.h"

#include <algorithm>

namespace tidegauge::wss {

void TableRuns::add(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  begin = begin / kTable * kTable;
  end = (end + kTable - 1) / kTable * kTable;
  if (!runs_.empty()) begin = std::max(begin, runs_.back().end);
  if (begin >= end) return;
  if (!runs_.empty() && begin == runs_.back().end)
    runs_.back().end = end;
  else
    runs_.push_back({begin, end, count()});
}

uint64_t TableRuns::at(size_t i) const {
  auto run = std::ranges::upper_bound(runs_, i, {}, &Run::before) - 1;
  return run->begin + (i - run->before) * kTable;
}

bool TableRuns::has(uint64_t table) const {
  auto run = std::ranges::upper_bound(runs_, table, {}, &Run::end);
  return run != runs_.end() && run->begin <= table;
}

TableRuns TableRuns::with(const TableRuns& others) const {
  TableRuns all;
  auto other = others.runs_.begin();
  for (const Run& run : runs_) {
    for (; other != others.runs_.end() && other->begin < run.begin; ++other)
      all.add(other->begin, other->end);
    all.add(run.begin, run.end);
  }
  for (; other != others.runs_.end(); ++other) all.add(other->begin, other->end);
  return all;
}

TableRuns TableRuns::without(const TableRuns& others) const {
  TableRuns rest;
  auto other = others.runs_.begin();
  for (const Run& run : runs_) {
    while (other != others.runs_.end() && other->end <= run.begin) ++other;
    uint64_t at = run.begin;
    // The last one may extend into the next run, too.
    for (auto cut = other; cut != others.runs_.end() && cut->begin < run.end; ++cut) {
      rest.add(at, std::max(at, cut->begin));
      at = cut->end;
    }
    rest.add(std::min(at, run.end), run.end);
  }
  return rest;
}

std::vector<uint64_t> TableRuns::addresses() const {
  std::vector<uint64_t> all;
  all.reserve(count());
  for (const Run& run : runs_)
    for (uint64_t at = run.begin; at < run.end; at += kTable) all.push_back(at);
  return all;
}

TableRuns tablesOf(const std::vector<MappingUse>& uses, MappingWalk::Wanted wanted,
                   std::span<const uint64_t> empty) {
  TableRuns tables;
  for (const MappingUse& use : uses) {
    if (!wanted(use.mapping)) continue;
    uint64_t at = use.mapping.start, end = use.mapping.end;
    auto giant = std::ranges::lower_bound(empty, at / kGiant * kGiant);
    for (; giant != empty.end() && *giant < end; ++giant) {
      if (at < *giant) tables.add(at, *giant);
      at = *giant + kGiant;
    }
    if (at < end) tables.add(at, end);
  }
  return tables;
}

std::vector<uint64_t> giantsOf(const std::vector<MappingUse>& uses, MappingWalk::Wanted wanted) {
  std::vector<uint64_t> giants;
  for (const MappingUse& use : uses) {
    if (!wanted(use.mapping)) continue;
    uint64_t at = use.mapping.start / kGiant * kGiant;
    if (!giants.empty()) at = std::max(at, giants.back() + kGiant);
    for (; at < use.mapping.end; at += kGiant) giants.push_back(at);
  }
  return giants;
}

}  // namespace tidegauge::wss
