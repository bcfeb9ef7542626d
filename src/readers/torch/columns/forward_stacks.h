// Stacks of the forward pass. For memory that the backward pass allocates, new PyTorch adds the
// stack of the operation's forward call (anomaly mode's traceback), as texts:
//
//   "frames": [graph.py:841 …]      "forward_frames": ['  File "/x/model.py", line 77, in forward\n
//                                                          h = self.up(x)\n', …]
//   →  one stack: graph.py:841 … · forward of model.py:77 forward · forward of train.py:31 step
//
// Its frames have the kind kForward and follow the event's own frames. Equal texts are parsed once,
// equal lists and pairs are stored once, so an event costs nothing but its StackId.
//
// PyTorch writes the outermost frame first, as tracebacks do. Some tools write the reverse, so the
// order is taken from the file: "<module>" is outermost, and files call each other as in the other
// stacks.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "readers/torch/columns/stack_table.h"
#include "readers/torch/values/values.h"

namespace tidegauge::readers::torch {

class ForwardStacks {
 public:
  static constexpr uint32_t kNone = 0xffffffff;

  ForwardStacks(model::Trace& trace, Values& values, FrameTable& frames, StackTable& stacks)
      : trace_(trace),
        values_(values),
        frames_(frames),
        stacks_(stacks),
        lists_(list_frames_),
        frames_left_(kFreeFrames + values.inputBytes() / 2) {}

  // Does a list that begins with this text hold a forward stack?
  static bool isFrameText(std::string_view text);
  // The list of these texts; kNone if it is empty. Other values in it are passed over.
  uint32_t intern(std::span<const Value> texts);
  // The event's own stack and a list as one stack.
  model::StackId join(model::StackId own, uint32_t list);
  // Puts the forward frames of all stacks in the order innermost first. Call it once, at the end.
  void finish();

 private:
  static constexpr uint64_t kFreeFrames = uint64_t{1} << 20;
  struct Parsed {
    uint32_t begin = 0, count = 0;  // in parsed_frames_
  };

  Parsed framesOf(std::string_view text);
  void parse(std::string_view text);
  bool isOutermostFirst() const;

  model::Trace& trace_;
  Values& values_;
  FrameTable& frames_;
  StackTable& stacks_;
  model::Stacks list_frames_;
  StackTable lists_;
  boost::unordered_flat_map<std::pair<uint64_t, uint64_t>, Parsed> of_text_;  // hash and length
  std::vector<model::FrameId> parsed_frames_;
  boost::unordered_flat_map<std::pair<uint32_t, uint32_t>, model::StackId> joined_;
  std::vector<model::FrameId> scratch_;
  uint64_t frames_left_;  // that joined stacks may still have
};

}  // namespace tidegauge::readers::torch
