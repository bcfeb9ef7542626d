// How much of the disk a recording may take: --max-size, by default a quarter of what is free, and
// --keep-free.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "cli/record/record_options.h"

namespace tidegauge::cli {

struct RecordRoom {
  uint64_t max_bytes = 0;   // of all files of the recording; 0: no limit
  bool is_default = false;  // nobody asked for this limit
};

// An error if the disk has less than --keep-free left already.
base::Result<RecordRoom> roomFor(const std::string& path, const RecordOptions& options);

}  // namespace tidegauge::cli
