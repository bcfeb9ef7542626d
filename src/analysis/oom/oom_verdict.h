// Why an allocation failed: which of seven reasons hold at an out-of-memory event, and by how many
// bytes. The state looked at is the one at the event: the allocator has flushed its cache by then.
//
//   |—— live L ——————————|— free F in pieces —|— driver D —|— other ——|
//   |—— reserved S = L + F ———————————————————|            |          |
//   |—— ceiling C = S + D: what this process could have had ——————————|   total T of the device
//   request R, for which the allocator wanted A from the driver (a segment, or pages)
//
//   fragmentation  F + D ≥ R, nothing free fits, D < A      the bytes were there, in pieces
//   other pool     a free block that would serve R, but of another pool or stream
//   capacity       F + D < R, also without waste in blocks  even a perfect heap would not do
//   waste          F + D < R, but not without that waste    blocks are larger than what was asked
//   others         L + R ≤ T, and what lies outside this allocator is large
//   cap            D ≥ A                                    a limit refused it, not the driver
//   flaw           a free block fits: the allocator does not search again after its flush
//
// Without an allocator (AllocatorKind::kDriver) F is 0, A is R, and only capacity and others are
// looked at, with D as the driver said it last: R 600, D 552 of T 1,000 → capacity, 48 MiB short.
//
// Several can hold. fsdp-oom-rank0: R 4,008, D 3,842, F 807 in 27 pieces → fragmentation, A − D =
// 166 MiB short. Source: docs/explain/oom.md; CUDACachingAllocator malloc. Cost: O(live + pieces) +
// sorting.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/layout/free_blocks.h"
#include "analysis/layout/pinned.h"
#include "analysis/oom/oom.h"

namespace tidegauge::analysis {

enum class Verdict : uint8_t {
  kFragmentation,
  kOtherPool,
  kCapacity,
  kWaste,
  kOthers,
  kCap,
  kFlaw,
};
std::string_view name(Verdict verdict);  // "fragmentation", "other_pool", …

struct VerdictRow {
  Verdict verdict;
  // What the reason held back, by which reasons are ordered: fragmentation: OomVerdict::pieces;
  // other pool: free blocks that would have fitted; capacity: R − (F + D); waste: rounding_bytes;
  // others: T − C; cap: D; flaw: the block that fits.
  uint64_t bytes = 0;
  // False if block sizes that only requests tell (uncertain_bytes) could turn it, or without an
  // allocator what others did since the driver was last heard.
  bool certain = true;
};

// The limit of a process that refused although the driver had enough. What the file shows of it:
// that much was reserved once, and that much was refused.
struct CapBounds {
  uint64_t least_bytes = 0;         // the most that was ever reserved
  uint64_t below_bytes = 0;         // reserved + the segment that it refused
  std::optional<bool> would_fit{};  // L + R under the limit; absent: not known, or no fixed limit
  // More was reserved before than is refused now: whatever refused was set later, or went away.
  bool isFixed() const { return least_bytes < below_bytes; }
};

// Free blocks that could not serve the request: too small, of the other size class, or forbidden
// by max_split_size. Those that could, were it not for their pool or stream, are not among them.
struct Pieces {
  uint64_t bytes = 0;
  uint64_t count = 0;
  uint64_t largest_bytes = 0;
};

struct LastPhase {
  uint32_t annotation = 0;
  Step begin_step = 0;
  uint64_t live_bytes = 0;  // blocks born in it that are live at the event
  uint64_t blocks = 0;
  StackId stack;  // that holds most of them
  uint64_t stack_bytes = 0;
};

struct OomVerdict {
  int32_t device = 0;  // ordinal
  Step step = 0;
  AllocatorKind allocator = AllocatorKind::kCaching;
  std::optional<DriverFree> told{};         // OomReport::told
  std::optional<int64_t> told_before_us{};  // the event; below 0: after it. Absent: it has no time
  std::optional<Step> before_step{};        // the last state before its own flush
  Totals before{};                          // there; as at the event if there was no flush
  uint64_t free_before_bytes = 0;           // inside segments
  std::optional<uint64_t> request_bytes{};  // R
  std::optional<uint64_t> wanted_bytes{};   // A
  std::optional<uint64_t> driver_bytes{};   // D
  // D is not known, but cannot be more than this: T − S. Absent too if T is not known.
  std::optional<uint64_t> most_driver_bytes{};
  uint64_t reserved_bytes = 0;            // S
  uint64_t live_bytes = 0;                // L, inside segments
  uint64_t free_bytes = 0;                // F
  uint64_t outside_bytes = 0;             // live outside every known segment
  std::optional<uint64_t> total_bytes{};  // T, as told by the caller
  // The most that this process is known to have had or could have had: T is at least that.
  uint64_t least_total_bytes = 0;
  uint64_t uncertain_bytes = 0;  // by which L may be higher, and F lower
  // Of L, beyond the requests rounded up to 512 B: what other settings could do without.
  uint64_t rounding_bytes = 0;
  uint64_t least_request_bytes = 0;  // the least request that is rounded to R, rounded up to 512 B

  FreeListKey key{};               // where the request would have been served from
  bool pool_recorded = false;      // false: the default pool is assumed
  Pieces pieces{};                 // all that is free, if the request is not known
  std::vector<VerdictRow> rows{};  // most bytes first; empty: the file does not say enough
  std::optional<CapBounds> cap{};
  std::optional<LastPhase> last_phase{};
  FreeBlocks free;
  Pinned pinned{};

  std::optional<uint64_t> ceilingBytes() const;  // C
  std::optional<uint64_t> otherBytes() const;    // T − C; absent too if T < C
  // A − D: what the driver lacked; absent if it had enough or if one of the two is unknown.
  std::optional<uint64_t> missingBytes() const;
  // S − (L + F): 0, or the file contradicts itself.
  int64_t differenceBytes() const;
  const VerdictRow* find(Verdict verdict) const;
  // Would serve the request, were it not for its pool or stream.
  bool isElsewhere(const FreeList& list, const FreeBlock& block) const;
  // What a perfect heap would still lack: R − (F + D); 0 if it would not, or nobody knows.
  uint64_t lackingBytes() const;
};

struct VerdictOptions {
  std::optional<uint64_t> total_bytes{};  // of the device
  // The largest ceiling of the device's other events: the device is at least that large.
  uint64_t seen_ceiling_bytes = 0;
};
// For all out-of-memory events of a device; its size where somebody told it, else as recorded.
VerdictOptions verdictOptions(const DeviceAnalysis& device, const std::vector<OomReport>& ooms,
                              std::optional<uint64_t> total_bytes = {});

OomVerdict verdictOf(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                     const OomReport& oom, const VerdictOptions& options = {});

}  // namespace tidegauge::analysis
