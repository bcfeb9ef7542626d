#include "report/words/holder_names.h"

#include <gtest/gtest.h>

#include <set>

#include "support/trace_builder.h"

namespace tidegauge::report {
namespace {

using analysis::AnalysedTrace;
using testing::TraceBuilder;

constexpr char kTorch[] = "/x/site-packages/torch/nn/modules/";

// All stacks as groups, in the order in which they were added.
std::vector<HolderName> namesOf(TraceBuilder& b) {
  AnalysedTrace analysed(b.build());
  std::vector<analysis::StackGroup> groups(analysed.trace.stacks.size());
  for (uint32_t s = 0; s < groups.size(); ++s) groups[s].stack = model::StackId(s);
  std::vector<HolderName> names = holderNames(analysed, groups, 100);
  std::set<std::pair<std::string, std::string>> seen;
  for (const HolderName& name : names) {
    EXPECT_TRUE(seen.emplace(name.label, name.caller).second) << name.label << name.caller;
  }
  return names;
}

TEST(HolderNames, SayTheCallerIfThatDistinguishesRows) {
  TraceBuilder b;
  b.stack({"forward@model.py:8", "main@train.py:2"}).alloc(0x1000, 512);
  b.stack({"forward@model.py:8", "test@train.py:9"}).alloc(0x2000, 512);
  std::vector<HolderName> names = namesOf(b);
  EXPECT_EQ(names[0].caller, "train.py:2 main");
  EXPECT_EQ(names[1].caller, "train.py:9 test");
}

TEST(HolderNames, SayTheFirstFrameThatDiffers) {
  TraceBuilder b;
  std::string torch = kTorch;
  b.stack({"forward@" + torch + "linear.py:1", "forward@model.py:8", "main@train.py:2"});
  b.alloc(0x1000, 512);
  b.stack({"forward@" + torch + "conv.py:7", "forward@model.py:8", "main@train.py:2"});
  b.alloc(0x2000, 512);
  b.stack({"forward@model.py:8", "main@train.py:2"}).alloc(0x3000, 512);
  std::vector<HolderName> names = namesOf(b);
  EXPECT_EQ(names[0].label, "model.py:8 forward");
  EXPECT_EQ(names[0].caller, "› linear.py:1 forward");
  EXPECT_EQ(names[1].caller, "› conv.py:7 forward");
  EXPECT_EQ(names[2].caller, "train.py:2 main") << "it has no frame of its own";
}

// Above two wrappers, the caller is the same; a list of one row has the same names as a list of
// all.
TEST(HolderNames, AStackHasOneNameInEveryList) {
  TraceBuilder b;
  for (const char* who : {"leak@l.py:8", "other@l.py:9"})
    b.stack({"mine@l.py:4", "grab@l.py:5", who, "main@l.py:12"}).alloc(who[0] * 0x1000, 512);
  AnalysedTrace analysed(b.build());
  model::StackId first(0), second(1);
  EXPECT_EQ(analysed.labels.caller(first), analysed.labels.caller(second));
  EXPECT_EQ(oneName(analysed, first), "l.py:4 mine ‹ l.py:8 leak");
  EXPECT_EQ(oneName(holderNames(analysed, {{.stack = first}}, 1)[0]), oneName(analysed, first));
  EXPECT_EQ(oneName(holderNames(analysed, {{.stack = second}}, 1)[0]),
            "l.py:4 mine ‹ l.py:9 other");
}

// The caller that distinguishes two rows may be the caller of a third.
TEST(HolderNames, NoTwoRowsReadTheSame) {
  TraceBuilder b;
  b.stack({"get@a.py:1", "init@b.py:2", "one@c.py:3"}).alloc(0x1000, 512);
  b.stack({"get@a.py:1", "init@b.py:2", "two@c.py:4"}).alloc(0x2000, 512);
  b.stack({"get@a.py:1", "one@c.py:3"}).alloc(0x3000, 512);
  namesOf(b);
}

TEST(HolderNames, WithoutAStackSayWhatIsOlder) {
  EXPECT_EQ(withoutStack(0, 512), "no stack recorded");
  EXPECT_EQ(withoutStack(512, 512), "older than the recording, no stack");
  EXPECT_EQ(withoutStack(512, 1024), "no stack recorded, 512 B of it older than the recording");
  TraceBuilder b;
  b.stack({"get@a.py:1"}).alloc(0x1000, 512);
  AnalysedTrace analysed(b.build());
  std::vector<HolderName> names =
      holderNames(analysed, {{.stack = {}, .block_bytes = 512, .older_bytes = 512}}, 1);
  EXPECT_EQ(oneName(names[0]), "older than the recording, no stack");
}

TEST(HolderNames, OfEqualFramesInAnotherNumberSayTheStack) {
  TraceBuilder b;
  std::string apply = std::string("_apply@") + kTorch + "module.py:9";
  b.stack({apply, "model@a.py:5", "main@a.py:1"}).alloc(0x1000, 512);
  b.stack({apply, apply, "model@a.py:5", "main@a.py:1"}).alloc(0x2000, 512);
  std::vector<HolderName> names = namesOf(b);
  EXPECT_EQ(names[0].caller, "a.py:1 main (stack 0)");
  EXPECT_EQ(names[1].caller, "a.py:1 main (stack 1)");
}

}  // namespace
}  // namespace tidegauge::report
