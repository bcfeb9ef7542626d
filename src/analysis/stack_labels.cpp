#include "analysis/stack_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tidegauge::analysis {
namespace {

// Frames that say how Python and PyTorch got somewhere, never where; by substring.
constexpr std::array<std::string_view, 31> kNoiseFunctions = {"unwind::unwind",
                                                              "CapturedTraceback::gather",
                                                              "gather_with_cpp",
                                                              "_start",
                                                              "PyEval_",
                                                              "PyObject_",
                                                              "PyFunction_",
                                                              "PyRun_",
                                                              "Py_RunMain",
                                                              "Py_BytesMain",
                                                              "PyVectorcall_",
                                                              "PyMethod_",
                                                              "cfunction_call",
                                                              "method_vectorcall",
                                                              "slot_tp_call",
                                                              "pymain_",
                                                              "pyrun_",
                                                              "run_mod",
                                                              "run_eval_code",
                                                              "__libc_start",
                                                              "dynamo_custom_",
                                                              "CUDACachingAllocator",
                                                              "wrap_kernel_functor_unboxed",
                                                              "py_trampoline_",
                                                              "PyNumber_",
                                                              "PyCFuncPtr_",
                                                              "_ctypes_callproc",
                                                              "slot_nb_",
                                                              "vectorcall_maybe",
                                                              "cfunction_vectorcall",
                                                              "__clone"};
constexpr std::array<std::string_view, 14> kNoiseFiles = {"core/boxing",
                                                          "Register",
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
// Dispatcher and helpers below an operation: better than nothing, worse than the operation.
constexpr std::array<std::string_view, 8> kDispatch = {
    "at::_ops::",   "at::detail::", "redispatch", "wrapper_CUDA",
    "THPVariable_", "c10::impl::",  "pthread_",   "error_condition"};
// Python code without a file.
constexpr std::array<std::string_view, 3> kNoFile = {"<frozen", "<string>", "<eval"};
// torch's Python that only passes the call on.
constexpr std::array<std::string_view, 6> kPlumbing = {
    "nn/modules/module.py", "utils/_contextlib.py", "_dynamo/eval_frame.py",
    "autograd/function.py", "_functorch/",          "_inductor/"};

bool containsAny(std::string_view text, auto const& needles) {
  return std::any_of(needles.begin(), needles.end(),
                     [&](std::string_view n) { return text.find(n) != std::string_view::npos; });
}

std::string_view baseName(std::string_view path) {
  size_t slash = path.find_last_of("/\\");
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// "at::native::empty_cuda(c10::ArrayRef<long>, …)" → "at::native::empty_cuda".
std::string_view withoutArguments(std::string_view function) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  size_t from = 0;
  while (true) {
    size_t open = function.find('(', from);
    if (open == std::string_view::npos || open == 0) return function;
    if (function.substr(open, kAnonymous.size()) != kAnonymous) return function.substr(0, open);
    from = open + kAnonymous.size();
  }
}

uint32_t fnv1a(std::string_view text) {
  uint32_t hash = 2166136261U;
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619U;
  return hash;
}

}  // namespace

namespace {

// True for files of Python's standard library: lib/python3.x/… but not below site-packages.
bool inStandardLibrary(std::string_view file) {
  size_t at = file.find("lib/python3");
  return (at != std::string_view::npos && file.find("-packages/", at) == std::string_view::npos) ||
         baseName(file) == "runpy.py";
}

// Installed, built in its own checkout, or written by its compiler.
bool inTorch(std::string_view file) {
  return file.find("-packages/torch/") != std::string_view::npos ||
         file.find("/pytorch/torch/") != std::string_view::npos ||
         file.find("torchinductor_") != std::string_view::npos || file.starts_with("torch/");
}

}  // namespace

// The noise rules are made for C++ names: in Python they would hide a user's on_train_start.
StackLabels::Rank StackLabels::rankOf(std::string_view function, std::string_view file,
                                      model::FrameKind kind) {
  if (kind == model::FrameKind::kPython) {
    if (inTorch(file)) return containsAny(file, kPlumbing) ? Rank::kPlumbing : Rank::kFramework;
    bool library = inStandardLibrary(file) || containsAny(file, kNoFile);
    return library ? Rank::kPlumbing : Rank::kUser;
  }
  if (containsAny(function, kNoiseFunctions) || containsAny(file, kNoiseFiles)) return Rank::kNoise;
  if (function.find("at::native::") != std::string_view::npos ||
      function.find("autograd::generated::") != std::string_view::npos) {
    return Rank::kOperation;
  }
  return containsAny(function, kDispatch) ? Rank::kNoise : Rank::kOtherCpp;
}

StackLabels::StackLabels(const model::Trace& trace) : trace_(trace) {
  const model::Frames& frames = trace.frames;
  noise_.resize(frames.size());
  user_.resize(frames.size());
  std::vector<Rank> rank(frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    std::string_view function = trace.strings.text(frames.function[i]);
    std::string file(trace.strings.text(frames.file[i]));
    std::replace(file.begin(), file.end(), '\\', '/');  // Windows
    rank[i] = rankOf(function, file, frames.kind[i]);
    // Plumbing is folded like noise, but may still name a stack when nothing better is there.
    noise_[i] = rank[i] == Rank::kNoise || rank[i] == Rank::kPlumbing;
    user_[i] = rank[i] == Rank::kUser;
  }
  std::vector<uint8_t> slot_of_frame(frames.size(), 0);
  const model::Stacks& stacks = trace.stacks;
  top_user_.resize(stacks.size());
  top_position_.resize(stacks.size());
  slot_.resize(stacks.size());
  for (size_t s = 0; s < stacks.size(); ++s) {
    StackId stack(static_cast<uint32_t>(s));
    const FrameId* frame = stacks.framesOf(stack);
    size_t depth = stacks.depth(stack);
    if (depth == 0) continue;
    size_t best = 0;
    for (size_t i = 1; i < depth && rank[frame[best].index()] != Rank::kUser; ++i) {
      if (rank[frame[i].index()] < rank[frame[best].index()]) best = i;
    }
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
  const model::Frames& frames = trace_.frames;
  std::string_view function = trace_.strings.text(frames.function[frame.index()]);
  std::string_view file = baseName(trace_.strings.text(frames.file[frame.index()]));
  uint64_t line = frames.line[frame.index()];
  if (function.empty() && file.empty()) return "unnamed frame";
  if (frames.kind[frame.index()] == model::FrameKind::kCpp && !function.empty())
    return std::string(withoutArguments(function));
  if (file.empty() || file == "??") return std::string(function);
  if (line == 0) return fmt::format("{} {}", file, function);
  return fmt::format("{}:{} {}", file, line, function);
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
  if (!topUserFrame(stack).valid()) return {};
  const FrameId* frame = trace_.stacks.framesOf(stack);
  for (size_t i = top_position_[stack.index()] + 1; i < trace_.stacks.depth(stack); ++i) {
    if (isUser(frame[i])) return frameLabel(frame[i]);
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
