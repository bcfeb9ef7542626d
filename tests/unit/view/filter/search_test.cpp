#include "view/filter/search.h"

#include <gtest/gtest.h>

#include "support/trace_builder.h"
#include "view/filter/search_words.h"

namespace tidegauge::view {
namespace {

using analysis::AnalysedTrace;
using Rows = std::vector<uint32_t>;

AnalysedTrace fourBlocks() {
  testing::TraceBuilder b;
  b.time(100);
  b.stack({"Linear.forward@torch/nn/linear.py:114", "step@train.py:63"})
      .alloc(0x7f0000001000, 1000);
  b.stack({"loss@Loss.py:9", "step@train.py:64"}).alloc(0x7f0000002000, 5 << 20);
  b.noStack().alloc(0x7f0000900000, 700 << 20);
  b.event(model::Action::kFree, 0x7f0000001000, 1000);
  b.stack({"loss@Loss.py:9", "step@train.py:64"}).alloc(0x7f0000001000, 2000);
  b.annotation("Optimizer.step#Adam", 100, 102).annotation("forward", 103, 104);
  return AnalysedTrace(b.build());
}

Rows find(const AnalysedTrace& trace, std::string_view query) {
  return search(trace, trace.trace.devices[0], query).rows;
}

TEST(Search, FindsFunctionsAndFilesInAnyCase) {
  AnalysedTrace trace = fourBlocks();
  EXPECT_EQ(find(trace, "linear"), (Rows{0}));
  EXPECT_EQ(find(trace, "LOSS.PY"), (Rows{1, 3}));
  EXPECT_EQ(find(trace, "step"), (Rows{0, 1, 3}));
  EXPECT_EQ(find(trace, "nowhere"), Rows{});
}

TEST(Search, FindsNamesOfTensors) {
  testing::TraceBuilder b;
  b.stack({"loss@loss.py:9"}).alloc(0x1000, 512).alloc(0x2000, 512).alloc(0x3000, 512);
  b.tensor(0x3000, "layers.0.Q_proj.weight").tensor(0x1000, "layers.0.q_proj.bias");
  AnalysedTrace trace(b.build());
  EXPECT_EQ(find(trace, "q_proj"), (Rows{0, 2}));
  EXPECT_EQ(find(trace, "q_proj bias"), (Rows{0}));
  EXPECT_EQ(find(trace, "q_proj =512"), (Rows{0, 2}));
}

TEST(Search, AllWordsMustMatch) {
  AnalysedTrace trace = fourBlocks();
  EXPECT_EQ(find(trace, "step loss"), (Rows{1, 3}));
  EXPECT_EQ(find(trace, "step >1MiB"), (Rows{1}));
  EXPECT_EQ(find(trace, "linear loss"), Rows{});
  EXPECT_EQ(find(trace, "  "), Rows{});
}

TEST(Search, FindsAFrameByItsLine) {
  AnalysedTrace trace = fourBlocks();
  EXPECT_EQ(find(trace, "train.py:63"), (Rows{0}));
  EXPECT_EQ(find(trace, "train.py:6"), Rows{});
}

TEST(Search, FindsSizes) {
  AnalysedTrace trace = fourBlocks();
  EXPECT_EQ(find(trace, ">512MiB"), (Rows{2}));
  EXPECT_EQ(find(trace, "<=1KiB"), (Rows{0}));
  EXPECT_EQ(find(trace, "=1000"), (Rows{0})) << "as requested";
  EXPECT_EQ(find(trace, "=1024"), (Rows{0})) << "as set aside";
  EXPECT_EQ(find(trace, "=5MiB"), (Rows{1}));
  EXPECT_EQ(find(trace, "<0"), Rows{});
}

TEST(Search, FindsAddresses) {
  AnalysedTrace trace = fourBlocks();
  EXPECT_EQ(find(trace, "b7f0000001000_1"), (Rows{3}));
  EXPECT_EQ(find(trace, "b7f0000001000_0"), (Rows{0}));
  EXPECT_EQ(find(trace, "0x7f0000001000"), (Rows{0, 3}));
  EXPECT_EQ(find(trace, "7f0000001008"), (Rows{0, 3})) << "inside the block";
  EXPECT_EQ(search(trace, trace.trace.devices[0], "0x7F0000001000").address, 0x7f0000001000u);
}

TEST(Search, GroupsByStackLargestFirst) {
  AnalysedTrace trace = fourBlocks();
  SearchResult found = search(trace, trace.trace.devices[0], "step");
  ASSERT_EQ(found.stacks.size(), 2u);
  EXPECT_EQ(found.stacks[0].count, 2u);
  EXPECT_EQ(found.stacks[0].first_row, 1u);
  EXPECT_EQ(found.stacks[0].bytes + found.stacks[1].bytes, found.bytes);
  EXPECT_EQ(found.annotations, (Rows{0}));
}

TEST(SearchWords, DistinguishSizesAddressesAndText) {
  std::vector<SearchWord> words = searchWords(">=1.5GiB b7f0586000000_3 face conv2d a:12 0x10");
  ASSERT_EQ(words.size(), 6u);
  ASSERT_TRUE(words[0].size);
  EXPECT_EQ(words[0].size->least_bytes, uint64_t{3} << 29);
  ASSERT_TRUE(words[1].address);
  EXPECT_EQ(words[1].address->version, 3u);
  EXPECT_FALSE(words[2].address) << "too short to be an address";
  EXPECT_FALSE(words[3].address);
  EXPECT_EQ(words[4].file, "a");
  EXPECT_EQ(words[4].line, 12u);
  EXPECT_EQ(words[5].address->address, 16u);
}

TEST(SearchWords, AreFewAndBounded) {
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "x ";
  EXPECT_EQ(searchWords(many).size(), kMaxWords);
  for (const char* odd : {">", "=MiB", ">1e400", ">-5", "<nanGiB", ">1XB", ":5", "0x", "b_1"}) {
    std::vector<SearchWord> words = searchWords(odd);
    ASSERT_EQ(words.size(), 1u);
    EXPECT_FALSE(words[0].size) << odd;
  }
}

TEST(Search, ReturnsThePositionOfTheWord) {
  EXPECT_EQ(matchIn("loss.py:9 Loss", {"9 l"}), (std::pair<size_t, size_t>{8, 11}));
  EXPECT_EQ(matchIn("loss.py:9 Loss", {"x"}), (std::pair<size_t, size_t>{0, 0}));
}

}  // namespace
}  // namespace tidegauge::view
