// Recordings with changed rows: never a crash, and no impossible figure. The target
// recording_rows_fuzz does the same for longer.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "analysis/trace/whole_recording.h"
#include "model/incomplete.h"
#include "model/ledger/contexts.h"
#include "model/recorded_work.h"
#include "readers/recording/follow_recording.h"
#include "readers/recording/open_recording.h"
#include "support/any_call.h"
#include "support/spoil.h"
#include "support/worked_recording.h"

namespace tidegauge::readers::recording {
namespace {

constexpr uint64_t kMaxSum = uint64_t{1} << 62;
constexpr int kFiles = 300;

// All sums are valid: nothing is below 0 or beyond 64 bits.
void expectSums(const model::Trace& trace) {
  const model::RecordedWork& work = *trace.work;
  for (uint64_t bytes : work.held.bytes) EXPECT_LE(bytes, kMaxSum);
  for (uint64_t count : work.held.count) EXPECT_LE(count, 1'000'000U);
  int64_t launches = 0, copied = 0;
  for (int64_t count : work.launches.count)
    EXPECT_FALSE(__builtin_add_overflow(launches, count, &launches));
  for (int64_t bytes : work.copies.size_bytes)
    EXPECT_FALSE(__builtin_add_overflow(copied, bytes, &copied));
  for (const auto& device : trace.devices) EXPECT_LT(device.ordinal, 1024);
}

void expectWhole(std::vector<model::Trace> traces) {
  std::vector<std::unique_ptr<analysis::AnalysedTrace>> analysed;
  std::vector<const analysis::AnalysedTrace*> all;
  for (model::Trace& trace : traces) {
    analysed.push_back(std::make_unique<analysis::AnalysedTrace>(std::move(trace)));
    all.push_back(analysed.back().get());
  }
  analysis::WholeRecording whole = analysis::wholeRecording(all);
  for (const analysis::HeldSum& held : whole.held) EXPECT_LE(held.bytes, kMaxSum);
  for (const analysis::GpuSum& gpu : whole.gpus) EXPECT_LT(gpu.device, model::kMaxDevices);
  for (const analysis::GpuUse& use : whole.gpu_uses) EXPECT_LE(use.used_bytes, kMaxSum);
}

void expectSums(const model::LiveSnapshot& snapshot) {
  for (const model::LiveRow& row : snapshot.processes) {
    EXPECT_LE(row.live_bytes, kMaxSum) << row.process;
    EXPECT_LE(row.peak_bytes, kMaxSum) << row.process;
    EXPECT_LE(row.host_bytes, kMaxSum) << row.process;
    EXPECT_LE(row.launches, kMaxSum) << row.process;
    EXPECT_LE(row.copied_to_device_bytes, kMaxSum) << row.process;
  }
  for (const model::LiveDevice& device : snapshot.devices) EXPECT_LE(device.peak_bytes, kMaxSum);
  for (const model::LiveLoss& loss : snapshot.losses) EXPECT_LE(loss.count, kMaxSum);
}

TEST(SpoiltRecording, IsAnErrorOrFiguresThatCanBe) {
  testing::RecordingFile file;
  addWork(file);
  std::mt19937 calls(7);
  std::vector<model::MemoryCall> some;
  for (int64_t i = 1; i <= 300; ++i) some.push_back(testing::anyCall(calls, i * 1000));
  file.write(some);
  store::RecordingWriter& writer = file.writer();
  for (int32_t device : {0, 1})
    ASSERT_TRUE(writer.addDevice({device, "H100", "GPU-1", uint64_t{80} << 30}).ok());
  for (int64_t time_ns : {1000, 2000}) {
    ASSERT_TRUE(writer.addDeviceMemory({time_ns, 0, {}, 3 << 20}).ok());
    ASSERT_TRUE(writer.addDeviceMemory({time_ns, 0, 41, 2 << 20}).ok());
  }
  for (auto [key, value] :
       {std::pair{"part", "2"}, {"continues", "run.1.tgr"}, {"carried_calls", "9"}})
    ASSERT_TRUE(writer.setMeta(key, value).ok());
  file.finish();
  std::string spoilt = file.folder() + "/spoilt.tgr";
  int opened = 0, followed = 0;
  for (int seed = 0; seed < kFiles; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(static_cast<uint32_t>(seed));
    std::vector<uint8_t> choices(5 + random() % 60);
    for (uint8_t& choice : choices) choice = static_cast<uint8_t>(random());
    std::filesystem::copy_file(file.path(), spoilt,
                               std::filesystem::copy_options::overwrite_existing);
    testing::spoil(spoilt, choices);
    if (auto traces = openRecording(spoilt, {{}, true}); traces.ok()) {
      ++opened;
      for (const model::Trace& trace : traces.value()) expectSums(trace);
      expectWhole(std::move(traces).value());
    }
    RecordingFollower follower(spoilt);
    for (int look = 0; look < 2; ++look) {
      auto now = follower.look({});
      if (!now.ok()) continue;
      ++followed;
      expectSums(now.value());
    }
  }
  EXPECT_GT(opened, kFiles / 2) << "most of them can still be read: else nothing was tried";
  EXPECT_GT(followed, kFiles / 2);
}

// SQLite rounds up, and reads zeros in place of the rest of the page.
TEST(SpoiltRecording, OneThatEndsInsideAPageIsCutShort) {
  testing::RecordingFile file;
  addWork(file);
  file.finish();
  std::string cut = file.folder() + "/cut.tgr";
  std::filesystem::copy_file(file.path(), cut);
  std::filesystem::resize_file(cut, std::filesystem::file_size(cut) - 4096);
  auto whole = openRecording(file.path(), {}), traces = openRecording(cut, {});
  ASSERT_TRUE(whole.ok() && traces.ok());
  EXPECT_FALSE(whole.value().at(0).work->run->is_cut_short);
  EXPECT_TRUE(traces.value().at(0).work->run->is_cut_short);
  EXPECT_EQ(model::gapsOf(*traces.value().at(0).work).figures(), model::FigureSet::all());
}

// The same limits hold for numbers of a GPU as for its memory.
TEST(SpoiltRecording, AGpuBeyondAllNumbersIsABadRow) {
  testing::RecordingFile file;
  addWork(file);
  for (int32_t device : {0, model::kMaxDevices - 1, model::kMaxDevices})
    ASSERT_TRUE(file.writer().addDevice({device, "H100", "GPU-1", 1 << 30}).ok());
  file.finish();
  auto traces = openRecording(file.path(), {});
  ASSERT_TRUE(traces.ok()) << traces.error().what;
  EXPECT_EQ(traces.value().at(0).work->run->devices.device,
            (std::vector<int32_t>{0, model::kMaxDevices - 1}));
  EXPECT_EQ(traces.value().at(0).issues.count(model::IssueKind::kContradictoryRow), 1U);
}

}  // namespace
}  // namespace tidegauge::readers::recording
