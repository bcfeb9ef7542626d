#include "analysis/labels/stack_labels.h"

#include <fmt/format.h>

#include "model/call_site.h"
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
  at.is_python = frames.kind[f] == model::FrameKind::kPython;
  return at;
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
  std::vector<FrameRank> of_stack;
  for (size_t s = 0; s < stacks.size(); ++s) {
    StackId stack(static_cast<uint32_t>(s));
    const FrameId* frame = stacks.framesOf(stack);
    size_t depth = stacks.depth(stack);
    if (depth == 0) continue;
    of_stack.clear();
    for (size_t i = 0; i < depth; ++i) {
      of_stack.push_back(rank[frame[i].index()]);
      if (of_stack.back() == FrameRank::kUser) break;
    }
    size_t best = model::callSite(of_stack);
    top_user_[s] = frame[best];
    top_position_[s] = static_cast<uint32_t>(best);
    uint8_t& slot = slot_of_frame[frame[best].index()];
    if (slot == 0) slot = static_cast<uint8_t>(1 + fnv1a(frameLabel(frame[best])) % 8);
    slot_[s] = slot;
  }
}

FrameId StackLabels::topUserFrame(StackId stack) const {
  return stack.valid() ? top_user_[stack.index()] : FrameId();
}

uint8_t StackLabels::colourSlot(StackId stack) const {
  return stack.valid() ? slot_[stack.index()] : 0;
}

std::string StackLabels::frameLabel(FrameId frame) const {
  return model::siteName(frameAt(trace_, frame));
}

std::string StackLabels::label(StackId stack) const {
  FrameId frame = topUserFrame(stack);
  if (!frame.valid()) return "no stack recorded";
  std::string_view called = operation(stack);
  if (called.empty() || trace_.frames.kind[frame.index()] != model::FrameKind::kPython) {
    return frameLabel(frame);
  }
  return fmt::format("{} ({})", frameLabel(frame), called);
}

// The outermost dispatcher entry below the innermost Python frame is what Python called.
std::string_view StackLabels::operation(StackId stack) const {
  std::string_view called;
  if (!stack.valid()) return called;
  const FrameId* frame = trace_.stacks.framesOf(stack);
  for (size_t i = 0; i < trace_.stacks.depth(stack); ++i) {
    if (trace_.frames.kind[frame[i].index()] == model::FrameKind::kPython) break;
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
  const FrameId* frame = trace_.stacks.framesOf(stack);
  for (size_t i = top_position_[stack.index()] + 1; i < trace_.stacks.depth(stack); ++i) {
    if (isUser(frame[i])) return frameLabel(frame[i]);
    if (!is_cpp || model::rankOf(frameAt(trace_, frame[i])) != FrameRank::kOtherCpp) continue;
    if (std::string label = frameLabel(frame[i]); label != own) return label;  // no recursion
  }
  return {};
}

std::string StackLabels::frameText(FrameId frame) const {
  const model::Frames& frames = trace_.frames;
  size_t f = frame.index();
  return fmt::format("{}:{} {}", trace_.strings.text(frames.file[f]), frames.line[f],
                     trace_.strings.text(frames.function[f]));
}

std::string StackLabels::text(StackId stack, size_t most_bytes) const {
  std::string text;
  if (!stack.valid()) return text;
  const FrameId* frames = trace_.stacks.framesOf(stack);
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
  const FrameId* frames = trace.stacks.framesOf(stack);
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
