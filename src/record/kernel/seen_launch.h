// SeenLaunch: the record of one launch as it was taken out of its ring.
#pragma once

#include <cstdint>
#include <vector>

#include "bpf/records.h"

namespace tidegauge::record {

struct SeenLaunch : launch_record {
  std::vector<uint8_t> bytes;  // its parameters, if they were taken whole
};

}  // namespace tidegauge::record
