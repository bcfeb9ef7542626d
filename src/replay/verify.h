// verify(): a trace replayed under its own settings, every event compared with what the allocator
// would have written.
//
//   recorded … segment_free  segment_free  segment_alloc  alloc 0x7f20…
//   replayed … malloc 30 MiB: search fails, driver refuses, flush: segment_free … all equal: proven
//
// Who gave memory back (collection, retry, an empty_cache just before), and which completions were
// seen, a trace does not say: what is most likely is tried first, and what reproduces the entries
// holds. Where nothing does, the first difference is kept, the state is rebuilt from the trace as
// it is after that request, and the replay goes on: so the share that is proven is told of any
// file.
//
// Cost: about 0.3 µs an event; a copy of the state where memory was given back; O(allocations)
// where it differs.
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
  kOlderState,     // what was there before the recording is not known to the last detail
  kNotLive,        // a free of what was never handed out: events are missing
  kChecksum,       // the recorded sum of active bytes is another
  kSettings,       // a segment of a size that these settings do not ask for
  kPlacement,      // another block of the same kind was chosen
  kDriverTraffic,  // memory was got or given back where the rules would not
};
std::string_view words(Cause cause);

struct Divergence {
  model::Step step = 0;
  Entry replayed;              // what the allocator would have written
  bool wrote_nothing = false;  // … or nothing at all
  Cause cause = Cause::kUnknown;
};

struct VerifyOptions {
  Settings settings;
  // What the device has, at the most; when the driver refused, the trace says.
  std::optional<uint64_t> capacity_bytes{};
};

struct Verification {
  Settings settings;          // with the policies that fit
  bool tie_is_known = false;  // another tie-break would have given other addresses
  // Segments of private pools (graphs, MemPool) were seen; and whether they are expandable, where
  // others are.
  bool has_private_pools = false, private_pools_are_known = false;
  uint64_t events_checked = 0, events_exact = 0;
  uint64_t divergences = 0;
  std::optional<Divergence> first_divergence;
  model::Step checked_until =
      0;                      // less than all: it differed too often, or took too long, to go on
  model::Step unchecked = 0;  // those after it
  uint64_t left_out_at_start = 0;  // blocks older than the recording that are in no known segment
  bool began_empty = true;         // nothing is older than the recording
  uint64_t final_segments = 0, final_differences = 0;
  // Each time memory was refused, and the replay says when: what was reserved and what was wanted
  // beside; the least.
  std::optional<uint64_t> refused_at_bytes;
  uint64_t refused_with_room = 0;  // … although the driver had enough: a limit of the process
  Stats stats;  // at the end; of a replay without a difference from empty: PyTorch's own
  Program program;
};

Verification verify(const model::Trace& trace, const model::Device& device,
                    const VerifyOptions& options);

// Segments of the file's final state that the allocator's is not equal to, block by block; one more
// if it has segments beside.
uint64_t finalDifferences(const Tape& tape, const Allocator& allocator);

// What a file says of its settings. Its own words where the string is not understood.
Settings settingsOf(const model::Trace& trace);

}  // namespace tidegauge::replay
