// FreedEarly: copies a recorded program and frees some blocks earlier than it did.
//
//   recorded      malloc 7 · … · … · free 7 (shared) · done 7
//   freed early   malloc 7 · free 7 (shared) · … · …  · done 7
//
// A block that record_stream gave to other streams stays until they are done with it, as recorded.
// Cost: O(requests), and O(allocations) for blocks older than the recording.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/trace/analysed_trace.h"
#include "replay/program.h"

namespace tidegauge::analysis {

class FreedEarly {
 public:
  // Which blocks are meant: by the request that succeeded, and of older ones by their row in the
  // trace's allocations.
  struct Meant {
    std::function<bool(const replay::Request&)> request;
    std::function<bool(uint64_t row)> older;
  };
  FreedEarly(const AnalysedTrace& analysed, const DeviceAnalysis& device,
             const replay::Program& program, Meant meant);

  // The next request of the program, in its order: copied, unless its block is freed already.
  void take(const replay::Request& request, std::vector<replay::Request>& out);
  // Frees the blocks that are meant and live, before the requests of that step.
  void freeAll(Step step, std::vector<replay::Request>& out);

  bool isFound() const { return is_found_; }  // a block is meant, live or not
  uint64_t blocks() const { return blocks_; }
  uint64_t bytes() const { return bytes_; }  // that these had requested

 private:
  enum class Life : uint8_t { kNotMeant, kLives, kEnded };
  struct Row {
    uint32_t name;
    uint64_t bytes;
  };
  void live(uint32_t name, uint64_t bytes);

  Meant meant_;
  std::vector<Life> lives_;      // by name
  std::vector<bool> is_shared_;  // by name: its own free is
  std::vector<Row> rows_;  // since the last freeAll, in the order of requests; some have ended
  bool is_found_ = false;
  uint64_t blocks_ = 0, bytes_ = 0;
};

}  // namespace tidegauge::analysis
