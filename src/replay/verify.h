// verify(): replays a trace under its own settings, and compares every event with the entry that
// the allocator would have written.
//
//   recorded … segment_free  segment_free  segment_alloc  alloc 0x7f20…
//   replayed … malloc 30 MiB: search fails, driver refuses, flush: segment_free … all equal: proven
//
// A trace does not contain who returned memory (collection, retry, an empty_cache just before), nor
// which completions were seen. The most likely interpretation is tried first, and one that
// reproduces the entries is accepted: the allocator's own, if the driver or a limit may have
// refused, or if more is reserved than the garbage threshold allows; else an empty_cache(). If none
// does, the first difference is kept, the state after that request is rebuilt from the trace, and
// the replay continues. So the proven share is known for any file.
//
// Cost: about 0.3 µs per event; a copy of the state where memory was returned; O(allocations) per
// difference.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replay/allocator/allocator.h"
#include "replay/program.h"
#include "replay/tape.h"

namespace tidegauge::replay {

enum class Cause : uint8_t {
  kUnknown,
  kOlderState,     // memory older than the recording is not known in full detail
  kNotLive,        // a free of a block that was never allocated: events are missing
  kChecksum,       // the recorded sum of active bytes differs
  kSettings,       // a segment of a size that these settings do not request
  kPlacement,      // another block of the same kind was chosen
  kDriverTraffic,  // memory was allocated or returned against the rules
};
std::string_view words(Cause cause);

struct Divergence {
  model::Step step = 0;
  Entry replayed;              // the entry that the allocator would have written
  bool wrote_nothing = false;  // … or none at all
  Cause cause = Cause::kUnknown;
};

struct VerifyOptions {
  Settings settings;
  // Upper bound of the device's memory; the trace contains the refusals.
  std::optional<uint64_t> capacity_bytes{};
};

struct Verification {
  Settings settings;          // with the policies that fit
  bool tie_is_known = false;  // another tie-break would have given other addresses
  // Whether segments of private pools (graphs, MemPool) were seen, and whether it is known if they
  // are expandable where others are.
  bool has_private_pools = false, private_pools_are_known = false;
  uint64_t events_checked = 0, events_exact = 0;
  uint64_t divergences = 0;
  std::optional<Divergence> first_divergence;
  model::Step checked_until = 0;   // less than all: too many differences, or too much time
  model::Step unchecked = 0;       // those after it
  uint64_t left_out_at_start = 0;  // blocks older than the recording outside known segments
  bool began_empty = true;         // nothing is older than the recording
  uint64_t final_segments = 0, final_differences = 0;
  // Releases right before a request that were read as empty_cache() of the program, and not as the
  // allocator's own: under a limit that the file does not contain, these may be collections.
  uint64_t emptied_before_requests = 0;
  uint64_t retried = 0;  // requests that were refused and flushed the cache
  // Refusals that neither the known capacity nor a limit explains.
  uint64_t refused_as_recorded = 0;
  // Differences at which the replay released memory and the recording did not, and the reverse.
  uint64_t released_too_early = 0, released_too_late = 0;
  // At refusals whose cause the replay shows: reserved plus requested bytes; the least.
  std::optional<uint64_t> refused_at_bytes;
  uint64_t refused_with_room = 0;  // … although the driver had enough: a limit of the process
  Stats stats;  // at the end; if nothing differs and it began empty: PyTorch's own
  Program program;
};

Verification verify(const model::Trace& trace, const model::Device& device,
                    const VerifyOptions& options);

// Number of final segments that differ from the allocator's, block by block; plus one if it has
// additional segments.
uint64_t finalDifferences(const Tape& tape, const Allocator& allocator);

// The settings in a file. If the string cannot be parsed, the parsed values in the file.
Settings settingsOf(const model::Trace& trace);

}  // namespace tidegauge::replay
