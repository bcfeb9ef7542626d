// A recorded program with some of its requests changed.
#include "analysis/program_edit.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "readers/torch/open_snapshots.h"
#include "replay/verify.h"
#include "replay/what_if.h"

namespace tidegauge::analysis {
namespace {

class ProgramEditTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* source = std::getenv("TIDEGAUGE_SOURCE_DIR");
    ASSERT_NE(source, nullptr);
    auto opened =
        readers::torch::openSnapshots(std::string(source) + "/examples/oom.pickle.zst", {});
    ASSERT_TRUE(opened.ok());
    analysed_ = std::make_unique<AnalysedTrace>(std::move(opened.value().front()));
    device_ = analysed_->devices.front().get();
    const model::Trace& trace = analysed_->trace;
    program_ = replay::verify(trace, device_->device, {replay::settingsOf(trace), {}}).program;
  }
  base::Result<EditedProgram> changed(ProgramEdit edit) {
    return edited(*analysed_, *device_, program_, edit);
  }
  static uint64_t bytesOf(const replay::Program& program) {
    uint64_t bytes = 0;
    for (const replay::Request& it : program.requests)
      if (it.op == replay::Op::kMalloc) bytes += it.bytes;
    return bytes;
  }

  std::unique_ptr<AnalysedTrace> analysed_;
  const DeviceAnalysis* device_ = nullptr;
  replay::Program program_;
};

TEST_F(ProgramEditTest, WhatIsDroppedIsNeverAskedForNorGivenBack) {
  auto edit = changed({ProgramEdit::What::kDrop, "linear.py", 0});
  ASSERT_TRUE(edit.ok());
  EXPECT_GT(edit.value().requests, 0U);
  EXPECT_EQ(bytesOf(program_) - bytesOf(edit.value().program), edit.value().bytes);
  std::set<uint32_t> asked, given_back;
  for (const replay::Request& it : edit.value().program.requests) {
    if (it.op == replay::Op::kMalloc) asked.insert(it.name);
    if (it.op == replay::Op::kFree) given_back.insert(it.name);
  }
  EXPECT_TRUE(std::ranges::includes(asked, given_back));
}

TEST_F(ProgramEditTest, HalfOfItIsHalf) {
  auto edit = changed({ProgramEdit::What::kHalve, "/linear.py|layer_norm/", 0});
  ASSERT_TRUE(edit.ok());
  EXPECT_EQ(edit.value().program.requests.size(), program_.requests.size());
  EXPECT_NEAR(static_cast<double>(bytesOf(program_) - bytesOf(edit.value().program)),
              static_cast<double>(edit.value().bytes) / 2,
              static_cast<double>(edit.value().requests));
}

TEST_F(ProgramEditTest, AnEmptyCacheComesBeforeItsStep) {
  auto edit = changed({ProgramEdit::What::kEmptyCache, "", 9000});
  ASSERT_TRUE(edit.ok());
  const auto& requests = edit.value().program.requests;
  ASSERT_EQ(requests.size(), program_.requests.size() + 1);
  for (size_t i = 0; i < program_.requests.size(); ++i) {
    if (requests[i].step < 9000) continue;
    EXPECT_EQ(requests[i].op, replay::Op::kEmptyCache);
    EXPECT_LT(i == 0 ? 0 : requests[i - 1].step, 9000U);
    break;
  }
}

TEST_F(ProgramEditTest, WhatChangesNothingIsAnError) {
  for (const char* pattern : {"nosuch.py", "/(/", ""}) {
    auto edit = changed({ProgramEdit::What::kDrop, pattern, 0});
    EXPECT_TRUE(!edit.ok() || *pattern == '\0') << pattern;
  }
  EXPECT_FALSE(changed({ProgramEdit::What::kEmptyCache, "", device_->device.steps()}).ok());
}

TEST_F(ProgramEditTest, LessIsAskedSoLessIsReserved) {
  auto edit = changed({ProgramEdit::What::kHalve, "/./", 0});
  ASSERT_TRUE(edit.ok());
  replay::Tape tape(analysed_->trace, device_->device);
  auto peakOf = [&](const replay::Program& program) {
    return replay::whatIf(tape, program, {}).stats[replay::Quantity::kActiveBytes].all.peak;
  };
  EXPECT_LT(peakOf(edit.value().program), peakOf(program_) * 2 / 3);
}

}  // namespace
}  // namespace tidegauge::analysis
