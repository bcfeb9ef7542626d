#include "report/recording/recording_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include "base/text_layout.h"
#include "readers/recording/open_recording.h"
#include "report/recording/process_table.h"
#include "report/story/report_json.h"
#include "report/story/report_text.h"
#include "report/story/story.h"
#include "support/bytes.h"
#include "support/trace_builder.h"
#include "support/worked_recording.h"

namespace tidegauge::report {
namespace {

using analysis::AnalysedTrace;
using model::MemoryKind;
using nlohmann::json;
using testing::CallStream;
using testing::RecordingFile;

std::vector<std::unique_ptr<AnalysedTrace>> opened(const RecordingFile& file) {
  std::vector<std::unique_ptr<AnalysedTrace>> all;
  auto traces = readers::recording::openRecording(file.path(), {});
  EXPECT_TRUE(traces.ok()) << traces.error().what;
  for (model::Trace& trace : traces.value())
    all.push_back(std::make_unique<AnalysedTrace>(std::move(trace)));
  return all;
}

// pid 41: works, is refused three times, and keeps its memory.
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
  options.full = true;
  return reportText(analysed, options);
}

// Without the line breaks of wrapping.
std::string flat(const std::string& text) {
  std::string words;
  for (char c : text) {
    bool is_space = c == ' ' || c == '\n';
    if (!is_space || (!words.empty() && words.back() != ' ')) words += is_space ? ' ' : c;
  }
  return words;
}

TEST(RecordingReport, SaysHowAProcessEnded) {
  EXPECT_EQ(endingText(0), "it ended well, exit status 0");
  EXPECT_EQ(endingText(3 << 8), "it ended with exit status 3");
  EXPECT_EQ(endingText(9), "it was killed by SIGKILL (9)");
  EXPECT_EQ(endingText(11 | 128), "it was killed by SIGSEGV (11)");
  EXPECT_EQ(endingText(63), "it was killed by signal 63");
}

TEST(RecordingReport, ReportsRefusalsHoldingsLaunchesAndCopies) {
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
  EXPECT_TRUE(report["refused"]["first_caller"].is_string());
  EXPECT_EQ(report["refused"]["first_stack_id"], report["refused"]["rows"][0]["first_stack_id"]);
  EXPECT_EQ(report["refused"]["rows"][0]["meaning"], "out of memory");
  EXPECT_EQ(report["refused"]["rows"][0]["times"], 2);
  EXPECT_EQ(report["refused"]["rows"][1]["code"], 1);
  EXPECT_EQ(report["kernels"]["launches"], 1003);
  EXPECT_EQ(report["kernels"]["rows"][0]["name"], "sgemm");
  EXPECT_EQ(report["kernels"]["rows"][0]["launches"], 900);
  EXPECT_EQ(report["kernels"]["rows"][0]["grid_x"], 64);
  EXPECT_EQ(report["copies"]["rows"][0]["bytes_per_second"], uint64_t{2} << 30);
  EXPECT_EQ(report["copies"]["rows"][0]["transfer_ns"], 1'000'000'000);
  for (size_t row : {1U, 2U}) {  // submitted, and by the pointers: perhaps within the device
    EXPECT_TRUE(report["copies"]["rows"][row]["transfer_ns"].is_null()) << row;
    EXPECT_TRUE(report["copies"]["rows"][row]["bytes_per_second"].is_null()) << row;
  }
  std::string text = textOf(*traces[0]);
  for (const char* direction : {"device to host, submitted", "by the pointers"}) {
    size_t end = text.find(direction), begin = text.rfind('\n', end);
    EXPECT_NE(text.substr(begin, end - begin).find("not timed"), std::string::npos) << text;
  }
  for (const char* words :
       {"Process 41 python", "3 calls were refused; the first", "2 out of memory",
        "1,003 launches of 3 kernels", "device to host, submitted", "2.00 GiB"})
    EXPECT_NE(text.find(words), std::string::npos) << words << " in\n" << text;
  for (size_t columns : {60U, 80U, 100U}) {
    std::string page = textOf(*traces[0], columns);
    for (size_t at = 0, end; (end = page.find('\n', at)) != std::string::npos; at = end + 1)
      EXPECT_LE(base::displayWidth(page.substr(at, end - at)), columns)
          << page.substr(at, end - at);
  }
}

TEST(RecordingReport, HasWhatTheDeviceMeasured) {
  RecordingFile file;
  testing::addWork(file);
  testing::addDeviceTimes(file);
  auto traces = opened(file);
  json report = recordingJson(*traces[0]);
  const json& times = report["device_times"];
  EXPECT_EQ(times["asked"], true);
  EXPECT_EQ(times["activities"], 6);
  EXPECT_EQ(times["busy_ns"], 3000 + 100 + 3000 + 100);
  EXPECT_EQ(times["rows"][0]["name"], "sgemm");
  EXPECT_EQ(times["rows"][0]["device_ns"], 3500);
  EXPECT_EQ(times["rows"][0]["launches"], 2);
  EXPECT_EQ(times["rows"][0]["mean_us"], 1.75);
  EXPECT_EQ(times["rows"][1]["name"], "");
  EXPECT_EQ(times["programs"][0]["outcome"], "timed");
  const json& copies = report["device_copies"];
  EXPECT_EQ(copies["link_bytes_per_second"], 63'015'384'615);
  EXPECT_EQ(copies["rows"][0]["direction"], "host to device");
  EXPECT_EQ(copies["rows"][0]["busy_ns"], 3000);
  EXPECT_EQ(copies["rows"][0]["gb_per_s"], 32.0);
  EXPECT_NEAR(copies["rows"][0]["link_share"], 32e9 / 63'015'384'615, 1e-9);
  EXPECT_TRUE(copies["rows"][1]["link_share"].is_null()) << "a set uses no link";
  std::string text = textOf(*traces[0]);
  for (const char* words : {"The device ran 6 kernels, copies and sets", "63.0 GB/s", "50.8 %"})
    EXPECT_NE(text.find(words), std::string::npos) << words << " in\n" << text;
  std::string other = textOf(*traces[2]);
  EXPECT_NE(other.find("Not timed: libcupti was not found."), std::string::npos) << other;
  std::string none = textOf(*traces[1]);
  EXPECT_NE(none.find("this program did not load the library of --device-times"), std::string::npos)
      << none;
}

TEST(RecordingReport, NoWallAheadIsNotSaidWhereMemoryWasRefused) {
  for (bool refused : {true, false}) {
    RecordingFile file;
    CallStream calls;
    for (int i = 0; i < 60; ++i) {
      calls.allocate(MemoryKind::kDevice, 0x1000, kMiB).device(0).stack(1);
      calls.free(MemoryKind::kDevice, 0x1000);
    }
    if (refused) calls.allocate(MemoryKind::kDevice, 0, 1 << 30).device(0).stack(2).code(2);
    for (int i = 0; i < 60; ++i) {
      calls.allocate(MemoryKind::kDevice, 0x1000, kMiB).device(0).stack(1);
      calls.free(MemoryKind::kDevice, 0x1000);
    }
    file.write(calls.all());
    std::string text = flat(textOf(*opened(file)[0]));
    EXPECT_NE(text.find("Neither active nor reserved memory grows"), std::string::npos) << text;
    EXPECT_EQ(text.find("Yet memory was refused") != std::string::npos, refused) << text;
  }
}

TEST(RecordingReport, AnImpossibleSizeIsNotReportedAsASize) {
  RecordingFile file;
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0, UINT64_MAX).device(0).stack(7).code(2);
  calls.allocate(MemoryKind::kDevice, 0, uint64_t{1} << 60).device(0).stack(7).code(1);
  file.write(calls.all());
  std::vector<Section> sections = recordingSections(*opened(file)[0], 10);
  auto refused = std::find_if(sections.begin(), sections.end(),
                              [](const Section& it) { return it.key == "refused"; });
  ASSERT_NE(refused, sections.end());
  EXPECT_NE(plainText(refused->sentences[0].parts).find("for more than 1,024 TiB"),
            std::string::npos);
  ASSERT_TRUE(refused->grid);
  for (const auto& row : refused->grid->rows) EXPECT_EQ(row[1], "more than 1,024 TiB");
  EXPECT_EQ(refused->json["first_bytes"], UINT64_MAX);  // exact
}

TEST(RecordingReport, SaysSinceWhenAndHowLongItWasWatched) {
  RecordingFile file;
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x1000, kMiB).device(0);
  calls.allocate(MemoryKind::kDevice, 0x1000, kMiB).device(0).process(1);
  file.add(calls.all());
  constexpr int64_t kFrom_ns = 1'795'360'992 * testing::kSecond_ns;
  model::Unwatched before;
  before.end_ns = kFrom_ns;
  before.pid = 42;
  before.reason = "it ran before it was watched";
  EXPECT_TRUE(file.writer().addUnwatched(before, 1).ok());
  EXPECT_TRUE(
      file.writer().setMeta("began_ns", std::to_string(kFrom_ns - testing::kSecond_ns)).ok());
  EXPECT_TRUE(file.writer()
                  .endProcess(1, kFrom_ns + 61 * testing::kSecond_ns, 0, store::EndReason::kExit)
                  .ok());
  file.write({});
  auto traces = opened(file);
  std::string text = flat(textOf(*traces[1]));
  EXPECT_NE(text.find("atched for 61.0 s, from 2026-11-22 15:23:12 "
                      "UTC on, when it was already running; it ended well"),
            std::string::npos)
      << text;
  text = flat(textOf(*traces[0]));
  EXPECT_NE(text.find("een from 1970-01-01 00:00:01 UTC; it was still running"), std::string::npos)
      << text;
  std::vector<const AnalysedTrace*> all = {traces[0].get(), traces[1].get()};
  EXPECT_NE(processesText(analysis::wholeRecording(all), 20, TextOptions{})
                .find("recorded from 2026-11-22 15:23:11 UTC on"),
            std::string::npos);
  json process = recordingJson(*traces[1])["process"];
  EXPECT_EQ(process["watched_from_ns"], kFrom_ns);
  EXPECT_EQ(process["ran_before"], true);
}

TEST(RecordingReport, SegmentsOfPyTorchAreNotReportedAsUsedByTensors) {
  for (bool has_blocks : {true, false}) {
    testing::TraceBuilder b;
    b.time(100).segmentAlloc(0x7f0000000000, 20 * kMiB).alloc(0x7f0000000000, 20 * kMiB);
    model::Trace trace = b.build();
    auto work = std::make_shared<model::RecordedWork>();
    work->run = std::make_shared<model::RecordedRun>();
    work->has_blocks = has_blocks;
    work->frame_modules = {{}, trace.strings.intern("/venv/torch/lib/libc10_cuda.so")};
    trace.work = work;
    std::string text = flat(textOf(AnalysedTrace(std::move(trace))));
    EXPECT_EQ(text.find("does not contain PyTorch's blocks") != std::string::npos, !has_blocks);
    EXPECT_EQ(text.find("requested: bytes that the program requested") != std::string::npos,
              has_blocks);
  }
}

TEST(RecordingReport, KernelsWithoutANameHaveARowEachAndLongNamesAreReadable) {
  RecordingFile file;
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x1000, kMiB).device(0);
  file.add(calls.all());
  store::RecordingWriter& writer = file.writer();
  uint16_t by = writer.addFunction({"cuLaunchKernel", model::Plane::kDriver, {}, {}}).value();
  for (const char* name : {"", "", "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kern"}) {
    store::LaunchRow row;
    static uint64_t handle = 0x7f00;
    row.kernel = writer.addKernel(0, handle++, name).value();
    row.function = by;
    row.grid = row.block = {1, 1, 1};
    row.count = 3;
    EXPECT_TRUE(writer.addLaunches(row).ok());
  }
  file.write({});
  auto traces = opened(file);
  std::string text = textOf(*traces[0], 100);
  for (const char* words : {"9 launches of 3 kernels", "kernel at 0x7f00 (no name)",
                            "kernel at 0x7f01 (no name)", "at::native::elementwise_kernel<…>"})
    EXPECT_NE(text.find(words), std::string::npos) << words << " in\n" << text;
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
  analysis::WholeRecording whole = analysis::wholeRecording(all);
  TextOptions options;
  options.columns = 100;
  options.evidence = true;
  std::string text = processesText(whole, 20, options);
  EXPECT_EQ(text.find("3 processes"), 0U);
  EXPECT_LT(text.find("42 python"), text.find("41 python")) << text;
  EXPECT_NE(text.find("43 it's, exit 1"), std::string::npos) << text;
  EXPECT_NE(text.find("FROM all_processes"), std::string::npos) << text;
  options.evidence = false;
  std::string cut = processesText(whole, 1, options);
  EXPECT_NE(cut.find("2 more"), std::string::npos) << cut;
  EXPECT_EQ(cut.find("41 python"), std::string::npos) << cut;
}

// The figures of a device are those of the moment at which most of it was used.
TEST(RecordingReport, ReportsTheUsersOfEachGpuAndWhatNoCallAllocated) {
  RecordingFile file;
  addEverything(file);  // pid 41 holds 1 MiB, pid 42 2 MiB
  store::RecordingWriter& writer = file.writer();
  ASSERT_TRUE(writer.addDevice({0, "H100", "GPU-1", 80 * kMiB}).ok());
  ASSERT_TRUE(writer.addDevice({1, "Other", "GPU-2", 80 * kMiB}).ok());
  auto used = [&](int64_t second, int32_t device, std::optional<uint32_t> pid, uint64_t bytes) {
    ASSERT_TRUE(writer.addDeviceMemory({second * testing::kSecond_ns, device, pid, bytes}).ok());
  };
  used(100, 0, 41, 30 * kMiB);
  used(100, 0, 7, 10 * kMiB);
  used(100, 0, {}, 45 * kMiB);
  used(101, 0, 41, 5 * kMiB);
  used(101, 0, {}, 20 * kMiB);
  ASSERT_TRUE(writer.commit().ok());
  auto traces = opened(file);
  std::vector<const AnalysedTrace*> all;
  for (const auto& trace : traces) all.push_back(trace.get());
  analysis::WholeRecording whole = analysis::wholeRecording(all);
  ASSERT_EQ(whole.gpus.size(), 2U);
  EXPECT_EQ(whole.gpus[0].peak_used_bytes, 45 * kMiB);
  EXPECT_EQ(whole.gpus[0].last_used_bytes, 20 * kMiB);
  EXPECT_EQ(whole.gpus[0].by_processes_bytes, 40 * kMiB);
  EXPECT_FALSE(whole.gpus[1].peak_used_bytes);
  ASSERT_EQ(whole.gpu_uses.size(), 2U);
  EXPECT_EQ(whole.gpu_uses[0].pid, 41);
  EXPECT_EQ(whole.gpu_uses[0].recorded_bytes, kMiB);
  EXPECT_EQ(whole.gpu_uses[1].process_id, model::kNotRecorded);
  EXPECT_FALSE(whole.gpu_uses[1].recorded_bytes);
  TextOptions options;
  options.evidence = false;
  std::string text = gpusText(whole, options);
  for (const char* words :
       {"GPU 0 H100",
        "45.0 MiB of 80.0 MiB were used at most: 40.0 MiB by 2 processes, 5.0 MiB by no",
        "calls had allocated 1.0 MiB; 29.0 MiB of", "10.0 MiB are of one process that was",
        "41 python", "7, not recorded"})
    EXPECT_NE(text.find(words), std::string::npos) << words << " in\n" << text;
  EXPECT_EQ(text.find("GPU 1"), std::string::npos) << text;
}

// A pid is reused: the program that ran under it at that time used the GPU.
TEST(RecordingReport, NamesWhoRanUnderAPidWhenMostWasUsed) {
  RecordingFile file;
  store::RecordingWriter& writer = file.writer();
  auto run = [&](const char* name, int64_t begin_s, std::optional<int64_t> end_s) {
    store::ProcessRow row;
    row.pid = 41;
    row.name = name;
    row.began_ns = begin_s * testing::kSecond_ns;
    uint32_t id = writer.addProcess(row).value();
    if (!end_s) return;
    EXPECT_TRUE(
        writer.endProcess(id, *end_s * testing::kSecond_ns, 0, store::EndReason::kExit).ok());
  };
  run("third", 60, {});  // not in order
  run("first", 10, 30);
  run("second", 30, 50);
  for (auto [device, second] : {std::pair{0, 20}, {1, 30}, {2, 40}, {3, 55}, {4, 60}, {5, 5}}) {
    int64_t time_ns = second * testing::kSecond_ns;
    ASSERT_TRUE(writer.addDeviceMemory({time_ns, device, 41, 30 * kMiB}).ok());
    ASSERT_TRUE(writer.addDeviceMemory({time_ns, device, {}, 30 * kMiB}).ok());
    ASSERT_TRUE(writer.addDeviceMemory({time_ns + 1, device, {}, 10 * kMiB}).ok());
  }
  ASSERT_TRUE(writer.commit().ok());
  auto traces = opened(file);
  std::vector<const AnalysedTrace*> all;
  for (const auto& trace : traces) all.push_back(trace.get());
  std::vector<std::string> names;
  for (const analysis::GpuUse& use : analysis::wholeRecording(all).gpu_uses)
    names.push_back(use.name);
  EXPECT_EQ(names, (std::vector<std::string>{"first", "second", "second", "", "third", ""}));
}

// On two GPUs at once, it is unknown where the memory of the calls is.
TEST(RecordingReport, DoesNotDivideWhatCallsHandedOutAmongGpus) {
  RecordingFile file;
  addEverything(file);
  store::RecordingWriter& writer = file.writer();
  for (int32_t device : {0, 1}) {
    ASSERT_TRUE(writer.addDeviceMemory({100 * testing::kSecond_ns, device, 41, 30 * kMiB}).ok());
    ASSERT_TRUE(writer.addDeviceMemory({100 * testing::kSecond_ns, device, {}, 30 * kMiB}).ok());
  }
  ASSERT_TRUE(writer.commit().ok());
  auto traces = opened(file);
  std::vector<const AnalysedTrace*> all;
  for (const auto& trace : traces) all.push_back(trace.get());
  for (const analysis::GpuUse& use : analysis::wholeRecording(all).gpu_uses)
    EXPECT_FALSE(use.recorded_bytes) << use.device;
}

TEST(RecordingReport, SaysWhichPartItIs) {
  RecordingFile file;
  testing::CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x1000, 3 * kMiB).device(0).stack(1).process(0);
  calls.allocate(MemoryKind::kDevice, 0x900000, 5 * kMiB).device(0).stack(2).process(0);
  file.write(calls.all());
  for (auto [key, value] :
       {std::pair{"part", "5"}, {"continues", "run.4.sqlite"}, {"carried_calls", "1"}})
    ASSERT_TRUE(file.writer().setMeta(key, value).ok());
  ASSERT_TRUE(file.writer().commit().ok());
  auto traces = opened(file);
  std::vector<const AnalysedTrace*> all;
  for (const auto& trace : traces) all.push_back(trace.get());
  analysis::WholeRecording whole = analysis::wholeRecording(all);
  TextOptions options;
  options.evidence = false;
  std::string text = partText(whole, {"run.3.sqlite", "run.4.sqlite"}, options);
  for (const char* words :
       {"Part 5 of a recording", "continues run.4.sqlite at ",
        "began with 3.0 MiB of device memory that one process held (1 row carried in)",
        "Of 4 parts before it 2 are beside it (run.3.sqlite to run.4.sqlite), 2 are gone."}) {
    std::string flat = text;
    for (size_t at; (at = flat.find("\n    ")) != std::string::npos;) flat.replace(at, 5, " ");
    EXPECT_NE(flat.find(words), std::string::npos) << words << " in\n" << flat;
  }
  RecordingFile alone;
  addEverything(alone);
  auto its = opened(alone);
  std::vector<const AnalysedTrace*> one{its[0].get()};
  EXPECT_EQ(partText(analysis::wholeRecording(one), {}, options), "");
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

// If a free may have been missed, nothing is "at least": less may be held, too.
TEST(RecordingReport, MarksSayWhichWayAFigureMayBeWrong) {
  auto told = [](const auto& add) {
    RecordingFile file;
    CallStream calls;
    calls.allocate(MemoryKind::kDevice, 0x1000000, 3 * kMiB).device(0).stack(7);
    file.write(calls.all());
    add(file.writer());
    file.finish();
    auto traces = opened(file);
    const analysis::AnalysedTrace* all[] = {traces.at(0).get()};
    return processesText(analysis::wholeRecording(all), 20, TextOptions{}) + textOf(*traces.at(0));
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
  EXPECT_NE(late.find("Peak active memory was at least 3.0 MiB"), std::string::npos) << late;
  EXPECT_EQ(late.find("(at least)."), std::string::npos) << late;  // once is enough
}

TEST(RecordingReport, TheDocumentNamesEveryKey) {
  const char* source = std::getenv("TIDEGAUGE_SOURCE_DIR");
  if (source == nullptr) GTEST_SKIP() << "TIDEGAUGE_SOURCE_DIR is not set; ctest sets it";
  std::ifstream document(std::string(source) + "/docs/formats/json-recording.md");
  ASSERT_TRUE(document.is_open());
  std::set<std::string> documented;
  for (std::string line; std::getline(document, line);)
    if (line.starts_with("| `")) documented.insert(line.substr(3, line.find('`', 3) - 3));
  RecordingFile file;
  addEverything(file);
  testing::addDeviceTimes(file);
  ASSERT_TRUE(file.writer().addDeviceMemory({1'000'000'010, 0, 41, 5 * kMiB}).ok());
  model::Unwatched stranger;
  stranger.pid = 4712;
  stranger.reason = "it did not load the library of --preload (LD_PRELOAD was changed)";
  ASSERT_TRUE(file.writer().addUnwatched(stranger, std::nullopt).ok());
  ASSERT_TRUE(file.writer().commit().ok());
  std::set<std::string> written;
  auto traces = opened(file);
  collectKeys(recordingJson(*traces[0]), "recording", written);
  EXPECT_EQ(documented, written);
}

}  // namespace
}  // namespace tidegauge::report
