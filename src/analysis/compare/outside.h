// Memory outside PyTorch: what the driver had allocated to a process besides PyTorch's segments,
// from a snapshot and a recording of the same process.
//
//                 at the peak   out of memory   at the end
//   reserved        1.2 GiB        1.9 GiB        0.8 GiB   from the snapshot
//   outside         0.3 GiB        0.5 GiB        0.5 GiB   NCCL, a library's workspace, …
//   driver          1.5 GiB        2.4 GiB        1.3 GiB   from the recording (checked)
//
// Each block of the driver belongs to PyTorch for its whole life, or is outside. Physical memory is
// PyTorch's while it is mapped into a segment. Memory that no call allocates (contexts, code) is
// not included. Pinned host memory is a device of its own. "The end" is when the snapshot was
// written: after its last event, and before its file was. Cost: the match (segment_match.h), and
// O(rows of the driver × log) per moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/segment_match.h"
#include "analysis/trace/analysed_trace.h"
#include "base/result.h"
#include "model/driver_memory.h"

namespace tidegauge::analysis {

enum class OutsideAt : uint8_t { kPeak, kOom, kEnd };

struct OutsideMoment {
  OutsideAt at{};
  std::optional<Step> step;  // of the snapshot; absent: its end, joined by content
  int64_t time_ns = 0;       // in the recording
  uint64_t reserved_bytes = 0;
  uint64_t outside_bytes = 0;
  uint64_t driver_bytes = 0;  // everything that is held according to the recording
  uint64_t blocks = 0;        // outside
  // driver − reserved − outside. If not 0, a call was under way or one of the files missed
  // something.
  int64_t difference_bytes = 0;
  // At the end, outside_bytes from the earliest to the latest moment at which the snapshot may have
  // been written. Else as outside_bytes.
  uint64_t least_outside_bytes = 0;
  uint64_t most_outside_bytes = 0;
  // Out of memory: until then the driver had refused no call of the process, so PyTorch refused the
  // request itself: by a memory fraction, or because the driver reported too little as free.
  bool refused_without_call = false;
  std::optional<uint64_t> reported_free_bytes{};
};

// What one stack holds outside, in one kind of memory.
struct OutsideRow {
  StackId stack;  // of the recording's trace
  model::MemoryKind kind{};
  // physical memory that PyTorch mapped earlier and does not map now
  bool was_in_segment = false;
  std::vector<uint64_t> bytes{};  // by moment
  std::vector<uint64_t> blocks{};
};

struct OutsideOfDevice {
  int32_t ordinal =
      0;  // model::kHostOrdinal: pinned host memory; its reserved bytes are matched blocks
  std::vector<OutsideMoment> moments;  // in the order of OutsideAt
  std::vector<OutsideRow> rows;        // most bytes at any moment first
};

struct Outside {
  const AnalysedTrace* recording = nullptr;  // of the process
  SegmentMatch match;
  std::vector<OutsideOfDevice> devices;  // GPUs of the snapshot; pinned host memory, if any, last
  bool knows_pinned = false;             // the snapshot contains PyTorch's pinned host memory
  uint64_t unknown_device_bytes = 0;     // held at the end on an unknown device
  // what the recorder lost or did not watch, as far as it concerns memory
  std::vector<std::string> missing;
  bool has_older = false;              // calls show memory that is older than the recording
  bool is_from_start = false;          // see DriverMemory
  uint64_t frees_of_older = 0;         // …
  uint64_t bytes_without_address = 0;  // …

  bool isIncomplete() const { return !missing.empty(); }
  bool hasOlder() const { return has_older || frees_of_older > 0 || match.older > 0; }
  bool mayHaveOlder() const { return hasOlder() || !is_from_start; }
  // More may be held than the recorded allocations show.
  bool isAtLeast() const { return isIncomplete() || mayHaveOlder() || bytes_without_address > 0; }
};

// `processes`: all of one recording, read with their driver memory. `pid` selects one.
// `written_ns`: when the snapshot's file was last written, since the epoch; ignored if that is
// before its last event. Errors (kUsage) say why none matches, or which match equally well.
base::Result<Outside> outsideOf(const AnalysedTrace& snapshot,
                                const std::vector<const AnalysedTrace*>& processes,
                                std::optional<int64_t> pid, std::optional<int64_t> written_ns = {});

}  // namespace tidegauge::analysis
