// How stacks are named for people: by the frame that shows best *whose* memory it is.
//
//   torch::unwind …, CUDACachingAllocator …     runtime noise: folded away
//   torch/nn/modules/linear.py:114 forward      framework
//   model.py:856 Model.forward                  ◄ the label: innermost Python frame outside torch
//   train.py:63 main                            ◄ the caller        and the library
//
// Memory of the backward pass is named by the forward pass's stack, where the file has it, since
// the backward pass of any operation runs from one line of the program:
//
//   torch/autograd/graph.py:841 …               the machinery
//   train.py:70 main                            loss.backward()
//   forward of model.py:856 Model.forward       ◄ the label, as it is written here
//   forward of train.py:63 main                 ◄ the caller
//
// Code of the program that the machinery runs (a backward() of its own) is the label itself, with
// the forward frame as its caller.
//
// Without such a frame: the innermost of torch's own Python frames, else the innermost C++ frame
// that names an operation. Noise rules follow PyTorch's viewer (MemoryViz.js, frame filter:
// unwinding, interpreter, dispatch) and add the allocator's and the dispatcher's own frames.
// Cost: one pass over frames and stacks at the start; 9 bytes per stack.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/call_site.h"
#include "model/trace.h"

namespace tidegauge::analysis {

using model::FrameId;
using model::StackId;

class StackLabels {
 public:
  explicit StackLabels(const model::Trace& trace);

  bool isNoise(FrameId frame) const { return noise_[frame.index()]; }
  bool isUser(FrameId frame) const { return user_[frame.index()]; }
  // The innermost frame of the user's code; else the innermost that is not noise; else the
  // innermost. Invalid for an invalid or empty stack.
  FrameId topUserFrame(StackId stack) const;
  // Number of the stack's own frames; those of the forward pass follow them.
  size_t ownDepth(StackId stack) const;
  // Position of that frame in the stack, counted from the innermost; 0 if there is none.
  size_t topPosition(StackId stack) const {
    return stack.valid() ? top_position_[stack.index()] : 0;
  }
  // 1…8 by the top user frame's text (the same in every file); 0 for no stack.
  uint8_t colourSlot(StackId stack) const;

  // "loss.py:30 log_softmax", with the operation if C++ frames name one: "model.py:340 forward
  // (silu)"; "no stack recorded" for an invalid stack.
  std::string label(StackId stack) const;
  // The operation that Python called: "silu" from at::_ops::silu::call, "AddmmBackward0" from
  // autograd; empty if the stack has no such frame.
  std::string_view operation(StackId stack) const;
  // The next user frame outwards: "train.py:12 step"; empty if there is none.
  std::string caller(StackId stack) const;
  // "file.py:30 function", file without its folders; "forward of file.py:30 function".
  std::string frameLabel(FrameId frame) const;
  // "file:line function", with the whole path; "forward of file:line function".
  std::string frameText(FrameId frame) const;
  // The whole stack as text, one frameText() per line, innermost first, nothing folded. Frames that
  // do not fit into `most_bytes` are counted in the last line: "… 12 more frames".
  std::string text(StackId stack, size_t most_bytes = SIZE_MAX) const;

 private:
  enum class Rank : uint8_t { kUser, kFramework, kPlumbing, kOperation, kOtherCpp, kNoise };
  static Rank rankOf(std::string_view function, std::string_view file, model::FrameKind kind);

  bool isForward(FrameId frame) const {
    return trace_.frames.kind[frame.index()] == model::FrameKind::kForward;
  }
  size_t topOf(StackId stack, const std::vector<model::FrameRank>& ranks) const;
  std::string plainLabel(FrameId frame) const;  // without "forward of"

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
