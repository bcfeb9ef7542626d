#include "model/call_site.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tidegauge::model {
namespace {

// Frames of machinery in Python and PyTorch, never a call site; matched by substring.
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
// torch's Python code that only passes the call on.
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

// Matched against the last part of the path; any version may follow.
constexpr std::array<std::string_view, 4> kCudaModules = {"libcuda.so", "libcudart.so",
                                                          "libcudart-", "libtidegauge_preload"};
constexpr std::array<std::string_view, 10> kNoiseModules = {
    "libc10.so",     "libc10_cuda.so",  "libffi.so", "ld-linux",  "libc.so.",
    "libpthread.so", "libtorch_python", "_ctypes.",  "libpython", "[vdso]"};
// How the names of CUDA's exports continue after "cu" or "cuda"; also if the runtime is linked
// statically.
constexpr std::array<std::string_view, 24> kCudaFunctions = {
    "Mem",    "Malloc", "Free",      "Host",    "Array",    "MipmappedArray", "Mipmapped", "Ctx",
    "Device", "Graph",  "Ipc",       "Import",  "External", "Stream",         "Launch",    "Pool",
    "Set",    "Get",    "Multicast", "Pointer", "Init",     "Module",         "Library",   "Event"};

bool startsWithAny(std::string_view text, auto const& starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [&](std::string_view start) { return text.starts_with(start); });
}

// "cudaMalloc", "cuMemAlloc_v2"; not "cuddle", "cudaMalloc(my, own)".
bool isCudaFunction(std::string_view function) {
  if (function.starts_with("cudart::") || function.starts_with("libcudart_static_")) return true;
  while (function.starts_with('_')) function.remove_prefix(1);
  if (!function.starts_with("cu")) return false;
  bool is_name = std::all_of(function.begin(), function.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  function.remove_prefix(2);
  if (function.starts_with("da")) function.remove_prefix(2);
  return is_name && startsWithAny(function, kCudaFunctions);
}

// Not the program's own code, but a header of a framework that a snapshot names.
bool isOfFramework(std::string_view function) {
  return function.find("at::") != std::string_view::npos ||
         function.find("c10::") != std::string_view::npos ||
         function.find("torch::") != std::string_view::npos;
}

}  // namespace

bool isPythonFile(std::string_view file) {
  return file.ends_with(".py") || (file.starts_with('<') && file.ends_with('>'));
}

bool isInterpreter(std::string_view module) {
  std::string_view name = baseName(module);
  if (name.starts_with("libpython")) return true;
  constexpr std::string_view kProgram = "python";
  return name.starts_with(kProgram) &&
         name.find_first_not_of("0123456789.dt", kProgram.size()) == std::string_view::npos;
}

// The noise rules are made for C++ names: for Python they would hide a user's on_train_start.
FrameRank rankOf(const CallFrame& frame) {
  std::string slashes;  // Windows
  std::string_view file = frame.file;
  if (file.find('\\') != std::string_view::npos) {
    slashes = file;
    std::replace(slashes.begin(), slashes.end(), '\\', '/');
    file = slashes;
  }
  if (frame.is_python) {
    if (inTorch(file)) {
      return containsAny(file, kPlumbing) ? FrameRank::kPlumbing : FrameRank::kFramework;
    }
    bool library = inStandardLibrary(file) || containsAny(file, kNoFile);
    return library ? FrameRank::kPlumbing : FrameRank::kUser;
  }
  std::string_view module = baseName(frame.module.empty() ? file : frame.module);
  if (startsWithAny(module, kCudaModules) || isCudaFunction(frame.function)) {
    return FrameRank::kCalled;
  }
  if (containsAny(frame.function, kNoiseFunctions) || containsAny(file, kNoiseFiles) ||
      startsWithAny(module, kNoiseModules)) {
    return FrameRank::kNoise;
  }
  if (frame.function.find("at::native::") != std::string_view::npos ||
      frame.function.find("autograd::generated::") != std::string_view::npos) {
    return FrameRank::kOperation;
  }
  return containsAny(frame.function, kDispatch) ? FrameRank::kNoise : FrameRank::kOtherCpp;
}

size_t callSite(std::span<const FrameRank> ranks) {
  size_t best = 0;
  for (size_t i = 1; i < ranks.size() && ranks[best] != FrameRank::kUser; ++i) {
    if (ranks[i] < ranks[best]) best = i;
  }
  return best;
}

std::string siteName(const CallFrame& frame) {
  std::string_view file = baseName(frame.file);
  if (frame.function.empty() && file.empty()) return "unnamed frame";
  if (!frame.is_python && !frame.function.empty()) {
    std::string_view function = withoutArguments(frame.function);
    if (frame.line == 0 || frame.module.empty() || isOfFramework(function) ||
        isCudaFunction(function)) {
      return std::string(function);
    }
    return fmt::format("{}:{} {}", file, frame.line, function);
  }
  if (file.empty() || file == "??") return std::string(frame.function);
  if (frame.line == 0) return fmt::format("{} {}", file, frame.function);
  return fmt::format("{}:{} {}", file, frame.line, frame.function);
}

void StackWords::add(const FramePlace& frame) {
  CallFrame at{frame.function, frame.file, frame.line, frame.module, isPythonFile(frame.file)};
  std::string place;  // for code without a name
  if (at.function.empty() && at.file.empty()) {
    place = frameLine(frame);
    at.function = place;
  }
  FrameRank own = rankOf(at);
  if (site.empty() || own < rank) {
    site = siteName(at);
    rank = own;
  }
  frames.push_back(frameLine(frame));
}

}  // namespace tidegauge::model
