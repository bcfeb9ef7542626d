#include "analysis/stated_device.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/layout/allocator_rules.h"
#include "analysis/oom/private_pools.h"
#include "analysis/summary.h"
#include "base/format.h"
#include "model/lives/missing_actions.h"

namespace tidegauge::analysis {

base::Status checkStated(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                         const StatedDevice& stated) {
  bool is_sure = allocatorOf(device.device) == AllocatorKind::kCaching &&
                 model::boundsOf(device.device).reserved == model::Bound::kExact &&
                 !mayHaveOwnAllocators(analysed.trace);
  uint64_t reserved_bytes =
      std::max(device.totals.peakReserved().bytes, device.totals.initial().reserved_bytes);
  if (!is_sure || reserved_bytes == 0) return base::Unit{};
  std::string had = fmt::format("{} had {} ({} B) reserved", deviceLabel(device.device),
                                base::humanBytes(reserved_bytes), base::withCommas(reserved_bytes));
  if (stated.capacity_bytes && *stated.capacity_bytes < reserved_bytes)
    return base::Error{base::ErrorKind::kUsage,
                       fmt::format("a device of {} is too small for this recording: {}",
                                   base::humanBytes(*stated.capacity_bytes), had),
                       std::nullopt, "Give the memory of the device that was recorded."};
  if (!stated.fraction) return base::Unit{};
  bool is_too_small = stated.capacity_bytes
                          ? *stated.fraction * static_cast<double>(*stated.capacity_bytes) <
                                static_cast<double>(reserved_bytes)
                          : *stated.fraction <= 0;
  if (!is_too_small) return base::Unit{};
  return base::Error{base::ErrorKind::kUsage,
                     fmt::format("a memory fraction of {:g} is too small for this recording: {}",
                                 *stated.fraction, had),
                     std::nullopt, "Give the fraction that the recorded program had set."};
}

}  // namespace tidegauge::analysis
