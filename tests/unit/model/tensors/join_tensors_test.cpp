#include "model/tensors/join_tensors.h"

#include <gtest/gtest.h>

#include "model/tensors/tensors.h"
#include "support/trace_builder.h"

namespace tidegauge::model {
namespace {

using testing::TraceBuilder;

// The address and birth of the block that a tensor names; nothing if there is none.
std::optional<std::pair<uint64_t, Step>> blockOf(const Trace& trace, uint32_t row) {
  AllocationId id = trace.tensors->allocation[row];
  if (!id.valid()) return std::nullopt;
  return std::pair(trace.allocations.address[id.index()], trace.allocations.first_step[id.index()]);
}
using Block = std::pair<uint64_t, Step>;

// Steps 0 to 3 at times 10 to 13: one address, two lives.
TraceBuilder twoLives() {
  TraceBuilder b;
  b.time(10).alloc(0x1000, 512).free(0x1000, 512).alloc(0x1000, 512);
  b.finalSegment(0x1000, 2 << 20).block(512, BlockState::kActiveAllocated, 512);
  b.block((2 << 20) - 512, BlockState::kInactive);
  return b;
}
constexpr TensorKind kWeight = TensorKind::kParameter;

TEST(JoinTensors, TheTimeOfTheNameChoosesTheLife) {
  Trace trace = twoLives()
                    .tensor(0x1000, "w", kWeight, 10)
                    .tensor(0x1000, "w", kWeight, 11)  // freed, but not yet reusable
                    .tensor(0x1000, "w", kWeight, 12)  // reusable: nobody's
                    .tensor(0x1000, "w", kWeight, 13)
                    .tensor(0x1000, "w", kWeight, 99)  // after the last event: the end
                    .tensor(0x1000, "w", kWeight)      // no time: the end
                    .tensor(0x1000, "w", kWeight, 9)   // before anything
                    .build();
  EXPECT_EQ(blockOf(trace, 0), Block(0x1000, 0));
  EXPECT_EQ(blockOf(trace, 1), Block(0x1000, 0));
  EXPECT_EQ(blockOf(trace, 2), std::nullopt);
  EXPECT_EQ(blockOf(trace, 3), Block(0x1000, 3));
  EXPECT_EQ(blockOf(trace, 4), Block(0x1000, 3));
  EXPECT_EQ(blockOf(trace, 5), Block(0x1000, 3));
  EXPECT_EQ(blockOf(trace, 6), std::nullopt);
  EXPECT_EQ(trace.issues.count(IssueKind::kTensorWithoutBlock), 2u);
}

TEST(JoinTensors, ATensorMayBeginInsideItsBlock) {
  Trace trace =
      twoLives().tensor(0x1000 + 511, "w").tensor(0x1000 + 512, "w").tensor(0xfff, "w").build();
  EXPECT_EQ(blockOf(trace, 0), Block(0x1000, 3));
  EXPECT_EQ(blockOf(trace, 1), std::nullopt);
  EXPECT_EQ(blockOf(trace, 2), std::nullopt);
}

// A ring buffer has lost what happened before: the named block may have gone, and another may have
// taken its place.
TEST(JoinTensors, BeforeTheFirstEventNothingIsKnown) {
  TraceBuilder b;
  b.time(10).alloc(0x1000, 512).free(0x3000, 512);
  b.finalSegment(0x1000, 0x10000).block(512, BlockState::kActiveAllocated, 512);
  b.block(512, BlockState::kActiveAllocated, 512).block(0x10000 - 1024, BlockState::kInactive);
  b.tensor(0x1000, "born at step 0", kWeight, 5);
  b.tensor(0x1200, "in the final state only", kWeight, 5);
  b.tensor(0x3000, "freed in the trace", kWeight, 5);
  b.tensor(0x1200, "named again", kWeight, 10);
  b.tensor(0x3000, "still there", kWeight, 11);
  b.tensor(0x3000, "and gone", kWeight, 50);
  Trace trace = b.build();
  for (uint32_t row : {0, 1, 2, 5}) EXPECT_EQ(blockOf(trace, row), std::nullopt) << row;
  EXPECT_EQ(blockOf(trace, 3), Block(0x1200, 0));
  EXPECT_EQ(blockOf(trace, 4), Block(0x3000, 0));
}

TEST(JoinTensors, AFileOfTheFinalStateAloneHasNames) {
  TraceBuilder b;
  b.finalSegment(0x1000, 1024).block(1024, BlockState::kActiveAllocated, 1000);
  b.tensor(0x1000, "w", kWeight, 7).device(4).tensor(0x1000, "of an unknown device");
  Trace trace = b.build();
  EXPECT_EQ(blockOf(trace, 0), Block(0x1000, 0));
  EXPECT_EQ(blockOf(trace, 1), std::nullopt);
}

TEST(JoinTensors, ABlockIsCalledByItsParameter) {
  Trace trace = twoLives()
                    .tensor(0x1000, "other", TensorKind::kOther)
                    .tensor(0x1080, "first", TensorKind::kParameter)
                    .tensor(0x1000, "second", TensorKind::kParameter)
                    .tensor(0x1000, "grad", TensorKind::kGradient)
                    .build();
  AllocationId block = trace.tensors->allocation[0];
  std::span<const uint32_t> all = tensorsOf(trace, block);
  EXPECT_EQ(std::vector<uint32_t>(all.begin(), all.end()), (std::vector<uint32_t>{1, 2, 3, 0}));
  EXPECT_EQ(mainTensor(trace, block), 1u);
  EXPECT_EQ(mainTensor(trace, AllocationId(0)), std::nullopt);
}

TEST(JoinTensors, ATensorThatIsNamedAgainIsThereOnce) {
  Trace trace = twoLives()
                    .tensor(0x1000, "w", kWeight, 10)  // of the first life
                    .tensor(0x1000, "w", kWeight, 13)
                    .tensor(0x1000, "w", kWeight, 99)
                    .tensor(0x1000, "w", TensorKind::kOther, 99)
                    .tensor(0x1080, "w", kWeight, 99)
                    .build();
  EXPECT_EQ(trace.tensors->size(), 5u);
  EXPECT_EQ(trace.tensors->by_allocation, (std::vector<uint32_t>{0, 1, 4, 3}));
}

TEST(JoinTensors, ATraceWithoutNamesHasNone) {
  Trace trace = twoLives().build();
  EXPECT_EQ(trace.tensors, nullptr);
  EXPECT_TRUE(tensorsOf(trace, AllocationId(0)).empty());
}

}  // namespace
}  // namespace tidegauge::model
