#include "analysis/stack_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tidegauge::analysis {
namespace {

// Frames that say how Python and PyTorch got somewhere, never where: as PyTorch's own viewer drops
// them (torch/utils/viz/MemoryViz.js, frame filter), by substring.
constexpr std::array<std::string_view, 13> kNoiseFunctions = {"unwind::unwind",
                                                              "CapturedTraceback::gather",
                                                              "gather_with_cpp",
                                                              "_start",
                                                              "__libc_start_main",
                                                              "PyEval_",
                                                              "PyObject_",
                                                              "PyFunction_",
                                                              "PyRun_",
                                                              "Py_RunMain",
                                                              "Py_BytesMain",
                                                              "PyVectorcall_",
                                                              "PyMethod_"};
constexpr std::array<std::string_view, 14> kNoiseFiles = {"core/boxing",
                                                          "/Register",
                                                          "/Redispatch",
                                                          "pythonrun.c",
                                                          "Modules/main.c",
                                                          "Objects/call.c",
                                                          "Objects/methodobject.c",
                                                          "pycore_ceval.h",
                                                          "ceval.c",
                                                          "cpython/abstract.h",
                                                          "pycore_object.h",
                                                          "Objects/typeobject.c",
                                                          "Objects/classobject.c",
                                                          "Objects/descrobject.c"};
// Python code that belongs to a library: good to see, no good as a name for a stack.
constexpr std::array<std::string_view, 8> kLibraryFolders = {
    "site-packages/", "dist-packages/", "/torch/", "lib/python",
    "<frozen",        "<string>",       "<eval",   "torchinductor"};

bool containsAny(std::string_view text, auto const& needles) {
  return std::any_of(needles.begin(), needles.end(),
                     [&](std::string_view n) { return text.find(n) != std::string_view::npos; });
}

std::string_view baseName(std::string_view path) {
  size_t slash = path.find_last_of("/\\");
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

uint32_t fnv1a(std::string_view text) {
  uint32_t hash = 2166136261U;
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619U;
  return hash;
}

}  // namespace

StackLabels::StackLabels(const model::Trace& trace) : trace_(trace) {
  const model::Frames& frames = trace.frames;
  noise_.resize(frames.size());
  user_.resize(frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    std::string_view function = trace.strings.text(frames.function[i]);
    std::string_view file = trace.strings.text(frames.file[i]);
    noise_[i] = containsAny(function, kNoiseFunctions) || containsAny(file, kNoiseFiles);
    user_[i] = !noise_[i] && frames.kind[i] == model::FrameKind::kPython &&
               !containsAny(file, kLibraryFolders);
  }
  const model::Stacks& stacks = trace.stacks;
  top_user_.resize(stacks.size());
  top_position_.resize(stacks.size());
  slot_.resize(stacks.size());
  for (size_t s = 0; s < stacks.size(); ++s) {
    StackId stack(static_cast<uint32_t>(s));
    size_t position = 0;
    FrameId top = userFrameFrom(stack, 0, &position);
    if (!top.valid()) {
      const FrameId* frame = stacks.framesOf(stack);
      size_t depth = stacks.depth(stack);
      auto plain = std::find_if(frame, frame + depth, [&](FrameId f) { return !isNoise(f); });
      if (plain == frame + depth) plain = frame;
      if (depth > 0) {
        top = *plain;
        position = static_cast<size_t>(plain - frame);
      }
    }
    top_user_[s] = top;
    top_position_[s] = static_cast<uint32_t>(position);
    slot_[s] = top.valid() ? static_cast<uint8_t>(1 + fnv1a(frameLabel(top)) % 8) : 0;
  }
}

FrameId StackLabels::userFrameFrom(StackId stack, size_t position, size_t* found) const {
  const FrameId* frames = trace_.stacks.framesOf(stack);
  for (size_t i = position; i < trace_.stacks.depth(stack); ++i) {
    if (!isUser(frames[i])) continue;
    *found = i;
    return frames[i];
  }
  return {};
}

FrameId StackLabels::topUserFrame(StackId stack) const {
  return stack.valid() ? top_user_[stack.index()] : FrameId();
}

uint8_t StackLabels::colourSlot(StackId stack) const {
  return stack.valid() ? slot_[stack.index()] : 0;
}

std::string StackLabels::frameLabel(FrameId frame) const {
  const model::Frames& frames = trace_.frames;
  std::string_view function = trace_.strings.text(frames.function[frame.index()]);
  std::string_view file = baseName(trace_.strings.text(frames.file[frame.index()]));
  uint64_t line = frames.line[frame.index()];
  if (file.empty() || file == "??") return std::string(function);
  if (line == 0) return fmt::format("{} {}", file, function);
  return fmt::format("{}:{} {}", file, line, function);
}

std::string StackLabels::label(StackId stack) const {
  FrameId frame = topUserFrame(stack);
  return frame.valid() ? frameLabel(frame) : "no stack recorded";
}

std::string StackLabels::caller(StackId stack) const {
  if (!topUserFrame(stack).valid()) return {};
  size_t found = 0;
  FrameId frame = userFrameFrom(stack, top_position_[stack.index()] + 1, &found);
  return frame.valid() ? frameLabel(frame) : std::string();
}

std::string StackLabels::text(StackId stack) const {
  std::string text;
  if (!stack.valid()) return text;
  const FrameId* frames = trace_.stacks.framesOf(stack);
  for (size_t i = 0; i < trace_.stacks.depth(stack); ++i) {
    size_t f = frames[i].index();
    if (i > 0) text += '\n';
    fmt::format_to(std::back_inserter(text), "{}:{} {}", trace_.strings.text(trace_.frames.file[f]),
                   trace_.frames.line[f], trace_.strings.text(trace_.frames.function[f]));
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
