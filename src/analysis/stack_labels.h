// How stacks are named for people: the first frame of the user's own code, runtime noise folded
// away.
//
//   unwind/…/libtorch frames, torch/nn/modules/… (framework)   → folded
//   train.py:52 Model.forward                                  → the label: "train.py:52
//   Model.forward"
//
// Noise rules follow PyTorch's viewer (C++ unwinding, interpreter and dispatch frames); the
// framework rule (site-packages/torch and its like) only chooses the label, it hides nothing. Cost:
// one pass over frames and stacks at the start; 9 bytes per stack.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/trace.h"

namespace tidegauge::analysis {

using model::FrameId;
using model::StackId;

class StackLabels {
 public:
  explicit StackLabels(const model::Trace& trace);

  bool isNoise(FrameId frame) const { return noise_[frame.index()]; }
  bool isUser(FrameId frame) const { return user_[frame.index()]; }
  // The innermost frame of the user's code; else the innermost that is no noise; else the
  // innermost. Invalid for an invalid or empty stack.
  FrameId topUserFrame(StackId stack) const;
  // 1…8 by the top user frame's text (the same in every file); 0 for no stack.
  uint8_t colourSlot(StackId stack) const;

  // "loss.py:30 log_softmax"; "no stack recorded" for an invalid stack.
  std::string label(StackId stack) const;
  // The next user frame outwards: "train.py:12 step"; empty if there is none.
  std::string caller(StackId stack) const;
  // "file.py:30 function", file without its folders.
  std::string frameLabel(FrameId frame) const;
  // The whole stack as text, one "file:line function" per line, innermost first, nothing folded.
  std::string text(StackId stack) const;

 private:
  FrameId userFrameFrom(StackId stack, size_t position, size_t* found) const;

  const model::Trace& trace_;
  std::vector<bool> noise_;        // by frame
  std::vector<bool> user_;         // by frame
  std::vector<FrameId> top_user_;  // by stack
  std::vector<uint32_t> top_position_;
  std::vector<uint8_t> slot_;
};

struct FoldedFrame {
  FrameId frame;
  uint32_t repeat = 1;  // equal frames in a row
  bool noise = false;
  bool user = false;
};
// Innermost first, repeats folded; noise is marked, not dropped.
std::vector<FoldedFrame> foldStack(const model::Trace& trace, const StackLabels& labels,
                                   StackId stack);

}  // namespace tidegauge::analysis
