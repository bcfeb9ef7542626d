#include "analysis/labels/stack_labels.h"

#include <gtest/gtest.h>

#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using testing::TraceBuilder;
using Frames = std::vector<std::string>;

const std::string kSite = "/usr/lib/python3.11/site-packages/";

struct Named {
  std::string label, caller;
};
Named named(const Frames& frames) {
  TraceBuilder b;
  b.stack(frames).alloc(0x1000, 512);
  model::Trace trace = b.build();
  StackLabels labels(trace);
  return {labels.label(StackId(0)), labels.caller(StackId(0))};
}

TEST(StackLabels, NameTheUsersInnermostFrame) {
  Named n = named(
      {"CUDACachingAllocator::malloc@??:0", "forward@" + kSite + "torch/nn/linear.py:114",
       "_call_impl@" + kSite + "torch/nn/modules/module.py:1500", "forward@/home/me/model.py:856",
       "main@/home/me/train.py:63", "<module>@<frozen runpy>.py:88"});
  EXPECT_EQ(n.label, "model.py:856 forward");
  EXPECT_EQ(n.caller, "train.py:63 main");
}

TEST(StackLabels, NameTheForwardPassOfTheBackwardPass) {
  Named n =
      named({"autograd::generated::AddmmBackward0::apply@??:0",
             "_engine_run_backward@" + kSite + "torch/autograd/graph.py:841",
             "main@/home/me/train.py:70",  // loss.backward()
             "forward of forward@" + kSite + "torch/nn/modules/linear.py:114",
             "forward of forward@/home/me/model.py:77", "forward of main@/home/me/train.py:31"});
  EXPECT_EQ(n.label, "forward of model.py:77 forward (AddmmBackward0)");
  EXPECT_EQ(n.caller, "train.py:31 main");
  n = named({"forward of forward@/home/me/model.py:77"});
  EXPECT_EQ(n.label, "forward of model.py:77 forward");
  EXPECT_EQ(n.caller, "");
}

// A backward() of the program, or a part that is computed again.
TEST(StackLabels, NameTheUsersCodeInsideTheBackwardPass) {
  Named n =
      named({"backward@/home/me/ops.py:20", "apply@" + kSite + "torch/autograd/function.py:300",
             "main@/home/me/train.py:70", "forward of forward@/home/me/model.py:77",
             "forward of main@/home/me/train.py:31"});
  EXPECT_EQ(n.label, "ops.py:20 backward");
  EXPECT_EQ(n.caller, "forward of model.py:77 forward");
}

TEST(StackLabels, WholeStacksMarkTheForwardPass) {
  TraceBuilder b;
  b.stack({"f@a.py:1", "forward of g@b.py:2"}).alloc(0x1000, 512);
  model::Trace trace = b.build();
  EXPECT_EQ(StackLabels(trace).text(StackId(0)), "a.py:1 f\nforward of b.py:2 g");
}

TEST(StackLabels, OtherPackagesThatBeginWithTorchAreNotTorch) {
  EXPECT_EQ(named({"f@" + kSite + "torch/nn/functional.py:1",
                   "train@" + kSite + "torchtitan/train.py:20"})
                .label,
            "train.py:20 train");
}

TEST(StackLabels, TorchIsKnownWhereverItLies) {
  for (const std::string& torch :
       {kSite + "torch/optim/adam.py", std::string("/opt/pytorch/torch/optim/adam.py"),
        std::string("/tmp/torchinductor_me/ab/cab.py"),
        std::string("C:\\Python311\\Lib\\site-packages\\torch\\optim\\adam.py")}) {
    Named n = named({"f@" + torch + ":5", "main@/home/me/train.py:63"});
    EXPECT_EQ(n.label, "train.py:63 main") << torch;
  }
}

TEST(StackLabels, NoiseRulesDoNotHideTheUsersNames) {
  for (const char* frame :
       {"on_train_start@/home/me/hooks.py:7", "gather_with_cpp@/home/me/x.py:1",
        "f@/home/me/RegisterNet/train.py:3", "run_mod@/home/me/_inductor/m.py:2"}) {
    TraceBuilder b;
    b.stack({frame}).alloc(0x1000, 512);
    model::Trace trace = b.build();
    StackLabels labels(trace);
    EXPECT_TRUE(labels.isUser(FrameId(0))) << frame;
    EXPECT_FALSE(labels.isNoise(FrameId(0))) << frame;
  }
}

TEST(StackLabels, WithoutUserCodeTorchsOwnPythonIsNamed) {
  Named n = named({"_call_impl@" + kSite + "torch/nn/modules/module.py:1500",
                   "step@" + kSite + "torch/optim/adam.py:88"});
  EXPECT_EQ(n.label, "adam.py:88 step");
  EXPECT_EQ(n.caller, "");
}

TEST(StackLabels, WithoutPythonTheOperationIsNamed) {
  Named n = named({"c10::cuda::CUDACachingAllocator::Native::malloc(void*, int)@??:0",
                   "at::detail::empty_generic(c10::ArrayRef<long>)@??:0",
                   "at::native::(anonymous namespace)::cat_out_cuda(at::Tensor const&)@??:0",
                   "__libc_start_main@??:0"});
  EXPECT_EQ(n.label, "at::native::(anonymous namespace)::cat_out_cuda");
}

// A shared allocation wrapper says little; its caller says more.
TEST(StackLabels, WithoutPythonTheProgramsOwnFunctionCalls) {
  Named n =
      named({"cuMemAlloc_v2@libcuda.so.1:0", "cudaMalloc@libcudart.so.13:0",
             "grab@/home/me/plain.c:20", "grab@/home/me/plain.c:20", "leaky@/home/me/plain.c:40",
             "main@/home/me/plain.c:63", "__libc_start_main@libc.so.6:0"});
  EXPECT_EQ(n.label, "grab");
  EXPECT_EQ(n.caller, "leaky");
  EXPECT_EQ(named({"cudaMalloc@libcudart.so.13:0", "main@/home/me/plain.c:63",
                   "__libc_start_main@libc.so.6:0"})
                .caller,
            "");
  // The program's Python code calls its own library.
  n = named({"cudaMalloc@libcudart.so.13:0", "grab@/home/me/plain.c:20",
             "step@/home/me/train.py:40", "main@/home/me/train.py:63"});
  EXPECT_EQ(n.label, "train.py:40 step");
  EXPECT_EQ(n.caller, "train.py:63 main");
}

TEST(StackLabels, OnlyNoiseStillHasALabel) {
  EXPECT_EQ(named({"PyEval_EvalCode@??:0", "_start@??:0"}).label, "PyEval_EvalCode");
}

TEST(StackLabels, NamelessFramesHaveALabelToo) { EXPECT_EQ(named({"@:0"}).label, "unnamed frame"); }

TEST(StackLabels, NoStackAndEmptyStacks) {
  TraceBuilder b;
  b.stack({}).alloc(0x1000, 512);
  model::Trace trace = b.build();
  StackLabels labels(trace);
  EXPECT_EQ(labels.label(StackId()), "no stack recorded");
  EXPECT_EQ(labels.label(StackId(0)), "no stack recorded");
  EXPECT_EQ(labels.caller(StackId(0)), "");
  EXPECT_EQ(labels.colourSlot(StackId()), 0);
  EXPECT_EQ(labels.colourSlot(StackId(0)), 0);
  EXPECT_EQ(labels.text(StackId()), "");
}

TEST(StackLabels, ColoursGoByTheTopUserFrame) {
  TraceBuilder b;
  b.stack({"at::native::x@??:0", "f@/home/me/a.py:1"}).alloc(0x1000, 512);
  b.stack({"f@/home/me/a.py:1", "g@/home/me/b.py:2"}).alloc(0x2000, 512);
  model::Trace trace = b.build();
  StackLabels labels(trace);
  EXPECT_EQ(labels.colourSlot(StackId(0)), labels.colourSlot(StackId(1)));
  EXPECT_GE(labels.colourSlot(StackId(0)), 1);
  EXPECT_LE(labels.colourSlot(StackId(0)), 8);
  EXPECT_EQ(labels.text(StackId(1)), "/home/me/a.py:1 f\n/home/me/b.py:2 g");
}

TEST(StackLabels, FoldingCountsRepeatsAndDropsNothing) {
  TraceBuilder b;
  b.stack({"_PyEval_EvalFrameDefault@??:0", "f@/home/me/a.py:1", "f@/home/me/a.py:1",
           "f@/home/me/a.py:1", "main@/home/me/a.py:9"})
      .alloc(0x1000, 512);
  model::Trace trace = b.build();
  std::vector<FoldedFrame> folded = foldStack(trace, StackLabels(trace), StackId(0));
  ASSERT_EQ(folded.size(), 3U);
  EXPECT_TRUE(folded[0].noise);
  EXPECT_EQ(folded[1].repeat, 3U);
  EXPECT_TRUE(folded[1].user);
}

}  // namespace
}  // namespace tidegauge::analysis
