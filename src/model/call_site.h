// Call sites: the frame of a call stack that shows where the program made the call. One rule for
// every use: report, frag, diff, the page, Live, top.
//
//   cuMemAlloc_v2             libcuda.so.1        the driver, the runtime: the called function
//   cudaMalloc                libcudart.so.13
//   CUDACachingAllocator …    libc10_cuda.so      allocator, interpreter, trampolines: noise
//   at::native::empty_cuda    …                   an operation of the framework
//   linear.py:114 forward     torch/nn/…          the framework's own Python
//   model.py:856 forward                       ◄  the call site: innermost Python of the program
//   train.py:63 main
//
// Without Python: the innermost function of the program (plain.c:20 main). Noise rules follow
// PyTorch's viewer (MemoryViz.js, frame filter: unwinding, interpreter, dispatch) and add
// allocators, dispatchers and CUDA's own functions. Cost: some hundred text comparisons per frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/frame_line.h"

namespace tidegauge::model {

struct CallFrame {
  std::string_view function, file;  // empty: unknown; without a source, `file` may be a module
  uint64_t line = 0;
  std::string_view module;  // path of the file that contains the code; empty: unknown
  bool is_python = false;
};

// The lowest rank names the stack; on a tie the innermost.
enum class FrameRank : uint8_t {
  kUser,       // Python of the program
  kFramework,  // Python of torch
  kPlumbing,   // Python that only passes the call on: folded, but better than nothing
  kOperation,  // at::native, autograd
  kOtherCpp,   // the program's own functions, and libraries that are not listed
  kCalled,     // CUDA's own: the called function, not the caller
  kNoise,      // interpreter, unwinding, dispatch, starts of threads
};
FrameRank rankOf(const CallFrame& frame);

// Index into the frames' ranks, innermost first; their number if none is a call site.
size_t callSite(std::span<const FrameRank> ranks);

// "loss.py:30 log_softmax", "plain.c:20 main", "at::native::empty_cuda", "libfoo.so.1+0x12"; a name
// is cut at its arguments.
std::string siteName(const CallFrame& frame);

// A stack as text, from its frames, innermost first.
struct StackWords {
  std::vector<std::string> frames;  // frameLine()
  std::string site;                 // siteName() of the call site; empty: no stack was recorded
  FrameRank rank = FrameRank::kNoise;
  void add(const FramePlace& frame);
};

// A file of Python code: "x.py", and code without a file: "<frozen importlib._bootstrap>".
bool isPythonFile(std::string_view file);

// CPython's own code, by the path of its file: "libpython3.13.so.1.0", "bin/python3.13".
bool isInterpreter(std::string_view module);

}  // namespace tidegauge::model
