// Why an allocation failed: which of ten reasons hold at an out-of-memory event, and by how many
// bytes. They refer to the state at the event, after the allocator flushed its cache.
//
//   |—— live L ——————————|— free F in pieces —|— driver D —|— other ——|
//   |—— reserved S = L + F ———————————————————|            |          |
//   |—— ceiling C = S + D: the most that this process could have ————|   total T of the device
//   request R, for which the allocator requested A from the driver (a segment, or pages)
//
//   fragmentation  F + D ≥ R, nothing free fits, D < A      the bytes exist, in pieces
//   other pool     a free block that would serve R, but of another stream, or of the default pool
//   held in pool   private pools keep enough: D + their whole free segments ≥ A, or
//                  F + D ≥ R only with their free memory
//   no flush       whole free segments of the default pool are still there: D + these ≥ A
//   never fits     R > T, or without T: R > C               even with nothing else held
//   capacity       F + D < R, also without waste in blocks  even a perfect heap would not do
//   waste          F + D < R, but not without that waste    blocks are larger than requested
//   others         L + R ≤ T, and much memory is outside this allocator
//   cap            D ≥ A                                    a limit refused it, not the driver
//   flaw           a free block fits: the allocator does not search again after its flush
//
// Without an allocator (AllocatorKind::kDriver), F is 0, A is R, and only capacity and others are
// tested, with the driver's last figure for D: R 600, D 552 of T 1,000 → capacity, 48 MiB short.
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
#include "analysis/oom/private_pools.h"
#include "analysis/oom/segment_rests.h"

namespace tidegauge::analysis {

enum class Verdict : uint8_t {
  kFragmentation,
  kOtherPool,
  kCapacity,
  kWaste,
  kOthers,
  kCap,
  kFlaw,
  kHeldInPool,
  kNoFlush,
  kNeverFits,
};
std::string_view name(Verdict verdict);  // "fragmentation", "other_pool", …

struct VerdictRow {
  Verdict verdict;
  // The bytes behind the reason, which order the reasons: fragmentation: OomVerdict::pieces; other
  // pool: free blocks that would have fitted; capacity: R − (F + D); waste: rounding_bytes; others:
  // T − C; cap: D; flaw: the block that fits; held in pool: free memory of other private pools; no
  // flush: whole free segments of the default pool; never fits: R − T, or R − the largest C.
  uint64_t bytes = 0;
  // False if it depends on block sizes that only requests show (uncertain_bytes) or, without an
  // allocator, on what other processes did since the driver's last figure.
  bool certain = true;
};

// Bounds of a process limit that refused although the driver had enough. The file shows that one
// amount was reserved before, and that another was refused.
struct CapBounds {
  // The most that was ever reserved. If the settings have a fraction: at least that of the device,
  // or of the least that the device can be.
  uint64_t least_bytes = 0;
  uint64_t most_reserved_bytes = 0;  // ever
  uint64_t needed_bytes = 0;         // reserved + the segment that it refused
  uint64_t below_bytes = 0;          // the least of these of all such events
  std::optional<double> fraction{};  // per_process_memory_fraction of the settings
  std::optional<bool> would_fit{};   // L + R under the limit; absent: not known, or no fixed limit
  // False if more was reserved at some time than was refused at another: then the limit was set or
  // removed in between, or there is none.
  bool isFixed() const { return least_bytes < below_bytes; }
};

// Why a free block did not serve the request.
enum class Unfit : uint8_t {
  kPiece,      // too small, of the other size class, or forbidden by max_split_size
  kElsewhere,  // it would serve the request, but has another stream, or is of the default pool
  kHeld,       // in a private pool that is not the request's
  kUnflushed,  // a whole segment that a flush would have returned
};

// The free blocks of Unfit::kPiece.
struct Pieces {
  uint64_t bytes = 0;
  uint64_t count = 0;
  uint64_t largest_bytes = 0;
};

struct LastPhase {
  uint32_t annotation = 0;
  Step begin_step = 0;
  uint64_t live_bytes = 0;  // blocks allocated in it that are live at the event
  uint64_t blocks = 0;
  StackId stack;  // the stack that holds most of them
  uint64_t stack_bytes = 0;
};

struct OomVerdict {
  int32_t device = 0;  // ordinal
  Step step = 0;
  AllocatorKind allocator = AllocatorKind::kCaching;
  std::optional<DriverFree> driver_free{};  // OomReport::driver_free
  // how long before the event; below 0: after it. Absent: it has no time
  std::optional<int64_t> driver_free_before_us{};
  std::optional<Step> before_step{};        // the last state before its own flush
  Totals before{};                          // at that step; without a flush: at the event
  uint64_t free_before_bytes = 0;           // at that step, inside segments
  std::optional<uint64_t> request_bytes{};  // R
  std::optional<uint64_t> wanted_bytes{};   // A
  std::optional<uint64_t> driver_bytes{};   // D
  // If D is not known, its upper bound: T − S. Absent if T is unknown too.
  std::optional<uint64_t> most_driver_bytes{};
  uint64_t reserved_bytes = 0;            // S
  uint64_t live_bytes = 0;                // L, inside segments
  uint64_t free_bytes = 0;                // F
  uint64_t outside_bytes = 0;             // live outside every known segment
  std::optional<uint64_t> total_bytes{};  // T, as given by the caller
  // The most that this process had or could have had: T is at least that.
  uint64_t least_total_bytes = 0;
  // per_process_memory_fraction of the settings × T (× the least that T can be): what this process
  // may reserve; at least what it did. Absent: no fraction below 1.
  std::optional<uint64_t> limit_bytes{};
  // S + D − T: reserved, but not on the device. 0 if T is unknown.
  uint64_t not_on_device_bytes = 0;
  uint64_t uncertain_bytes = 0;  // L may be higher, and F lower, by this
  // Of L, beyond the requests rounded up to 512 B: what other settings could save.
  uint64_t rounding_bytes = 0;
  // the smallest request that is rounded to R, rounded up to 512 B
  uint64_t least_request_bytes = 0;

  FreeListKey key{};           // the free list that would have served the request
  bool pool_recorded = false;  // false: the default pool is assumed
  // What is free, except in other private pools, if the request is unknown.
  Pieces pieces{};
  uint64_t held_bytes = 0;        // Unfit::kHeld
  uint64_t held_whole_bytes = 0;  // of these, in whole free segments and pages
  // Private pools other than the request's, most reserved bytes first.
  std::vector<PoolShare> pools{};
  // Whole free segments of the default pool, although the allocator returns these before a request
  // fails: no flush took place, as during a capture. 0 if a flush took place, or if the pools of
  // the segments are unknown.
  uint64_t unflushed_bytes = 0;
  SegmentRests rests{};            // in the request's pool
  std::vector<VerdictRow> rows{};  // most bytes first; empty: the file does not contain enough
  std::optional<CapBounds> cap{};
  std::optional<LastPhase> last_phase{};
  FreeBlocks free;
  Pinned pinned{};

  std::optional<uint64_t> ceilingBytes() const;
  // Of D, or of the most that it can be: what the limit leaves.
  std::optional<uint64_t> usableDriverBytes() const;  // C
  std::optional<uint64_t> otherBytes() const;         // T − C; absent too if T < C
  // A − D: what the driver lacked; absent if it had enough or either is unknown.
  std::optional<uint64_t> missingBytes() const;
  // S − (L + F): 0, unless the file contradicts itself.
  int64_t differenceBytes() const;
  const VerdictRow* find(Verdict verdict) const;
  // Why fit() does not choose the block.
  Unfit whyUnfit(const model::Trace& trace, const FreeList& list, const FreeBlock& block) const;
  // Nothing else held, the request would not have fitted either.
  bool neverFits() const { return find(Verdict::kNeverFits) != nullptr; }
  // What even a perfect heap would lack: R − (F + D); 0 if it would lack nothing, or if that is
  // unknown.
  uint64_t lackingBytes() const;
  // Memory was short while a MemPool held some. An allocator of its own may have unmapped that:
  // then it is not on the device, and C is too high by it.
  bool mayBeUnmapped(const model::Trace& trace, const PoolShare& share) const;
  uint64_t unmappedBytes(const model::Trace& trace) const;  // live bytes of such pools
};

struct VerdictOptions {
  std::optional<uint64_t> total_bytes{};  // of the device
  // The largest ceiling of the device's other events: the device is at least that large.
  uint64_t seen_ceiling_bytes = 0;
  // The least that a request would have reached that was refused although the driver had enough.
  uint64_t least_refused_bytes = UINT64_MAX;
};
// For all out-of-memory events of a device; its size as the user gave it, else as recorded.
VerdictOptions verdictOptions(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                              const std::vector<OomReport>& ooms,
                              std::optional<uint64_t> total_bytes = {});

OomVerdict verdictOf(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                     const OomReport& oom, const VerdictOptions& options = {});

// OomVerdict::unmappedBytes() at the worst event; 0 if there is none. O(pools) without a MemPool,
// else that of a verdict.
uint64_t unmappedBytes(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                       std::optional<uint64_t> total_bytes = {});

}  // namespace tidegauge::analysis
