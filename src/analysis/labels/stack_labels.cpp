#include "analysis/labels/stack_labels.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/recorded_work.h"

namespace tidegauge::analysis {

using model::FrameRank;

namespace {

uint32_t fnv1a(std::string_view text) {
  uint32_t hash = 2166136261U;
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619U;
  return hash;
}

model::CallFrame frameAt(const model::Trace& trace, FrameId frame) {
  const model::Frames& frames = trace.frames;
  size_t f = frame.index();
  model::CallFrame at;
  at.function = trace.strings.text(frames.function[f]);
  at.file = trace.strings.text(frames.file[f]);
  at.line = frames.line[f];
  if (trace.work && f < trace.work->frame_modules.size()) {
    at.module = trace.strings.text(trace.work->frame_modules[f]);
  }
  at.is_python =
      frames.kind[f] == model::FrameKind::kPython || frames.kind[f] == model::FrameKind::kForward;
  return at;
}

constexpr std::string_view kForwardOf = "forward of ";

// PyTorch's Python code that starts the backward pass and its operations.
bool isBackwardMachinery(std::string_view file) {
  return file.find("torch/autograd/") != std::string_view::npos ||
         file.find("torch\\autograd\\") != std::string_view::npos ||
         file.ends_with("torch/_tensor.py") || file.ends_with("torch\\_tensor.py");
}

}  // namespace

StackLabels::StackLabels(const model::Trace& trace) : trace_(trace) {
  const model::Frames& frames = trace.frames;
  noise_.resize(frames.size());
  user_.resize(frames.size());
  std::vector<FrameRank> rank(frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    rank[i] = model::rankOf(frameAt(trace, FrameId(static_cast<uint32_t>(i))));
    // Plumbing is folded like noise, but may name a stack if nothing better exists.
    noise_[i] = rank[i] == FrameRank::kNoise || rank[i] == FrameRank::kCalled ||
                rank[i] == FrameRank::kPlumbing;
    user_[i] = rank[i] == FrameRank::kUser;
  }
  std::vector<uint8_t> slot_of_frame(frames.size(), 0);
  const model::Stacks& stacks = trace.stacks;
  top_user_.resize(stacks.size());
  top_position_.resize(stacks.size());
  slot_.resize(stacks.size());
  for (size_t s = 0; s < stacks.size(); ++s) {
    StackId stack(static_cast<uint32_t>(s));
    if (stacks.depth(stack) == 0) continue;
    model::FrameList frame = stacks.framesOf(stack);
    size_t best = topOf(stack, rank);
    top_user_[s] = frame[best];
    top_position_[s] = static_cast<uint32_t>(best);
    uint8_t& slot = slot_of_frame[frame[best].index()];
    if (slot == 0) slot = static_cast<uint8_t>(1 + fnv1a(frameLabel(frame[best])) % 8);
    slot_[s] = slot;
  }
}

size_t StackLabels::ownDepth(StackId stack) const {
  model::FrameList frame = trace_.stacks.framesOf(stack);
  size_t depth = trace_.stacks.depth(stack);
  // Stacks of the forward pass are rare: mostly the outermost frame decides.
  if (depth == 0 || !isForward(frame[depth - 1])) return depth;
  return static_cast<size_t>(
      std::find_if(frame.begin(), frame.end(), [&](FrameId f) { return isForward(f); }) -
      frame.begin());
}

size_t StackLabels::topOf(StackId stack, const std::vector<FrameRank>& ranks) const {
  model::FrameList frame = trace_.stacks.framesOf(stack);
  size_t begin = 0, end = trace_.stacks.depth(stack);
  if (size_t own = ownDepth(stack); own < end) {
    // Code of the program that the machinery runs, else the forward frames.
    begin = own;
    for (size_t i = 0; i < own; ++i) {
      std::string_view file = trace_.strings.text(trace_.frames.file[frame[i].index()]);
      if (isBackwardMachinery(file)) break;
      if (ranks[frame[i].index()] == FrameRank::kUser) return i;
    }
  }
  std::vector<FrameRank> of_stack;
  for (size_t i = begin; i < end; ++i) {
    of_stack.push_back(ranks[frame[i].index()]);
    if (of_stack.back() == FrameRank::kUser) break;
  }
  return begin + model::callSite(of_stack);
}

FrameId StackLabels::topUserFrame(StackId stack) const {
  return stack.valid() ? top_user_[stack.index()] : FrameId();
}

uint8_t StackLabels::colourSlot(StackId stack) const {
  return stack.valid() ? slot_[stack.index()] : 0;
}

std::string StackLabels::plainLabel(FrameId frame) const {
  return model::siteName(frameAt(trace_, frame));
}

std::string StackLabels::frameLabel(FrameId frame) const {
  return isForward(frame) ? std::string(kForwardOf) + plainLabel(frame) : plainLabel(frame);
}

std::string StackLabels::label(StackId stack) const {
  FrameId frame = topUserFrame(stack);
  if (!frame.valid()) return "no stack recorded";
  std::string_view called = operation(stack);
  bool python = trace_.frames.kind[frame.index()] == model::FrameKind::kPython;
  if (called.empty() || !(python || isForward(frame))) {
    return frameLabel(frame);
  }
  return fmt::format("{} ({})", frameLabel(frame), called);
}

// The outermost dispatcher entry below the innermost Python frame is what Python called.
std::string_view StackLabels::operation(StackId stack) const {
  std::string_view called;
  if (!stack.valid()) return called;
  model::FrameList frame = trace_.stacks.framesOf(stack);
  for (size_t i = 0; i < trace_.stacks.depth(stack); ++i) {
    if (trace_.frames.kind[frame[i].index()] == model::FrameKind::kPython) break;
    if (isForward(frame[i])) break;
    std::string_view function = trace_.strings.text(trace_.frames.function[frame[i].index()]);
    for (std::string_view prefix : {"at::_ops::", "autograd::generated::"}) {
      size_t at = function.find(prefix);
      if (at == std::string_view::npos) continue;
      std::string_view name = function.substr(at + prefix.size());
      name = name.substr(0, name.find("::"));
      if (name != "details" && !name.empty()) called = name;
    }
  }
  return called;
}

std::string StackLabels::caller(StackId stack) const {
  FrameId top = topUserFrame(stack);
  if (!top.valid()) return {};
  // Without Python, the program's own functions name the stack and its caller.
  bool is_cpp = !isUser(top) && model::rankOf(frameAt(trace_, top)) == FrameRank::kOtherCpp;
  std::string own = frameLabel(top);
  model::FrameList frame = trace_.stacks.framesOf(stack);
  size_t depth = trace_.stacks.depth(stack);
  size_t begin = top_position_[stack.index()] + 1;
  bool of_forward = isForward(top);
  // For code that the backward pass runs, what it belongs to says more than who called backward().
  if (size_t own_depth = ownDepth(stack); own_depth < depth && !of_forward) begin = own_depth;
  for (size_t i = begin; i < depth; ++i) {
    if (isUser(frame[i])) return of_forward ? plainLabel(frame[i]) : frameLabel(frame[i]);
    if (!is_cpp || model::rankOf(frameAt(trace_, frame[i])) != FrameRank::kOtherCpp) continue;
    if (std::string label = frameLabel(frame[i]); label != own) return label;  // no recursion
  }
  return {};
}

std::string StackLabels::frameText(FrameId frame) const {
  const model::Frames& frames = trace_.frames;
  size_t f = frame.index();
  std::string_view file = trace_.strings.text(frames.file[f]);
  std::string_view function = trace_.strings.text(frames.function[f]);
  if (file.empty() && frames.line[f] == 0 && !function.empty()) return std::string(function);
  return fmt::format("{}{}:{} {}", isForward(frame) ? kForwardOf : "", file, frames.line[f],
                     function);
}

std::string StackLabels::text(StackId stack, size_t most_bytes) const {
  std::string text;
  if (!stack.valid()) return text;
  model::FrameList frames = trace_.stacks.framesOf(stack);
  size_t depth = trace_.stacks.depth(stack);
  for (size_t i = 0; i < depth; ++i) {
    std::string line = frameText(frames[i]);
    if (line.size() > most_bytes || text.size() >= most_bytes - line.size()) {
      return text + fmt::format("{}… {} more frames", i > 0 ? "\n" : "", depth - i);
    }
    if (i > 0) text += '\n';
    text += line;
  }
  return text;
}

std::vector<FoldedFrame> foldStack(const model::Trace& trace, const StackLabels& labels,
                                   StackId stack) {
  std::vector<FoldedFrame> folded;
  if (!stack.valid()) return folded;
  model::FrameList frames = trace.stacks.framesOf(stack);
  for (size_t i = 0; i < trace.stacks.depth(stack); ++i) {
    if (!folded.empty() && folded.back().frame == frames[i]) {
      folded.back().repeat++;
      continue;
    }
    folded.push_back({frames[i], 1, labels.isNoise(frames[i]), labels.isUser(frames[i])});
  }
  return folded;
}

}  // namespace tidegauge::analysis
