#include "export/recording_report.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "base/text_layout.h"
#include "export/process_table.h"
#include "export/report_json.h"
#include "export/report_text.h"
#include "readers/recording/open_recording.h"
#include "support/trace_builder.h"
#include "support/worked_recording.h"

namespace tidegauge::exporting {
namespace {

using analysis::AnalysedTrace;
using model::MemoryKind;
using nlohmann::json;
using testing::CallStream;
using testing::RecordingFile;

constexpr uint64_t kMiB = uint64_t{1} << 20;

std::vector<std::unique_ptr<AnalysedTrace>> opened(const RecordingFile& file) {
  std::vector<std::unique_ptr<AnalysedTrace>> all;
  auto traces = readers::recording::openRecording(file.path(), {});
  EXPECT_TRUE(traces.ok()) << traces.error().what;
  for (model::Trace& trace : traces.value())
    all.push_back(std::make_unique<AnalysedTrace>(std::move(trace)));
  return all;
}

// pid 41: works, is refused three times, and holds what it took.
void addEverything(RecordingFile& file) {
  addWork(file);
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0, 90 * kMiB).device(0).stack(7).code(2);
  calls.allocate(MemoryKind::kDevice, 0, 95 * kMiB).device(0).stack(8).code(2);
  calls.free(MemoryKind::kDevice, 0x666).stack(9).code(1);
  calls.allocate(MemoryKind::kPinnedHost, 0x900000, kMiB).stack(4);
  file.write(calls.all());
}

std::string textOf(const AnalysedTrace& analysed, size_t columns = 100) {
  TextOptions options;
  options.columns = columns;
  options.evidence = false;
  return reportText(analysed, options);
}

TEST(RecordingReport, SaysHowAProcessEnded) {
  EXPECT_EQ(endingText(0), "it ended well, exit status 0");
  EXPECT_EQ(endingText(3 << 8), "it ended with exit status 3");
  EXPECT_EQ(endingText(9), "it was killed by SIGKILL (9)");
  EXPECT_EQ(endingText(11 | 128), "it was killed by SIGSEGV (11)");
  EXPECT_EQ(endingText(63), "it was killed by signal 63");
}

TEST(RecordingReport, TellsWhatWasRefusedHeldLaunchedAndCopied) {
  RecordingFile file;
  addEverything(file);
  auto traces = opened(file);
  json report = recordingJson(*traces[0]);
  EXPECT_EQ(report["process"]["pid"], 41);
  EXPECT_EQ(report["process"]["ending"], "it was still running");
  EXPECT_EQ(report["held_at_end"]["device_bytes"], kMiB);
  EXPECT_EQ(report["held_at_end"]["host_bytes"], kMiB);
  EXPECT_EQ(report["held_at_end"]["rows"][0]["label"], "model.py:3 f3");
  EXPECT_EQ(report["refused"]["calls"], 3);
  EXPECT_EQ(report["refused"]["first_bytes"], 90 * kMiB);
  EXPECT_EQ(report["refused"]["first_label"], "model.py:7 f7");
  EXPECT_EQ(report["refused"]["rows"][0]["meaning"], "out of memory");
  EXPECT_EQ(report["refused"]["rows"][0]["times"], 2);
  EXPECT_EQ(report["refused"]["rows"][1]["code"], 1);
  EXPECT_EQ(report["kernels"]["launches"], 1003);
  EXPECT_EQ(report["kernels"]["rows"][0]["name"], "sgemm");
  EXPECT_EQ(report["kernels"]["rows"][0]["launches"], 900);
  EXPECT_EQ(report["kernels"]["rows"][0]["grid_x"], 64);
  EXPECT_EQ(report["copies"]["rows"][0]["bytes_per_second"], uint64_t{2} << 30);
  std::string text = textOf(*traces[0]);
  for (const char* words :
       {"Process 41 python", "3 calls were refused; the first", "2 out of memory",
        "1,003 launches of 2 kernels", "device to host, submitted", "2.00 GiB"})
    EXPECT_NE(text.find(words), std::string::npos) << words << " in\n" << text;
  for (size_t columns : {60U, 80U, 100U}) {
    std::string page = textOf(*traces[0], columns);
    for (size_t at = 0, end; (end = page.find('\n', at)) != std::string::npos; at = end + 1)
      EXPECT_LE(base::displayWidth(page.substr(at, end - at)), columns)
          << page.substr(at, end - at);
  }
}

TEST(RecordingReport, OfASnapshotSaysNothing) {
  testing::TraceBuilder b;
  b.alloc(0x7f0000000000, 512);
  AnalysedTrace analysed(b.build());
  EXPECT_TRUE(recordingSections(analysed, 10).empty());
  EXPECT_TRUE(reportJson(analysed)["recording"].is_null());
}

TEST(RecordingReport, ProcessesComeBiggestFirstAndTheRestIsSummed) {
  RecordingFile file;
  addEverything(file);
  auto traces = opened(file);
  std::vector<const AnalysedTrace*> all;
  for (const auto& trace : traces) all.push_back(trace.get());
  std::string text = processesText(all, 20, 100, false);
  EXPECT_EQ(text.find("3 processes"), 0U);
  EXPECT_LT(text.find("42 python"), text.find("41 python")) << text;
  EXPECT_NE(text.find("43 it's, exit 1"), std::string::npos) << text;
  std::string cut = processesText(all, 1, 100, false);
  EXPECT_NE(cut.find("2 more"), std::string::npos) << cut;
  EXPECT_EQ(cut.find("41 python"), std::string::npos) << cut;
}

void collectKeys(const json& value, const std::string& path, std::set<std::string>& keys) {
  if (value.is_array()) {
    for (const json& item : value) collectKeys(item, path + "[]", keys);
  } else if (value.is_object()) {
    for (const auto& [key, item] : value.items()) {
      keys.insert(path + "." + key);
      collectKeys(item, path + "." + key, keys);
    }
  }
}

// Where a free may have been missed nothing is "at least": what is held may be less, too.
TEST(RecordingReport, MarksSayWhichWayAFigureMayBeWrong) {
  auto told = [](const auto& add) {
    RecordingFile file;
    CallStream calls;
    calls.allocate(MemoryKind::kDevice, 0x1000000, 3 * kMiB).device(0).stack(7);
    file.write(calls.all());
    add(file.writer());
    file.finish();
    auto traces = opened(file);
    return processesText({traces.at(0).get()}, 20, 100, false) + textOf(*traces.at(0));
  };
  std::string whole = told([](store::RecordingWriter&) {});
  EXPECT_EQ(whole.find("≥"), std::string::npos) << whole;
  EXPECT_EQ(whole.find("~"), std::string::npos) << whole;
  EXPECT_NE(whole.find(" 3.0 MiB of device memory in 1"), std::string::npos) << whole;
  std::string lost = told([](store::RecordingWriter& writer) {
    EXPECT_TRUE(writer.addLoss(5, "memory ring full", 3).ok());
    EXPECT_TRUE(writer.addLoss(5, "no room for a launch", 3).ok());
  });
  EXPECT_NE(lost.find("~ 3.0 MiB"), std::string::npos) << lost;
  EXPECT_NE(lost.find("≥ 0"), std::string::npos) << lost;
  EXPECT_NE(lost.find("~: incomplete"), std::string::npos) << lost;
  EXPECT_EQ(lost.find("At least 3.0 MiB"), std::string::npos) << lost;
  EXPECT_NE(lost.find(" 3.0 MiB of device memory in 1"), std::string::npos) << lost;
  std::string late = told([](store::RecordingWriter& writer) {
    model::Unwatched before;
    before.end_ns = 5;
    before.figures = {model::Figures::kMemory};
    before.reason = "it ran before it was watched";
    EXPECT_TRUE(writer.addUnwatched(before, 0).ok());
  });
  EXPECT_NE(late.find("≥ 3.0 MiB"), std::string::npos) << late;
  EXPECT_NE(late.find("At least 3.0 MiB of device memory"), std::string::npos) << late;
}

TEST(RecordingReport, TheDocumentNamesEveryKey) {
  const char* source = std::getenv("TIDEGAUGE_SOURCE_DIR");
  if (source == nullptr) GTEST_SKIP() << "TIDEGAUGE_SOURCE_DIR is not set; ctest sets it";
  std::ifstream document(std::string(source) + "/docs/json-recording.md");
  ASSERT_TRUE(document.is_open());
  std::set<std::string> documented;
  for (std::string line; std::getline(document, line);)
    if (line.starts_with("| `")) documented.insert(line.substr(3, line.find('`', 3) - 3));
  RecordingFile file;
  addEverything(file);
  ASSERT_TRUE(file.writer().addDeviceMemory({1'000'000'010, 0, 41, 5 * kMiB}).ok());
  ASSERT_TRUE(file.writer().commit().ok());
  std::set<std::string> written;
  auto traces = opened(file);
  collectKeys(recordingJson(*traces[0]), "recording", written);
  EXPECT_EQ(documented, written);
}

}  // namespace
}  // namespace tidegauge::exporting
