#include "report/story/report_json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include "model/recorded_work.h"
#include "report/page/page_json.h"
#include "report/recording/outside_report.h"
#include "support/bytes.h"
#include "support/messy_trace.h"
#include "support/trace_builder.h"

namespace tidegauge::report {
namespace {

using analysis::AnalysedTrace;
using model::BlockState;
using nlohmann::json;
using testing::TraceBuilder;

// A trace that fills every part of the report.
model::Trace everything() {
  TraceBuilder b;
  b.time(1000).segmentAlloc(kA, 20 * kMiB).stack({"f@/home/me/a.py:1", "g@/home/me/b.py:2"});
  b.alloc(kA, 5 * kMiB).oom(kMiB, 40 * kMiB).oom(900 * kMiB, 40 * kMiB).free(kA + 10 * kMiB, 512);
  b.annotation("forward", 1000, 1003);
  b.finalSegment(kA, 20 * kMiB).block(5 * kMiB, BlockState::kActiveAllocated, 5 * kMiB);
  b.block(15 * kMiB, BlockState::kInactive);
  b.tensor(kA, "layers.0.weight");
  b.settings().present = true;
  b.settings().items.emplace_back("max_split_size", "-1");
  b.settings().asked.push_back({"expandable_segments", "True", "False", true});
  return b.build();
}

// Steps with temporary allocations that keep a little: content that a trace with one event per kind
// lacks.
model::Trace leakingSteps() {
  TraceBuilder b;
  b.time(1000);
  for (uint64_t step = 0; step < 20; ++step) {
    auto begin = static_cast<int64_t>(1000 + step * 4);
    b.annotation("step#" + std::to_string(step), begin, begin + 3);
    b.stack({"work@a.py:1"}).alloc(kA, kMiB).free(kA, kMiB);
    b.stack({"keep@a.py:2"}).alloc(2 * kA + step * kMiB, 512);
  }
  return b.build();
}

model::Trace heldInAPool() {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).oom(30 * kMiB, 40 * kMiB);
  b.pool(3, 0).finalSegment(kA, 20 * kMiB).block(20 * kMiB, BlockState::kInactive);
  return b.build();
}

// Memory beside PyTorch, with a row per moment; its recording lives as long as the program.
analysis::Outside everyKindOfOutside() {
  TraceBuilder b;
  b.stack({"take@lib.c:1"}).segmentAlloc(kA, kMiB);
  static const AnalysedTrace kRecording(b.build());
  analysis::Outside outside;
  outside.recording = &kRecording;
  outside.missing = {"a free was lost"};
  outside.match.pieces = outside.match.matched = 1;
  outside.devices.push_back({});
  analysis::OutsideMoment end;
  end.at = analysis::OutsideAt::kEnd;
  end.outside_bytes = 5;
  outside.devices[0].moments.push_back(end);
  analysis::OutsideRow row;
  row.stack = model::StackId(0);
  row.bytes = {5};
  row.blocks = {1};
  outside.devices[0].rows.push_back(row);
  return outside;
}

void collectKeys(const json& value, const std::string& path, std::set<std::string>& keys) {
  if (value.is_array()) {
    for (const json& item : value) collectKeys(item, path + "[]", keys);
  } else if (value.is_object()) {
    for (const auto& [key, item] : value.items()) {
      std::string at = path.empty() ? key : path + "." + key;
      keys.insert(at);
      if (at != "settings") collectKeys(item, at, keys);
    }
  }
}

TEST(ReportJson, BytesAreExactIntegers) {
  AnalysedTrace analysed(everything());
  json report = reportJson(analysed);
  const json& device = report["devices"][0];
  EXPECT_EQ(device["peak"]["active"]["bytes"], 5 * kMiB + 512);
  EXPECT_TRUE(device["peak"]["active"]["bytes"].is_number_unsigned());
  EXPECT_EQ(device["ooms"][0]["over_bytes"], 39 * kMiB);
  EXPECT_EQ(device["ooms"][0]["phases"], json::array({"forward"}));
  EXPECT_EQ(device["device_allocations"], 1);
  EXPECT_EQ(report["settings"]["max_split_size"], "-1");
  EXPECT_EQ(report["issues"][0]["kind"], "free_without_alloc");
}

TEST(ReportJson, InvalidUtf8IsReplacedEverywhere) {
  const std::string bad = "\xff\xc3(\xe2\x82";
  TraceBuilder b;
  b.time(1).stack({bad + "@/home/" + bad + ".py:1"}).alloc(kA, 512).annotation(bad, 1, 9);
  b.oom(1, 2);
  b.settings().present = true;
  b.settings().conf = bad;
  b.settings().items.emplace_back(bad, bad);
  b.settings().asked.push_back({bad, bad, bad, true});
  model::Trace trace = b.build();
  trace.source = {.name = bad, .format = bad, .container = bad};
  trace.issues.add({.kind = model::IssueKind::kUnknownKey, .detail = bad});
  AnalysedTrace analysed(std::move(trace));
  EXPECT_NO_THROW(reportJson(analysed).dump());
  EXPECT_NO_THROW(sessionFileJson(analysed, 0, "a").dump());
  EXPECT_NO_THROW(overviewJson(analysed, 0).dump());
}

TEST(ReportJson, MessyTracesAreWritten) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    AnalysedTrace analysed(testing::messyTrace({.seed = seed, .wild = seed % 2 == 0}));
    EXPECT_FALSE(reportJson(analysed).dump().empty());
    EXPECT_FALSE(sessionFileJson(analysed, 0, "a").dump().empty());
    EXPECT_FALSE(overviewJson(analysed, 0).dump().empty());
  }
}

TEST(ReportJson, AnUnknownDeviceHasNoOverview) {
  AnalysedTrace analysed(everything());
  EXPECT_TRUE(overviewJson(analysed, 7).is_null());
}

// A refusal of memory without an allocator, after the driver reported its free memory.
model::Trace refusedByTheDriver() {
  TraceBuilder b;
  b.time(1'000'000)
      .stack({"take@/home/me/a.py:3", "main@/home/me/a.py:9"})
      .segmentAlloc(kA, kMiB)
      .alloc(kA, kMiB);
  b.time(3'000'000).oom(model::kUnknownBytes, 4 * kMiB);
  model::Trace trace = b.build();
  trace.devices.at(0).has_allocator = false;
  auto work = std::make_shared<model::RecordedWork>();
  work->answers = {
      .time_ns = {2'000'000'000}, .device = {0}, .free_bytes = {kMiB}, .total_bytes = {2 * kMiB}};
  trace.work = work;
  return trace;
}

TEST(ReportJson, WithoutAnAllocatorThereIsNoScoreAndTheDriverIsHeard) {
  AnalysedTrace analysed(refusedByTheDriver());
  json device = reportJson(analysed)["devices"][0];
  EXPECT_TRUE(device["fragmentation"]["reserved_score"].is_null());
  EXPECT_TRUE(device["fragmentation"]["address_score"].is_null());
  EXPECT_EQ(device["ooms"][0]["device_free_bytes"], kMiB);
  EXPECT_EQ(device["ooms"][0]["over_bytes"], 3 * kMiB);
  EXPECT_EQ(device["ooms"][0]["verdict"]["driver_free"]["said_to"], "program");
  std::string all = device.dump();
  for (const char* word : {"PYTORCH", "empty_cache", "cached", "segments:True"})
    EXPECT_EQ(all.find(word), std::string::npos) << word;
}

TEST(ReportJson, ARefusalNamesItsCallSite) {
  AnalysedTrace analysed(refusedByTheDriver());
  json oom = reportJson(analysed)["devices"][0]["ooms"][0];
  EXPECT_EQ(oom["label"], "a.py:3 take");
  EXPECT_EQ(oom["caller"], "a.py:9 main");
  EXPECT_EQ(oom["stack_id"], 0);
  EXPECT_EQ(oom["series"], 1);
}

// 60 MiB are free in five pieces of 12, and 45 are requested: expandable segments are advised, and
// replayed. The events follow the allocator's rules, or nothing would be proven: each segment is
// filled before the next is allocated.
model::Trace refusedAmongPieces() {
  constexpr uint64_t kMiB = uint64_t{1} << 20, kBegin = 0x7f0000000000;
  TraceBuilder b;
  for (uint64_t i = 0; i < 5; ++i)
    b.segmentAlloc(kBegin + i * 32 * kMiB, 20 * kMiB)
        .alloc(kBegin + i * 32 * kMiB, 8 * kMiB)
        .alloc(kBegin + (i * 32 + 8) * kMiB, 12 * kMiB);
  for (uint64_t i = 0; i < 5; ++i) b.free(kBegin + (i * 32 + 8) * kMiB, 12 * kMiB);
  b.oom(30 * kMiB, 45 * kMiB);
  return b.build();
}

TEST(ReportJson, ReportsTheEffectOfAnAdvisedSetting) {
  AnalysedTrace analysed(refusedAmongPieces());
  json device = reportJson(analysed)["devices"][0];
  json advised;
  for (const json& one : device["advice"])
    if (one["kind"] == "expandable_segments") advised = one["replayed"];
  ASSERT_TRUE(advised.is_object()) << device["advice"];
  EXPECT_EQ(advised["settings"], "expandable_segments:True");
  json row;
  for (const json& one : device["replay"]["rows"])
    if (one["settings"] == "expandable_segments:True") row = one;
  EXPECT_EQ(advised["ooms"], row["ooms"]);
  EXPECT_EQ(advised["peak_reserved_bytes"], row["peak_reserved_bytes"]);
  EXPECT_EQ(device["replay"]["rows"][0]["place"], 0);
  // Not requested: no rows, and no proof.
  std::vector<Chosen> all{{analysed.devices[0].get(), std::nullopt}};
  device = reportJson(analysed, all, std::nullopt, analysis::Replays::kNone)["devices"][0];
  EXPECT_TRUE(device["replay"].is_null());
  for (const json& one : device["advice"]) EXPECT_TRUE(one["replayed"].is_null());
}

// A split limit below a large segment is not a setting: it is neither advised nor replayed, and all
// else is reported.
TEST(ReportJson, ALimitThatPyTorchWouldRefuseIsNotAdvised) {
  constexpr uint64_t kMiB = uint64_t{1} << 20, kBegin = 0x7f0000000000;
  for (bool is_large : {false, true}) {
    TraceBuilder b;
    if (is_large) b.settings().conf = "large_segment_size_mb:300";
    for (uint64_t i = 0; i < 4; ++i) {
      uint64_t at = kBegin + i * 512 * kMiB;
      b.segmentAlloc(at, 400 * kMiB).alloc(at, 400 * kMiB);
    }
    for (uint64_t i = 0; i < 4; ++i) b.free(kBegin + i * 512 * kMiB, 400 * kMiB);
    for (uint64_t i = 0; i < 4; ++i)
      for (uint64_t j = 0; j < 8; ++j) b.alloc(kBegin + (i * 512 + j * 30) * kMiB, 30 * kMiB);
    b.oom(30 * kMiB, 250 * kMiB);
    AnalysedTrace analysed(b.build());
    json device = reportJson(analysed)["devices"][0];
    auto isSplit = [](const json& one) { return one["kind"] == "max_split_size"; };
    EXPECT_EQ(std::ranges::any_of(device["advice"], isSplit), !is_large) << device["advice"];
    EXPECT_TRUE(device["replay"].is_object());
  }
}

// docs/formats/json.md lists exactly the keys that the report has, as `- \`path\``.
TEST(ReportJson, TheDocumentNamesEveryKey) {
  const char* source = std::getenv("TIDEGAUGE_SOURCE_DIR");
  if (source == nullptr) GTEST_SKIP() << "TIDEGAUGE_SOURCE_DIR is not set; ctest sets it";
  std::ifstream document(std::string(source) + "/docs/formats/json.md");
  ASSERT_TRUE(document.is_open());
  std::set<std::string> documented;
  for (std::string line; std::getline(document, line);) {
    if (!line.starts_with("| `")) continue;
    documented.insert(line.substr(3, line.find('`', 3) - 3));
  }
  std::set<std::string> written;
  AnalysedTrace analysed(everything());
  collectKeys(reportJson(analysed), "", written);
  AnalysedTrace leaking(leakingSteps());
  json grown = reportJson(leaking);
  EXPECT_EQ(grown["devices"][0]["growth"]["rows"][0]["per_step_bytes"], 512);
  EXPECT_EQ(grown["devices"][0]["churn"]["rows"][0]["blocks_1"], 20);
  collectKeys(grown, "", written);
  AnalysedTrace refused(refusedByTheDriver());
  collectKeys({{"devices", reportJson(refused)["devices"]}}, "", written);
  AnalysedTrace in_pieces(refusedAmongPieces());
  collectKeys({{"devices", reportJson(in_pieces)["devices"]}}, "", written);
  AnalysedTrace held(heldInAPool());
  collectKeys({{"devices", reportJson(held)["devices"]}}, "", written);
  auto part = choose(analysed, {.device = {}, .from = "0", .to = "1"});
  collectKeys(reportJson(analysed, part.value().devices), "", written);
  collectKeys({{"outside", outsideJson(everyKindOfOutside())}}, "", written);
  EXPECT_EQ(documented, written);
}

}  // namespace
}  // namespace tidegauge::report
