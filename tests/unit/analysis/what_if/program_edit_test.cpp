// A recorded program with some of its requests changed.
#include "analysis/what_if/program_edit.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "readers/torch/unpack/open_snapshots.h"
#include "replay/verify.h"
#include "replay/what_if.h"

namespace tidegauge::analysis {
namespace {

class ProgramEditTest : public ::testing::Test {
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

TEST_F(ProgramEditTest, DroppedRequestsAreNeitherAllocatedNorFreed) {
  auto edit = changed({ProgramEdit::What::kDrop, "linear.py"});
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
  auto edit = changed({ProgramEdit::What::kHalve, "/linear.py|layer_norm/"});
  ASSERT_TRUE(edit.ok());
  EXPECT_EQ(edit.value().program.requests.size(), program_.requests.size());
  EXPECT_NEAR(static_cast<double>(bytesOf(program_) - bytesOf(edit.value().program)),
              static_cast<double>(edit.value().bytes) / 2,
              static_cast<double>(edit.value().requests));
}

TEST_F(ProgramEditTest, AnEmptyCacheComesBeforeItsStep) {
  auto edit = changed({ProgramEdit::What::kEmptyCache, "", "9000"});
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
    auto edit = changed({ProgramEdit::What::kDrop, pattern});
    EXPECT_TRUE(!edit.ok() || *pattern == '\0') << pattern;
  }
  std::string end = std::to_string(device_->device.steps());
  for (std::string where : {end, std::string("99999999999999999999"), std::string("nosuch"),
                            std::string("/(/"), std::string("-1")}) {
    EXPECT_FALSE(changed({ProgramEdit::What::kEmptyCache, "", where}).ok()) << where;
    EXPECT_FALSE(changed({ProgramEdit::What::kFreeAt, "linear.py", where}).ok()) << where;
  }
  EXPECT_FALSE(changed({ProgramEdit::What::kFreeAt, "nosuch.py", "9000"}).ok());
  EXPECT_FALSE(changed({ProgramEdit::What::kFreeAt, "linear.py", "0"}).ok());  // nothing lives then
}

TEST_F(ProgramEditTest, AnEmptyCacheComesWheneverAPhaseBegins) {
  std::vector<Step> begins;
  const model::Trace& trace = analysed_->trace;
  for (const Phase& phase : device_->phases)
    if (trace.strings.text(trace.annotations.name[phase.annotation]) ==
            "Optimizer.step#AdamW.step" &&
        phase.begin_step < phase.end_step)
      begins.push_back(phase.begin_step);
  ASSERT_GT(begins.size(), 1U);
  auto edit = changed({ProgramEdit::What::kEmptyCache, "", "AdamW.step"});
  ASSERT_TRUE(edit.ok());
  std::vector<Step> found;
  for (const replay::Request& it : edit.value().program.requests)
    if (it.op == replay::Op::kEmptyCache) found.push_back(it.step);
  EXPECT_EQ(found, begins);
  EXPECT_EQ(edit.value().requests, begins.size());
}

// Blocks live there are freed there, once; earlier frees and other requests are unchanged.
TEST_F(ProgramEditTest, WhatLivesAtAStepIsFreedThere) {
  constexpr Step kWhere = 9000;
  auto edit = changed({ProgramEdit::What::kFreeAt, "linear.py", std::to_string(kWhere)});
  ASSERT_TRUE(edit.ok());
  const model::Trace& trace = analysed_->trace;
  auto isMeant = [&](model::StackId stack) {
    if (!stack.valid()) return false;
    for (size_t i = 0; i < trace.stacks.depth(stack); ++i) {
      model::FrameId frame = trace.stacks.framesOf(stack)[i];
      if (trace.strings.text(trace.frames.file[frame.index()]).ends_with("linear.py")) return true;
    }
    return false;
  };
  std::set<uint32_t> wanted;
  const model::Allocations& all = trace.allocations;
  for (uint64_t row = device_->device.allocation_begin; row < device_->device.allocation_end; ++row)
    if (isMeant(all.stack[row]) && all.first_step[row] < kWhere &&
        std::min(all.free_requested_step[row], all.last_step[row]) >= kWhere)
      wanted.insert(static_cast<uint32_t>(row - device_->device.allocation_begin));
  ASSERT_GT(wanted.size(), 3U);
  std::set<uint32_t> freed_there;
  std::map<uint32_t, int> frees;
  for (const replay::Request& it : edit.value().program.requests) {
    if (it.op != replay::Op::kFree) continue;
    ++frees[it.name];
    if (wanted.contains(it.name)) {
      EXPECT_EQ(it.step, kWhere);
      freed_there.insert(it.name);
    }
  }
  EXPECT_EQ(freed_there, wanted);
  EXPECT_EQ(edit.value().requests, wanted.size());
  for (const auto& [name, count] : frees) EXPECT_EQ(count, 1);
  EXPECT_EQ(bytesOf(edit.value().program), bytesOf(program_));
}

TEST_F(ProgramEditTest, LessIsAskedSoLessIsReserved) {
  auto edit = changed({ProgramEdit::What::kHalve, "/./"});
  ASSERT_TRUE(edit.ok());
  replay::Tape tape(analysed_->trace, device_->device);
  auto peakOf = [&](const replay::Program& program) {
    return replay::whatIf(tape, program, {}).stats[replay::Quantity::kActiveBytes].all.peak;
  };
  EXPECT_LT(peakOf(edit.value().program), peakOf(program_) * 2 / 3);
}

}  // namespace
}  // namespace tidegauge::analysis
