// The journal beside a recording (SQLite's write-ahead log, "-wal"): which pages of the file it
// holds.
//
//   header (32 bytes) │ page 7, 4,096 bytes │ page 9, … , commit │ page 7 again, … │ older rest
//
// After the disk was full, the file may end inside a page that is whole in the journal.
// Cost: one read of 24 bytes per page of the journal. Source: sqlite.org, "WAL-mode File Format".
#pragma once

#include <cstdint>
#include <string>

namespace tidegauge::readers::recording {

// Whether each of these pages (the first has number 1) is in a committed part of the journal.
bool journalHolds(const std::string& path, uint32_t first_page, uint32_t last_page);

}  // namespace tidegauge::readers::recording
