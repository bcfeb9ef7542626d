// Advice with a size: factors with known answers, and one of a real allocator's recording.
#include "analysis/what_if/fit_factor.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "analysis/what_if/proven_program.h"
#include "analysis/what_if/scaling.h"
#include "analysis/what_if/what_if_runs.h"
#include "readers/torch/unpack/open_snapshots.h"
#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

constexpr uint64_t kPlace = uint64_t{1} << 40;
using Stack = std::vector<std::string>;
const Stack kParameters{"reset_parameters@torch/nn/modules/linear.py:9"};
const Stack kForward{"forward@model.py:5"};
const Stack kOther{"work@train.py:7"};

// Each allocation has a segment of its own.
class Writer {
 public:
  Writer& alloc(const Stack& stack, uint64_t mib) {
    b_.stack(stack);
    b_.segmentAlloc(end_, mib * kMiB).alloc(end_, mib * kMiB);
    end_ += mib * kMiB;
    return *this;
  }
  Writer& use(const Stack& stack, uint64_t mib) {  // and free it
    uint64_t at = end_;
    alloc(stack, mib);
    b_.free(at, mib * kMiB);
    b_.segmentFree(at, mib * kMiB);
    return *this;
  }
  Writer& oom(const Stack& stack, uint64_t free_mib, uint64_t mib) {
    b_.stack(stack);
    b_.oom(free_mib * kMiB, mib * kMiB);
    return *this;
  }
  std::optional<FitFactor> fit() {
    AnalysedTrace analysed(b_.build());
    return fitFactorOf(ProvenProgram(analysed, *analysed.devices.front()));
  }

 private:
  testing::TraceBuilder b_;
  uint64_t end_ = kPlace;
};

// 400 + 3 · 200 of 900 MiB. Segments are multiples of 2 MiB: 3 · 166 fit into 500, 3 · 168 do not.
TEST(FitFactor, IsTheLargestShareThatFits) {
  auto fit = Writer()
                 .alloc(kParameters, 400)
                 .alloc(kForward, 200)
                 .alloc(kForward, 200)
                 .oom(kForward, 100, 200)
                 .fit();
  ASSERT_TRUE(fit);
  EXPECT_TRUE(fit->is_proven);
  EXPECT_EQ(fit->factor, 0.83);
  EXPECT_EQ(fit->batch, 26U);  // 26 of 32 are 0.8125: 3 · 164 MiB; 27 are 3 · 170
  EXPECT_EQ(fit->step, 6U);
  EXPECT_EQ(fit->request_bytes, 200 * kMiB);
  EXPECT_EQ(fit->scaling_bytes, 400 * kMiB);
  EXPECT_EQ(fit->constant_bytes, 400 * kMiB);
  EXPECT_EQ(fit->parameter_bytes, 400 * kMiB);
  EXPECT_EQ(fit->available_bytes, 900 * kMiB);
  EXPECT_EQ(fit->peak_reserved_bytes, 898 * kMiB);
  EXPECT_LE(fit->replays, 16U);
}

// A batch may lie between two percent: 0.84375 of 3 · 200 are 3 · 168.75, which take 3 · 170 MiB.
TEST(FitFactor, ABatchMayBeLargerThanItsPercent) {
  auto fit = Writer()
                 .alloc(kParameters, 400)
                 .alloc(kForward, 200)
                 .alloc(kForward, 200)
                 .oom(kForward, 110, 200)
                 .fit();
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->factor, 0.85);  // 3 · 170 of 510
  EXPECT_EQ(fit->batch, 27U);
}

TEST(FitFactor, WhatStaysConstantIsSaid) {
  auto fit = Writer()
                 .use(kOther, 40)
                 .alloc(kParameters, 100)
                 .alloc(kOther, 100)               // the size of a parameter: a gradient
                 .alloc({"cache@serve.py:3"}, 60)  // never freed, like all of its stack
                 .alloc(kOther, 80)
                 .oom(kOther, 40, 80)
                 .fit();
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->parameter_bytes, 100 * kMiB);
  EXPECT_EQ(fit->gradient_bytes, 100 * kMiB);
  EXPECT_EQ(fit->never_freed_bytes, 60 * kMiB);
  EXPECT_EQ(fit->constant_bytes, 260 * kMiB);
  EXPECT_EQ(fit->scaling_bytes, 80 * kMiB);
  EXPECT_EQ(fit->factor, 0.75);  // 2 · 60 of 120
  EXPECT_EQ(fit->batch, 24U);
}

TEST(FitFactor, NoShareHelpsIfTheRestIsTooMuch) {
  auto fit = Writer().alloc(kForward, 30).alloc(kParameters, 500).oom(kParameters, 100, 200).fit();
  ASSERT_TRUE(fit);
  EXPECT_TRUE(fit->is_proven);
  EXPECT_FALSE(fit->request_scales);
  EXPECT_FALSE(fit->factor);
  EXPECT_EQ(fit->batch, 0U);
}

TEST(FitFactor, NothingIsSaidWithoutAFailureOrAProof) {
  EXPECT_FALSE(Writer().alloc(kForward, 30).fit());
  testing::TraceBuilder b;  // a request of 5 MiB never gets a segment of 7 MiB
  b.stack(kForward);
  for (uint64_t i = 0; i < 8; ++i)
    b.segmentAlloc(kPlace + i * 7 * kMiB, 7 * kMiB).alloc(kPlace + i * 7 * kMiB, 5 * kMiB);
  b.oom(2 * kMiB, 5 * kMiB);
  AnalysedTrace analysed(b.build());
  auto fit = fitFactorOf(ProvenProgram(analysed, *analysed.devices.front()));
  ASSERT_TRUE(fit);
  EXPECT_FALSE(fit->is_proven);
  EXPECT_FALSE(fit->factor);
}

// Against a search that tries every percent, with its own scaling.
TEST(FitFactor, OfARealRecordingEqualsTheSlowSearch) {
  const char* source = std::getenv("TIDEGAUGE_SOURCE_DIR");
  ASSERT_NE(source, nullptr);
  auto opened = readers::torch::openSnapshots(std::string(source) + "/examples/oom.pickle.zst", {});
  ASSERT_TRUE(opened.ok());
  AnalysedTrace analysed(std::move(opened.value().front()));
  const DeviceAnalysis& device = *analysed.devices.front();
  ProvenProgram proven(analysed, device);
  auto fit = fitFactorOf(proven);
  ASSERT_TRUE(fit);
  ASSERT_TRUE(fit->is_proven);
  ASSERT_TRUE(fit->factor);
  std::vector<Scaling> scaling = scalingOf(analysed, device);
  auto failsAt = [&](uint64_t percent) {
    replay::Program program = proven.program();
    for (replay::Request& it : program.requests)
      if (it.op == replay::Op::kMalloc && (it.failed || scaling[it.name] == Scaling::kScales))
        it.bytes = (it.bytes * percent + 99) / 100;
    return Runs(proven.tape(), program, proven.report(), 0).one("", proven.settings()).mostOoms() >
           0;
  };
  uint64_t most = 99;
  while (most > 0 && failsAt(most)) --most;
  EXPECT_EQ(*fit->factor, static_cast<double>(most) / 100);
  EXPECT_GT(fit->batch, 0U);
  EXPECT_LT(fit->batch, FitFactor::kBatchOf);
}

}  // namespace
}  // namespace tidegauge::analysis
