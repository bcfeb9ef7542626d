// The fragmentation of live memory at one moment, for figures while a program runs.
//
//   driver   [ 2 MiB ········ ]   [ 20 MiB ······ ]   ranges, by address
//   blocks   [##  ###   #     ]   [######    ##   ]   of the framework, inside
//              └┴───┴──┴─ free, inside the framework's ranges of the driver
//
// A range in which the framework never placed a block belongs to something else: memory outside
// PyTorch, in no sum here. Blocks are known as requested; they occupy whole multiples of 512 bytes.
// Cost: one pass and two sorts of the live blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/forecast/forecast.h"
#include "analysis/layout/layout_score.h"
#include "model/ledger/ledger.h"

namespace tidegauge::analysis {

struct LiveLayout {
  uint64_t reserved_bytes = 0;  // by the framework
  uint64_t free_bytes = 0;      // of them
  uint64_t request_bytes = 0;   // the 95th percentile of the blocks' sizes
  uint64_t stranded_bytes = 0;  // of free_bytes: of no use to requests of that size
  LayoutScore reserved;         // blocks inside the framework's ranges
  LayoutScore address;          // everything that the driver allocated
};

// For one device; both lists by address, as ProcessLedger gives them.
LiveLayout liveLayout(std::span<const model::LiveRange> ranges,
                      std::span<const model::LiveRange> blocks, int32_t device);

// The same over time, at even intervals: a forecast, and whether the memory that stays grows.
class LiveTrend {
 public:
  // `floor_bytes`: the least live bytes since the last sample.
  void add(double time_s, const LayoutScore& score, uint64_t floor_bytes);
  // Absent until there are kForecastLeast samples.
  std::optional<Forecast> forecast() const;
  // Bytes per second by Theil–Sen, 0 if a level line fits as well; absent below eight samples.
  std::optional<double> growth() const;

 private:
  std::vector<ForecastSample> scores_;  // the last kForecastHistory
  std::vector<double> times_, floors_;
};

}  // namespace tidegauge::analysis
