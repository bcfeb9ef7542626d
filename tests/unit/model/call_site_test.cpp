#include "model/call_site.h"

#include <gtest/gtest.h>

namespace tidegauge::model {
namespace {

using Stack = std::vector<FramePlace>;  // innermost first

StackWords wordsOf(const Stack& stack) {
  StackWords words;
  for (const FramePlace& frame : stack) words.add(frame);
  return words;
}

const FramePlace kDriver{"cuMemAlloc_v2", "", 0, "/usr/lib/libcuda.so.1", 0x10};
const FramePlace kInsideDriver{"", "", 0, "/usr/lib/libcuda.so.550.54", 0x1234};
const FramePlace kRuntime{"cudaMalloc", "", 0, "/opt/cuda/lib64/libcudart.so.13", 0x20};
const FramePlace kStaticRuntime{"cudaMalloc", "", 0, "/home/me/app", 0x4000};
const FramePlace kAllocator{"c10::cuda::CUDACachingAllocator::Native::malloc(void**, int)", "", 0,
                            "/x/torch/lib/libc10_cuda.so", 0x30};
const FramePlace kStandIn{"takeMemory", "/src/tests/standin/driver_memory.cpp", 33,
                          "/x/standin/libcuda.so.1", 0x40};
const FramePlace kOperation{"at::native::empty_cuda(c10::ArrayRef<long>)", "", 0,
                            "/x/torch/lib/libtorch_cuda.so", 0x50};
const FramePlace kEval{"_PyEval_EvalFrameDefault", "", 0, "/usr/bin/python3.12", 0x60};
const FramePlace kTrampoline{"py_trampoline_evaluator", "", 0, "/usr/bin/python3.12", 0x70};
const FramePlace kCtypes{"_ctypes_callproc", "", 0, "/x/_ctypes.cpython-312.so", 0x80};
const FramePlace kFfi{"ffi_call_unix64", "", 0, "/usr/lib/libffi.so.8", 0x90};
const FramePlace kLinear{"Linear.forward", "/x/site-packages/torch/nn/modules/linear.py", 114, "",
                         0};
const FramePlace kUser{"Model.forward", "/home/me/model.py", 8, "", 0};
const FramePlace kUserMain{"<module>", "/home/me/train.py", 0, "", 0};
const FramePlace kFrozen{"_call", "<frozen importlib._bootstrap>", 241, "", 0};
const FramePlace kProgram{"load(char const*)", "/home/me/src/plain.c", 20, "/home/me/app", 0x100};
const FramePlace kNoLines{"load(char const*)", "", 0, "/home/me/app", 0x100};
const FramePlace kStripped{"", "", 0, "/home/me/lib/libmine.so.1", 0x110};
const FramePlace kStart{"__libc_start_call_main", "", 0, "/usr/lib/libc.so.6", 0x120};

TEST(CallSite, IsTheProgramsInnermostFrame) {
  struct Case {
    const char* site;
    Stack stack;
  };
  const Case cases[] = {
      {"", {}},
      {"plain.c:20 load", {kDriver, kRuntime, kProgram, kStart}},
      {"plain.c:20 load", {kInsideDriver, kDriver, kRuntime, kProgram, kStart}},
      {"plain.c:20 load", {kStandIn, kDriver, kRuntime, kProgram, kStart}},
      {"plain.c:20 load", {kStaticRuntime, kProgram}},
      {"load", {kDriver, kNoLines, kStart}},
      {"libmine.so.1+0x110", {kDriver, kStripped, kStart}},
      {"model.py:8 Model.forward",
       {kDriver, kRuntime, kAllocator, kOperation, kEval, kLinear, kEval, kUser, kUserMain}},
      {"train.py <module>", {kDriver, kFfi, kCtypes, kEval, kTrampoline, kUserMain, kFrozen}},
      {"linear.py:114 Linear.forward", {kDriver, kRuntime, kAllocator, kOperation, kLinear, kEval}},
      {"at::native::empty_cuda", {kDriver, kRuntime, kAllocator, kOperation, kEval}},
      // Without frames of the program, the called function says more than the interpreter.
      {"cuMemAlloc_v2", {kDriver, kFfi, kCtypes, kEval, kStart}},
      {"cuMemAlloc_v2", {kDriver}},
      {"cudaMalloc",
       {{"cudaMalloc", "/src/runtime.cpp", 136, "/x/libcudart.so.13", 0}, kFfi, kEval}},
  };
  for (const Case& it : cases) EXPECT_EQ(wordsOf(it.stack).site, it.site);
}

TEST(CallSite, OfAStackKeepsEveryFrame) {
  StackWords words = wordsOf({kDriver, kProgram, kStart});
  ASSERT_EQ(words.frames.size(), 3U);
  EXPECT_EQ(words.frames[0], frameLine(kDriver));
}

TEST(CallSite, AUsersFunctionIsNotTakenForOneOfCuda) {
  auto rank = [](std::string_view function) {
    return rankOf({function, "/home/me/a.cc", 3, "/home/me/app", false});
  };
  for (const char* of_cuda :
       {"cudaMalloc", "cudaMallocAsync_ptsz", "cuMemCreate", "__cudaLaunchKernel",
        "cuLaunchKernelEx", "cudart::cudaApiMalloc(void**)"})
    EXPECT_EQ(rank(of_cuda), FrameRank::kCalled) << of_cuda;
  for (const char* other :
       {"cuddle", "custom", "cudaish", "cuMatrix::grow", "cudaMalloc(My&)", "cut"})
    EXPECT_EQ(rank(other), FrameRank::kOtherCpp) << other;
}

TEST(CallSite, PythonIsNeverHiddenByRulesForCpp) {
  EXPECT_EQ(rankOf({"on_train_start", "/home/me/a.py", 3, "", true}), FrameRank::kUser);
  EXPECT_EQ(rankOf({"cudaMalloc", "/home/me/a.py", 3, "", true}), FrameRank::kUser);
  EXPECT_TRUE(isPythonFile("<string>"));
  EXPECT_FALSE(isPythonFile("/x/a.pyx"));
}

TEST(CallSite, OfSeveralAlikeTheInnermostNames) {
  using enum FrameRank;
  auto site = [](std::vector<FrameRank> ranks) { return callSite(ranks); };
  EXPECT_EQ(site({}), 0U);
  EXPECT_EQ(site({kCalled, kOtherCpp, kOtherCpp, kNoise}), 1U);
  EXPECT_EQ(site({kOperation, kFramework, kUser, kUser}), 2U);
  EXPECT_EQ(site({kNoise, kCalled}), 1U);
}

}  // namespace
}  // namespace tidegauge::model
