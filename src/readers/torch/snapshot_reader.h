// readSnapshot: turns the bytes of one uncompressed snapshot into a Trace (without lives, see
// model/lives.h).
//
//   pickle ─┐
//   JSON ───┴► machine ─► columns (events, frames, stacks) ─┐
//                     └─► tree (segments, settings, …) ─────┴► assemble ─► Trace
//
// Cost: one pass; peak memory = the input + the Trace + 4 bytes per memoized object. Source:
// docs/formats/snapshot.md.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/trace.h"
#include "readers/torch/columns/event_chunk.h"

namespace tidegauge::readers::torch {

class Machine;  // pickle/machine.h
class Values;   // values/values.h
struct Value;   // values/value.h

struct ReadOptions {
  // Called every few MiB, on the calling thread. May be empty.
  std::function<void(uint64_t bytes_done, uint64_t bytes_total)> progress;
  // Takes rows of events while later ones are read (event_chunk.h). May be empty.
  TakeChunk take_chunk;
  // What was taken is void: its rows moved, or the file is read anew. Must be there with the above.
  std::function<void()> forget_chunks;
  // Keeps every object until the end, which is otherwise done only if needed (machine.h). For
  // tests.
  bool careful = false;
  // Called before a long input is read if that may take more memory than is free. May be empty.
  std::function<void(uint64_t need_bytes, uint64_t free_bytes)> short_of_memory{};
  // Whether openSnapshots builds the lives of blocks and segments. Without them there are events
  // alone, and no final state.
  bool lives = true;
};

// The first one. `name` is for people: the path, or the member of an archive. The input must only
// outlive the call.
base::Result<model::Trace> readSnapshot(std::span<const uint8_t> input, const std::string& name,
                                        const ReadOptions& options);

// All snapshots of the input: a program may put several into one dict or list. At least one.
base::Result<std::vector<model::Trace>> readSnapshots(std::span<const uint8_t> input,
                                                      const std::string& name,
                                                      const ReadOptions& options);

// Sends a program's own objects to the machine, as a pickler would write them; false: see
// machine.failed() and machine.needsCareful(). May be called several times.
using FeedObjects = std::function<bool(Machine& machine, Values& values, Value& top)>;

// All snapshots in a value that is in memory already, as torch.cuda.memory._snapshot() returns it.
// Errors have no offset.
base::Result<std::vector<model::Trace>> readObjects(const FeedObjects& feed,
                                                    const std::string& name,
                                                    const ReadOptions& options);

// Does it start like something that readSnapshot() supports?
bool isPickleOrJson(std::span<const uint8_t> input);

// Is it useful to read more? False if readSnapshot() fails for these first bytes already, whatever
// follows them. Cost: reading them.
bool mayBecomeSnapshot(std::span<const uint8_t> start);

// The beginning of the error for a readable file that contains something else.
inline constexpr std::string_view kNotASnapshot = "this is not a memory snapshot";

}  // namespace tidegauge::readers::torch
