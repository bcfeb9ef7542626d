// effectOf(): one change that advice proposes, replayed before the advice is given.
//
//   recorded                                   1 request failed, 4.00 GiB reserved at the peak
//   kSetting, "expandable_segments:True"       0 fail, 3.36 GiB    helps: advise it first
//   kEmptyCache at step 1,200                  1 fails, 4.00 GiB   helps nobody
//   kReleasePool, pool 3, before step 900      0 fail, 2.10 GiB
//
// Cost: one replay to the end, about 0.1 µs per event; three if free blocks of one size are taken
// by address.
#pragma once

#include <optional>
#include <string>

#include "analysis/what_if/proven_program.h"
#include "base/result.h"

namespace tidegauge::analysis {

struct AdvisedChange {
  enum class What : uint8_t {
    kSetting,     // `conf` on top of the recording's own settings
    kEmptyCache,  // torch.cuda.empty_cache() before `step`
    // Before `step`, what is live in `pool` is freed, and its last user releases the pool (a CUDA
    // graph is deleted, a MemPool): the next flush returns its segments to the driver.
    kReleasePool,
    // The same without the blocks, which stay live: only what is free in the pool is returned.
    kReleasePoolCache,
    kLimit,  // the limit of the process that the trace implies is limit_bytes instead
  };
  What what = What::kSetting;
  // KEY:VALUE,… of PYTORCH_CUDA_ALLOC_CONF. It replaces equal keys of the recording's own settings
  // and keeps the others; "KEY:" removes one. As in the settings known to help,
  // expandable_segments:True removes max_split_size_mb, and the reverse.
  std::string conf{};
  Step step = 0;
  model::PoolId pool{};
  uint64_t limit_bytes = 0;
};

struct ChangeEffect {
  // False: the rules do not explain the recording, or the replay was incomplete. Then nothing below
  // may be reported.
  bool is_proven = false;
  bool helps = false;  // analysis::helps (what_if.h)
  std::string conf{};  // the complete string that was replayed
  // The least before and the most after, wherever the driver places segments.
  uint64_t ooms_before = 0, ooms_after = 0;
  uint64_t least_ooms_after = 0;
  std::optional<Step> first_failing_step{};  // with the change
  std::vector<Step> failing_steps{};         // with the change; the first 1,000
  uint64_t peak_reserved_bytes_before = 0, peak_reserved_bytes_after = 0;
  uint64_t freed_blocks = 0, freed_bytes = 0;  // kReleasePool: what was live there
  // Requests that failed when recorded and succeed here are freed at once: the peak may be higher.
  bool peak_is_at_least = false;
  // From here on, the program would have behaved differently.
  std::optional<Step> forecast_from{};
};

// Errors: a conf that PyTorch would reject; a step or a pool that the device does not have.
base::Result<ChangeEffect> effectOf(const ProvenProgram& program, const AdvisedChange& change);

}  // namespace tidegauge::analysis
