// forward_frames: the forward pass's stack of memory that the backward pass allocated.
#include <gtest/gtest.h>

#include "unit/readers/torch/pickle_writer.h"

namespace tidegauge::readers::torch {
namespace {

using model::FrameKind;

model::Trace traceOf(std::string_view json) {
  auto trace = readText(json);
  EXPECT_TRUE(trace.ok()) << trace.error().what;
  return trace.ok() ? std::move(trace).value() : model::Trace();
}

// "model.py:77 forward [forward] h = up(x)", innermost first.
std::vector<std::string> framesOf(const model::Trace& trace, model::StackId stack) {
  std::vector<std::string> texts;
  if (!stack.valid()) return texts;
  for (size_t i = 0; i < trace.stacks.depth(stack); ++i) {
    size_t f = trace.stacks.framesOf(stack)[i].index();
    std::string text = std::string(trace.strings.text(trace.frames.file[f])) + ":" +
                       std::to_string(trace.frames.line[f]) + " " +
                       std::string(trace.strings.text(trace.frames.function[f]));
    if (trace.frames.kind[f] == FrameKind::kForward) text += " [forward]";
    std::string_view note = trace.strings.text(trace.frames.note[f]);
    if (!note.empty()) text += " " + std::string(note);
    texts.push_back(text);
  }
  return texts;
}
using Texts = std::vector<std::string>;

const std::string kHead = R"({"segments": [], "device_traces": [[)";
std::string event(const std::string& fields) {
  return R"({"action": "alloc", "addr": 4096, "size": 512, "stream": 0, )" + fields + "}";
}
const std::string kForward =
    R"("forward_frames": ["  File \"train.py\", line 9, in <module>\n    main()\n",
                          "  File \"train.py\", line 31, in main\n    y = model(x)\n",
                          "  File \"model.py\", line 77, in forward\n    h = self.up(x)\n"])";

TEST(ForwardFrames, FollowTheOwnFramesInnermostFirst) {
  model::Trace trace =
      traceOf(kHead +
              event(R"("frames": [{"filename": "torch/autograd/graph.py", "line": 841,
                                   "name": "_engine_run_backward"}], )" +
                    kForward) +
              "]]}");
  EXPECT_EQ(
      framesOf(trace, trace.events.stack[0]),
      (Texts{"torch/autograd/graph.py:841 _engine_run_backward",
             "model.py:77 forward [forward] h = self.up(x)",
             "train.py:31 main [forward] y = model(x)", "train.py:9 <module> [forward] main()"}));
  EXPECT_TRUE(trace.issues.all().empty());
}

TEST(ForwardFrames, AreAStackWhereTheEventHasNone) {
  model::Trace trace = traceOf(kHead + event(R"("frames": [], )" + kForward) + "]]}");
  EXPECT_EQ(framesOf(trace, trace.events.stack[0]).size(), 3U);
}

TEST(ForwardFrames, AreStoredOnce) {
  std::string one = event(R"("frames": [], )" + kForward);
  model::Trace trace = traceOf(kHead + one + "," + one + "," + one + "]]}");
  EXPECT_EQ(trace.events.stack[0], trace.events.stack[2]);
  EXPECT_EQ(trace.stacks.size(), 1U);
  EXPECT_EQ(trace.frames.size(), 3U);
}

// The same function called and run backwards is two frames.
TEST(ForwardFrames, DifferFromOrdinaryFrames) {
  model::Trace trace = traceOf(
      kHead + event(R"("frames": [{"filename": "model.py", "line": 77, "name": "forward"}])") +
      "," + event(R"("frames": [], )" + kForward) + "]]}");
  EXPECT_EQ(trace.frames.size(), 4U);
  EXPECT_NE(trace.events.stack[0], trace.events.stack[1]);
}

// Some tools write the innermost frame first. Who calls whom is known from the other stacks.
TEST(ForwardFrames, AreTurnedIfTheFileShowsTheOtherOrder) {
  const std::string reversed =
      R"("forward_frames": ["  File \"model.py\", line 77, in forward\n    h = self.up(x)\n",
                            "  File \"train.py\", line 31, in step\n    y = model(x)\n"])";
  model::Trace trace =
      traceOf(kHead + event(R"("frames": [{"filename": "model.py", "line": 10, "name": "layer0"},
                                  {"filename": "train.py", "line": 30, "name": "step"}])") +
              "," + event(R"("frames": [], )" + reversed) + "]]}");
  EXPECT_EQ(framesOf(trace, trace.events.stack[1]),
            (Texts{"model.py:77 forward [forward] h = self.up(x)",
                   "train.py:31 step [forward] y = model(x)"}));
}

TEST(ForwardFrames, MayBeOneTextOfManyLines) {  // torch.fx
  model::Trace trace = traceOf(
      kHead +
      event(
          R"("forward_frames": ["  File \"a.py\", line 1, in f\n    g()\n  File \"b.py\", line 2, in g\n    return x\n"])") +
      "]]}");
  EXPECT_EQ(framesOf(trace, trace.events.stack[0]),
            (Texts{"b.py:2 g [forward] return x", "a.py:1 f [forward] g()"}));
}

TEST(ForwardFrames, OfBlocksAndSegmentsAreReadToo) {
  model::Trace trace = traceOf(
      R"({"segments": [{"device": 0, "address": 4096, "total_size": 512, "segment_type": "small",
           "frames": [], )" +
      kForward + R"(, "blocks": [{"size": 512, "requested_size": 500,
           "state": "active_allocated", "frames": [], )" +
      kForward + "}]}]}");
  EXPECT_EQ(framesOf(trace, trace.final_segments.stack[0]).size(), 3U);
  EXPECT_EQ(framesOf(trace, trace.final_blocks.stack[0]).size(), 3U);
  EXPECT_EQ(trace.issues.count(model::IssueKind::kUnknownKey), 0U);
}

TEST(ForwardFrames, ThatAreNoTextsAreReported) {
  for (const char* value : {"5", R"(["nothing"])", R"([1, 2])", R"("text")"}) {
    model::Trace trace =
        traceOf(kHead + event(std::string(R"("forward_frames": )") + value) + "]]}");
    EXPECT_FALSE(trace.events.stack[0].valid()) << value;
    EXPECT_EQ(trace.issues.count(model::IssueKind::kBadValue), 1U) << value;
  }
  EXPECT_TRUE(traceOf(kHead + event(R"("forward_frames": [])") + "]]}").issues.all().empty());
}

// A long list that many stacks are joined with must not outgrow the input.
TEST(ForwardFrames, AreBoundedByTheInput) {
  PickleWriter pickle;
  pickle.beginTrace();
  pickle.list().memoize().mark();  // slot 0: the forward frames
  for (int i = 0; i < 900; ++i)
    pickle.str("  File \"a.py\", line " + std::to_string(i) + ", in f\n");
  pickle.appends().op('0');  // POP
  for (int i = 0; i < 20000; ++i) {
    pickle.dict().mark().str("action").str("alloc").str("addr").number(512).str("size").number(1);
    pickle.str("frames").list().mark().frame("b.py", i, "g").appends();
    pickle.str("forward_frames").get(0).setItems();
  }
  pickle.endTrace();
  auto trace = read(pickle);
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_LE(trace.value().stacks.totalFrames(), (size_t{1} << 20) + pickle.size());
  EXPECT_GT(trace.value().issues.count(model::IssueKind::kCutText), 0U);
}

TEST(CompileContext, NamesAnEventWithoutAStack) {
  model::Trace trace =
      traceOf(kHead + event(R"("compile_context": "Torch-Compiled Region: 4/0", "frames": [])") +
              "," + event(R"("compile_context": "N/A")") + "," + event(R"("compile_context": "")") +
              "," + event(R"("compile_context": "Torch-Compiled Region: 4/0",
               "frames": [{"filename": "a.py", "line": 1, "name": "f"}])") +
              "]]}");
  EXPECT_EQ(framesOf(trace, trace.events.stack[0]), (Texts{":0 Torch-Compiled Region: 4/0"}));
  EXPECT_FALSE(trace.events.stack[1].valid());
  EXPECT_FALSE(trace.events.stack[2].valid());
  EXPECT_EQ(framesOf(trace, trace.events.stack[3]), (Texts{"a.py:1 f"}));
}

TEST(InternalMetadata, IsKept) {
  model::Trace trace =
      traceOf(kHead + event(R"("internal_metadata": "mallocWithAddress")") + "]]}");
  ASSERT_EQ(trace.events.internal_metadata.size(), 1U);
  EXPECT_EQ(trace.strings.text(trace.events.internal_metadata[0]), "mallocWithAddress");
  EXPECT_TRUE(trace.issues.all().empty());
}

}  // namespace
}  // namespace tidegauge::readers::torch
