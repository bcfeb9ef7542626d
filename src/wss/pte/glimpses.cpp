#include "wss/pte/glimpses.h"

#include <algorithm>

#include "wss/pages/read_maps.h"
#include "wss/pte/read_tables.h"

namespace tidegauge::wss {

base::Status Glimpses::look(PageTables& tables, const Process& process) {
  TG_ASSIGN_OR_RETURN(std::vector<MappingUse> uses, readMaps(process));
  std::vector<PageBits> pages;
  auto all = [](const Mapping&) { return true; };
  TG_ASSIGN_OR_RETURN([[maybe_unused]] uint64_t unread,
                      readTables(tables, process, uses, all, &pages));
  note(pages);
  return base::okStatus();
}

void Glimpses::note(const std::vector<PageBits>& pages) {
  for (const PageBits& bits : pages) {
    if (std::ranges::all_of(bits.touched, [](uint64_t word) { return word == 0; })) continue;
    PageBits::Bits& touched = seen_[bits.table].touched;
    for (size_t i = 0; i < touched.size(); ++i) touched[i] |= bits.touched[i];
  }
}

void Glimpses::beginReading() {
  for (auto& [table, seen] : seen_) seen.there_at_end = seen.kept_at_end = {};
}

Entries Glimpses::amended(uint64_t table, page_table_kind kind, Entries entries) {
  auto found = seen_.find(table);
  if (found == seen_.end() || !hasEntries(kind)) return entries;
  found->second.there_at_end = bitsOf(table, kind, entries).there;
  for (size_t i = 0; i < kTable / kPage; ++i) {
    bool is_kept = entries[kind == PAGE_TABLE_OF_PAGES ? i : 0] != 0;
    if (is_kept) found->second.kept_at_end[i / 64] |= uint64_t{1} << i % 64;
  }
  std::ranges::copy(entries, entries_.begin());
  if (kind != PAGE_TABLE_OF_PAGES) {  // a large page was touched as a whole
    entries_[0] |= kEntryAccessed;
    return entries_;
  }
  for (size_t i = 0; i < entries_.size(); ++i)
    if (PageBits::at(found->second.touched, i) && isThere(entries_[i]))
      entries_[i] |= kEntryAccessed;
  return entries_;
}

uint64_t Glimpses::goneBytes(const std::vector<MappingUse>& uses) const {
  uint64_t pages = 0;
  size_t first = 0;
  for (const auto& [table, seen] : seen_) {
    while (first < uses.size() && uses[first].mapping.end <= table) ++first;
    for (size_t i = first; i < uses.size() && uses[i].mapping.start < table + kTable; ++i) {
      uint64_t from = std::max(uses[i].mapping.start, table);
      uint64_t to = std::min(uses[i].mapping.end, table + kTable);
      bool leaves_entry = isPrivateMemory(uses[i].mapping);
      for (uint64_t page = (from - table) / kPage; page < (to - table) / kPage; ++page)
        pages += PageBits::at(seen.touched, page) && !PageBits::at(seen.there_at_end, page) &&
                 (!leaves_entry || PageBits::at(seen.kept_at_end, page));
    }
  }
  return pages * kPage;
}

}  // namespace tidegauge::wss
