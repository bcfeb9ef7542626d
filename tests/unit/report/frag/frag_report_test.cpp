#include "report/frag/frag_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include "base/csv.h"
#include "base/text_layout.h"
#include "model/recorded_work.h"
#include "report/frag/frag_limits.h"
#include "support/bytes.h"
#include "support/frag_traces.h"
#include "support/simulated_heap.h"
#include "support/trace_builder.h"

namespace tidegauge::report {
namespace {

using analysis::AnalysedTrace;
using model::BlockState;
using testing::combOf;
using testing::movingHeap;
using testing::ofDriver;
using testing::TraceBuilder;

FragReport reportOf(const AnalysedTrace& analysed, const FragOptions& options = {}) {
  return gatherFrag(analysed, {.device = analysed.devices.at(0).get(), .range = {}}, options);
}

// Without the line breaks of its sentences.
std::string saidOf(const AnalysedTrace& analysed, const FragReport& report,
                   const FragTextOptions& options = {}) {
  std::string text = fragText(analysed, report, options);
  std::string line;
  for (size_t i = 0; i < text.size(); ++i) {
    bool space = text[i] == '\n' || text[i] == ' ';
    if (!space || !line.ends_with(' ')) line += space ? ' ' : text[i];
  }
  return line;
}

model::Trace harmlessHole() {
  TraceBuilder b;
  uint64_t gib = 1024 * kMiB;
  b.segmentAlloc(kA, 66 * gib).alloc(kA, gib).alloc(kA + 65 * gib, gib);
  b.finalSegment(kA, 66 * gib)
      .block(gib, BlockState::kActiveAllocated, gib)
      .block(64 * gib, BlockState::kInactive)
      .block(gib, BlockState::kActiveAllocated, gib);
  return b.build();
}

TEST(FragReport, ARecordingThatContradictsItselfIsNamed) {
  TraceBuilder b;  // without a final state that contains the block
  b.segmentAlloc(kA, 2 * kMiB).alloc(kA, kMiB);
  AnalysedTrace contradictory(b.build());
  std::string said = fragText(contradictory, reportOf(contradictory), {});
  EXPECT_NE(said.find("The recording contradicts itself: Active at the end"), std::string::npos)
      << said;
  AnalysedTrace right(combOf(4, kMiB, kMiB));
  EXPECT_EQ(fragText(right, reportOf(right), {}).find("contradicts"), std::string::npos);
}

// The score alone ranks them the other way round: see docs/explain/forecast.md.
TEST(FragReport, AShreddedHeapRanksAboveAHarmlessHole) {
  AnalysedTrace shredded(combOf(1000, 2 * kMiB, 2 * kMiB));
  AnalysedTrace hole(harmlessHole());
  FragReport of_shredded = reportOf(shredded);
  FragReport of_hole = reportOf(hole);
  const analysis::FreeSums& a = of_shredded.now.sample.sums.free;
  const analysis::FreeSums& b = of_hole.now.sample.sums.free;
  EXPECT_EQ(a.bytes, 2000 * kMiB);
  EXPECT_EQ(a.scatteredBytes(), 1998 * kMiB);
  EXPECT_EQ(b.scatteredBytes(), 0);
  EXPECT_GT(a.external(), 0.99);
  EXPECT_EQ(b.external(), 0);
  EXPECT_LT(of_shredded.now.sample.reserved.score, of_hole.now.sample.reserved.score);

  std::string said = fragText(shredded, of_shredded, {});
  EXPECT_NE(said.find("1.95 GiB (99.9 %) were outside the largest free range"), std::string::npos)
      << said;
  EXPECT_NE(fragText(hole, of_hole, {}).find("in one free range."), std::string::npos);
  EXPECT_NE(said.find("1,000 blocks of 2.0 MiB from model.py:7 build keep 1.95 GiB of free"),
            std::string::npos)
      << said;
}

TEST(FragReport, APackedHeapIsZero) {
  AnalysedTrace packed(combOf(64, 2 * kMiB, 0));
  FragReport report = reportOf(packed);
  EXPECT_EQ(report.now.sample.sums.free, analysis::FreeSums());
  EXPECT_EQ(report.now.sample.sums.free.external(), 0);
  EXPECT_TRUE(report.now.stranded.empty());
  EXPECT_TRUE(report.pinned.stacks.empty());
  std::string said = saidOf(packed, report);
  EXPECT_NE(said.find("All 128 MiB of reserved memory were active"), std::string::npos) << said;
  EXPECT_NE(said.find("layout score is 6.0 of 100, low"), std::string::npos) << said;
}

TEST(FragReport, TheFitTestNamesTheBlockAndHowOften) {
  AnalysedTrace analysed(combOf(4, 20 * kMiB, 30 * kMiB));
  FragReport fits = reportOf(analysed, {.request_bytes = 12 * kMiB});
  ASSERT_EQ(fits.fits.size(), 1);
  EXPECT_EQ(fits.fits[0].block_bytes, 30 * kMiB);
  EXPECT_EQ(fits.fits[0].times, 8);
  FragReport not_fits = reportOf(analysed, {.request_bytes = 31 * kMiB});
  ASSERT_EQ(not_fits.fits.size(), 1);
  EXPECT_FALSE(not_fits.fits[0].block_bytes.has_value());
  EXPECT_EQ(not_fits.fits[0].driver_bytes, 32 * kMiB);
  std::string said = saidOf(analysed, not_fits);
  EXPECT_NE(said.find("that fits is 30.0 MiB. The allocator would request 32.0 MiB"),
            std::string::npos)
      << said;
}

// A segment for each size, each one hole. The allocator never splits blocks above the limit.
model::Trace holesOf(const std::vector<uint64_t>& sizes, uint64_t max_split_bytes) {
  TraceBuilder b;
  b.settings().max_split_bytes = max_split_bytes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    b.finalSegment(kA + i * 4096 * kMiB, sizes[i]).block(sizes[i], BlockState::kInactive);
  }
  return b.build();
}

TEST(FragReport, HowOftenKnowsTheSplitLimit) {
  AnalysedTrace analysed(holesOf({310 * kMiB, 12 * kMiB}, 100 * kMiB));
  FragReport small = reportOf(analysed, {.request_bytes = 10 * kMiB});
  ASSERT_EQ(small.fits.size(), 1);
  EXPECT_EQ(small.fits[0].times, 1);  // the block of 310 MiB is for large requests
  EXPECT_EQ(small.fits[0].stranded_bytes, 312 * kMiB);
  FragReport large = reportOf(analysed, {.request_bytes = 300 * kMiB});
  ASSERT_EQ(large.fits.size(), 1);
  EXPECT_EQ(large.fits[0].times, 1);
  AnalysedTrace twice(holesOf({310 * kMiB, 310 * kMiB}, 100 * kMiB));
  // Whole blocks only: 150 MiB out of 310 MiB would leave too much.
  EXPECT_EQ(reportOf(twice, {.request_bytes = 150 * kMiB}).fits.at(0).times, 0);
  EXPECT_EQ(reportOf(twice, {.request_bytes = 300 * kMiB}).fits.at(0).times, 2);
}

TEST(FragReport, UnfitWhereNoListOfTheSizeClassExists) {
  AnalysedTrace analysed(holesOf({110 * kMiB}, model::kUnknownBytes));
  FragReport report = reportOf(analysed, {.request_bytes = 600 * 1024});
  EXPECT_TRUE(report.fits.empty());
  EXPECT_TRUE(parseLimit(" unfit>0").value().isBroken(report));
  EXPECT_EQ(parseLimit(" unfit>0").value().metric(), "unfit");
  EXPECT_FALSE(
      parseLimit("unfit>0").value().isBroken(reportOf(analysed, {.request_bytes = 100 * kMiB})));
  std::string said = fragText(analysed, report, {});
  EXPECT_EQ(said.find("any request"), std::string::npos) << said;
}

TEST(FragReport, PinnedHostMemoryHasNoListsAndNoFits) {
  model::Trace trace = holesOf({8 * kMiB}, model::kUnknownBytes);
  trace.devices.at(0).kind = model::DeviceKind::kPinnedHost;
  AnalysedTrace analysed(std::move(trace));
  FragReport report = reportOf(analysed, {.request_bytes = 2 * kMiB});
  EXPECT_TRUE(report.lists.empty());
  EXPECT_TRUE(report.fits.empty());
  EXPECT_FALSE(parseLimit("unfit>0").value().isBroken(report));
  std::string said = fragText(analysed, report, {});
  EXPECT_NE(said.find("does not compute which requests fit"), std::string::npos) << said;
  EXPECT_NE(said.find("This is not computed, because this allocator"), std::string::npos) << said;
  EXPECT_EQ(said.find("The largest request"), std::string::npos) << said;
  EXPECT_TRUE(fragJson(analysed, report).at("fit").is_null());
  EXPECT_FALSE(fragJson(analysed, report).at("rules_known"));
}

TEST(FragReport, WithoutAnAllocatorNothingIsFreeAndNothingIsForecast) {
  AnalysedTrace analysed(ofDriver(false));
  FragReport report = reportOf(analysed, {.request_bytes = 3 * kMiB});
  EXPECT_FALSE(report.rulesKnown());
  EXPECT_FALSE(report.forecast.enough);
  EXPECT_TRUE(report.lists.empty());
  EXPECT_TRUE(report.fits.empty());
  std::string said = saidOf(analysed, report);
  EXPECT_NE(said.find("held 30.0 MiB from the driver"), std::string::npos) << said;
  EXPECT_NE(said.find("pages of 2.0 MiB, so this request takes 4.0 MiB"), std::string::npos)
      << said;
  EXPECT_NE(said.find("does not contain its free"), std::string::npos) << said;
  for (const char* word : {"score", "orecast", "rounds it up", "free block", "stranded"})
    EXPECT_EQ(said.find(word), std::string::npos) << word << "\n" << said;
  nlohmann::json json = fragJson(analysed, report);
  EXPECT_EQ(json.at("allocator"), "driver");
  EXPECT_TRUE(json.at("driver_free").is_null());
  EXPECT_TRUE(json.at("fit").is_null());
  EXPECT_TRUE(json.at("forecast").is_null());
  EXPECT_TRUE(json.at("now").at("reserved").is_null());
  EXPECT_TRUE(json.at("now").at("address").is_null());
  EXPECT_TRUE(json.at("samples").at(0).at("reserved").is_null());
  EXPECT_TRUE(json.at("pools").at(0).at("address").is_null());
}

// The same columns, nothing in those of the scores.
TEST(FragReport, WithoutAnAllocatorTheScoresOfTheCsvAreEmpty) {
  AnalysedTrace analysed(ofDriver(false));
  auto fields = [](const std::string& line) { return std::count(line.begin(), line.end(), ','); };
  std::string csv = fragCsv(reportOf(analysed, {.samples = 1}));
  EXPECT_EQ(fields(csv), fields(fragCsvHead()));
  EXPECT_TRUE(csv.ends_with(std::string(15, ',') + "0" + base::kCsvLineEnd)) << csv;
}

TEST(FragReport, WithoutAnAllocatorTheDriverIsAskedAsItWasHeard) {
  AnalysedTrace analysed(ofDriver(true));
  FragReport small = reportOf(analysed, {.request_bytes = 20 * kMiB});
  nlohmann::json free = fragJson(analysed, small).at("driver_free");
  EXPECT_EQ(free.at("free_bytes"), 40 * kMiB);
  EXPECT_EQ(free.at("taken_since_bytes"), 20 * kMiB);
  EXPECT_EQ(free.at("said_to"), "program");
  std::string said = saidOf(analysed, small);
  EXPECT_NE(said.find("40.0 MiB of 80.0 MiB were free when the program last asked the driver"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("took 20.0 MiB. That is enough"), std::string::npos) << said;
  FragReport large = reportOf(analysed, {.request_bytes = 21 * kMiB});
  said = saidOf(analysed, large);
  EXPECT_NE(said.find("That is too little"), std::string::npos) << said;
  const analysis::DeviceAnalysis& device = *analysed.devices[0];
  EXPECT_EQ(analysis::driverFreeAt(analysed, device, 1)->free_bytes, 40 * kMiB);
  EXPECT_EQ(analysis::driverFreeAt(analysed, device, 1)->taken_since_bytes, 0);
  EXPECT_FALSE(analysis::driverFreeAt(analysed, device, 0).has_value());
}

// NVML numbers devices differently, so its figures count only if there is one.
TEST(FragReport, NvmlIsHeardWhereThereIsOneGpu) {
  for (int32_t gpus : {1, 2}) {
    model::Trace trace = ofDriver(false);
    auto run = std::make_shared<model::RecordedRun>();
    for (int32_t gpu = 0; gpu < gpus; ++gpu) {
      run->devices.device.push_back(gpu);
      run->devices.total_bytes.push_back(80 * kMiB);
    }
    run->device_memory.time_ns = {2'000'000'000, 2'500'000'000};
    run->device_memory.device = {0, 0};
    run->device_memory.pid = {model::kNotRecorded, 41};
    run->device_memory.used_bytes = {30 * kMiB, 12 * kMiB};
    auto work = std::make_shared<model::RecordedWork>();
    work->run = run;
    trace.work = work;
    AnalysedTrace analysed(std::move(trace));
    auto free = analysis::driverFreeAt(analysed, *analysed.devices[0], 3);
    EXPECT_EQ(free.has_value(), gpus == 1);
    if (!free) continue;
    EXPECT_EQ(free->free_bytes, 50 * kMiB);
    EXPECT_FALSE(free->is_answer);
  }
}

// Free memory in lists of the other size class is useless for the typical request.
TEST(FragReport, StrandedBytesAreThoseOfTheListsThatServeTheSize) {
  TraceBuilder b;
  b.stack({"build@model.py:7"}).segmentAlloc(kA, 110 * kMiB).segmentAlloc(kA - 2 * kMiB, 2 * kMiB);
  b.alloc(kA - 2 * kMiB, 600 * 1024);
  b.finalSegment(kA - 2 * kMiB, 2 * kMiB, model::SegmentKind::kSmall)
      .block(600 * 1024, BlockState::kActiveAllocated, 600 * 1024)
      .block(2 * kMiB - 600 * 1024, BlockState::kInactive);
  b.finalSegment(kA, 110 * kMiB).block(110 * kMiB, BlockState::kInactive);
  AnalysedTrace analysed(b.build());
  FragReport report = reportOf(analysed);
  ASSERT_EQ(report.typical_fits.size(), 1);
  EXPECT_EQ(report.typical_fits[0].times, 2);
  std::string said = fragText(analysed, report, {});
  EXPECT_NE(said.find("110 MiB of the free bytes could not serve requests of 600 KiB"),
            std::string::npos)
      << said;
}

TEST(FragReport, TheForecastHasSlicesOfItsOwn) {
  AnalysedTrace analysed(movingHeap());
  FragReport coarse = reportOf(analysed, {.samples = 20});
  FragReport usual = reportOf(analysed);
  FragReport fine = reportOf(analysed, {.samples = 400});
  for (const FragReport* one : {&coarse, &fine}) {
    EXPECT_EQ(fragJson(analysed, *one)["forecast"], fragJson(analysed, usual)["forecast"]);
  }
  EXPECT_EQ(coarse.series.samples.size(), 20);
  EXPECT_GE(coarse.forecast_steps_apart, 2);
  EXPECT_LE(coarse.forecast_steps_apart, 3);
}

TEST(FragReport, ReportsWhenReservedBytesReachTheWall) {
  TraceBuilder b;
  for (uint64_t i = 0; i < 100; ++i) b.segmentAlloc(kA + i * 64 * kMiB, 20 * kMiB);
  b.oom(1000 * kMiB, 2000 * kMiB);
  AnalysedTrace analysed(b.build());
  FragReport report = reportOf(analysed);
  std::string said = saidOf(analysed, report);
  EXPECT_NE(said.find("Reserved memory grows by"), std::string::npos) << said;
  EXPECT_NE(said.find("At this rate it reaches 2.93 GiB after"), std::string::npos) << said;
  EXPECT_EQ(fragJson(analysed, report)["wall"]["rows"].size(), 2);
  EXPECT_TRUE(fragJson(analysed, report)["wall"]["rows"][1]["events_left"].is_number());
}

TEST(FragReport, AModelThatIsWorseThanNoChangeWarnsOfNothing) {
  AnalysedTrace analysed(movingHeap());
  FragReport report = reportOf(analysed);
  ASSERT_TRUE(report.forecast.enough);
  analysis::Forecast& forecast = report.forecast;
  auto& window = forecast.models[static_cast<size_t>(analysis::ForecastModel::kWindow)];
  auto& as_now = forecast.models[static_cast<size_t>(analysis::ForecastModel::kPersistence)];
  forecast.warnings = {.worse = true, .jump = true, .trend = true};
  as_now.errors.overall = 1;
  window.errors.overall = 1.2;
  std::string said = fragText(analysed, report, {});
  EXPECT_EQ(said.find("warns"), std::string::npos) << said;
  EXPECT_EQ(said.find("risk level"), std::string::npos) << said;
  window.errors.overall = 0.5;
  forecast.best = analysis::ForecastModel::kWindow;
  said = saidOf(analysed, report);
  EXPECT_NE(said.find("getting clearly worse"), std::string::npos) << said;
  EXPECT_TRUE(said.find("next three samples, 2 steps apart, is") != std::string::npos ||
              said.find("next three samples, 3 steps apart, is") != std::string::npos)
      << said;
}

TEST(FragReport, ABlockOlderThanTheRecordingHasNoStep) {
  TraceBuilder b;
  for (int i = 0; i < 3; ++i) b.alloc(kA + 8 * kMiB, kMiB).free(kA + 8 * kMiB, kMiB);
  b.finalSegment(kA, 20 * kMiB)
      .block(2 * kMiB, BlockState::kActiveAllocated, 2 * kMiB)
      .block(18 * kMiB, BlockState::kInactive);
  AnalysedTrace analysed(b.build());
  nlohmann::json pins = fragJson(analysed, reportOf(analysed))["pins"]["rows"];
  ASSERT_EQ(pins.size(), 1);
  EXPECT_TRUE(pins[0]["oldest_step"].is_null()) << pins;
}

TEST(FragReport, TheTextFitsEightyColumns) {
  AnalysedTrace analysed(combOf(12, 3 * kMiB, 300 * kMiB));
  for (size_t columns : {20, 60, 80}) {
    std::string text =
        fragText(analysed, reportOf(analysed, {.request_bytes = 5}), {.columns = columns});
    size_t begin = 0;
    while (begin < text.size()) {
      size_t end = text.find('\n', begin);
      EXPECT_LE(base::displayWidth(text.substr(begin, end - begin)), columns)
          << text.substr(begin, end - begin);
      begin = end + 1;
    }
  }
}

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(FragReport, AFitSaysWhatItIsRoundedTo) {
  AnalysedTrace analysed(combOf(12, 3 * kMiB, 4 * kMiB));
  std::string said = saidOf(analysed, reportOf(analysed, {.request_bytes = 3 * kMiB + 1}));
  EXPECT_TRUE(says(said, "Would 3.0 MiB (3,145,729 B) fit?")) << said;
  EXPECT_TRUE(says(said, "rounds it up to a block of 3.0 MiB (3,146,240 B).")) << said;
  said = saidOf(analysed, reportOf(analysed, {.request_bytes = 3 * kMiB}));
  EXPECT_TRUE(says(said, "Would 3.0 MiB fit?")) << said;
  EXPECT_FALSE(says(said, "rounds it up")) << said;
}

TEST(FragReport, ARequestLargerThanTheDeviceNeverFits) {
  TraceBuilder b;
  for (uint64_t i = 0; i < 100; ++i) b.segmentAlloc(kA + i * 64 * kMiB, 20 * kMiB);
  b.oom(1000 * kMiB, 1000 * kMiB);
  AnalysedTrace analysed(b.build());
  std::string said = saidOf(analysed, reportOf(analysed, {.request_bytes = 1024 * 1024 * kMiB}));
  EXPECT_TRUE(
      says(said, "No, in any layout, because only 2.93 GiB were available to this process."))
      << said;
  said = saidOf(analysed, reportOf(analysed, {.request_bytes = 2048 * kMiB}));
  EXPECT_FALSE(says(said, "in any layout")) << said;
}

// One quantity, one unit: the driver's free memory is shown twice.
TEST(FragReport, WhatWasLeftHasOneUnit) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).alloc(kA, 2 * kMiB);
  b.oom(3842 * kMiB, 4008 * kMiB);
  AnalysedTrace analysed(b.build());
  std::string said = saidOf(analysed, reportOf(analysed, {.request_bytes = 512 * kMiB}));
  EXPECT_TRUE(says(said, "It requested 4,008 MiB, and the driver had 3,842 MiB free.")) << said;
  EXPECT_TRUE(says(said, "which had 3,842 MiB free")) << said;
  EXPECT_FALSE(says(said, "3.75 GiB")) << said;
}

TEST(FragReport, PinsOfOlderBlocksSaySo) {
  TraceBuilder b;
  for (int i = 0; i < 3; ++i) b.alloc(kA + 8 * kMiB, kMiB).free(kA + 8 * kMiB, kMiB);
  b.finalSegment(kA, 20 * kMiB)
      .block(2 * kMiB, BlockState::kActiveAllocated, 2 * kMiB)
      .block(18 * kMiB, BlockState::kInactive);
  AnalysedTrace analysed(b.build());
  std::string said = saidOf(analysed, reportOf(analysed));
  EXPECT_TRUE(says(said, "1 block of 2.0 MiB (older than the recording, no stack) keeps")) << said;
}

TEST(FragReport, ItsWordsAreExplainedOnce) {
  AnalysedTrace analysed(movingHeap());
  FragReport report = reportOf(analysed);
  EXPECT_TRUE(says(saidOf(analysed, report), "stranded: free memory that requests of"));
  EXPECT_FALSE(says(saidOf(analysed, report, {.words = false}), "stranded: free"));
}

TEST(FragReport, CsvHasARowPerSampleAndAHead) {
  AnalysedTrace analysed(combOf(12, 3 * kMiB, 3 * kMiB));
  FragReport report = reportOf(analysed);
  std::string head = fragCsvHead();
  std::string rows = fragCsv(report);
  auto commas = [](std::string_view line) { return std::count(line.begin(), line.end(), ','); };
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'),
            static_cast<ptrdiff_t>(report.series.samples.size()));
  EXPECT_EQ(commas(rows.substr(0, rows.find('\n'))), commas(head));
  EXPECT_EQ((head + rows).find('\r'), std::string::npos) << "lines end as Unix tools expect";
}

void collectKeys(const nlohmann::json& value, const std::string& path,
                 std::set<std::string>& keys) {
  if (value.is_array()) {
    for (const nlohmann::json& item : value) collectKeys(item, path + "[]", keys);
  } else if (value.is_object()) {
    for (const auto& [key, item] : value.items()) {
      std::string at = path.empty() ? key : path + "." + key;
      keys.insert(at);
      collectKeys(item, at, keys);
    }
  }
}

// docs/formats/json-frag.md lists exactly the keys that the command writes; a sample has those of
// `now`.
TEST(FragJson, TheDocumentNamesEveryKey) {
  const char* source = std::getenv("TIDEGAUGE_SOURCE_DIR");
  if (source == nullptr) GTEST_SKIP() << "TIDEGAUGE_SOURCE_DIR is not set; ctest sets it";
  std::ifstream document(std::string(source) + "/docs/formats/json-frag.md");
  ASSERT_TRUE(document.is_open());
  std::set<std::string> documented;
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("| `")) documented.insert(line.substr(3, line.find('`', 3) - 3));
  }
  AnalysedTrace analysed(combOf(70, 20 * kMiB, 30 * kMiB));
  auto choice = choose(analysed, {.device = {}, .from = "0", .to = "backward"});
  EXPECT_FALSE(choice.ok());  // no such phase
  choice = choose(analysed, {.device = {}, .from = "0", .to = "14"});
  ASSERT_TRUE(choice.ok());
  choice.value().devices.at(0).range->notes.push_back("a note");
  FragReport report =
      gatherFrag(analysed, choice.value().devices.at(0), {.request_bytes = 12 * kMiB});
  ASSERT_TRUE(report.forecast.enough);
  report.driver_free.emplace();  // reported without an allocator, and so without a fit
  nlohmann::json written = {{"file", "x"}, {"devices", {fragJson(analysed, report)}}};
  std::set<std::string> keys;
  collectKeys(written, "", keys);
  EXPECT_EQ(documented, keys);
}

// Only an out-of-memory event shows it, unless the user gives it.
TEST(FragReport, TheSizeOfTheDeviceIsForTheWall) {
  AnalysedTrace analysed(testing::simulate({.seed = 5, .events = 600}).trace);
  EXPECT_FALSE(reportOf(analysed).wall.capacity_bytes);
  FragReport told = reportOf(analysed, {.capacity_bytes = uint64_t{80} << 30});
  EXPECT_EQ(told.wall.capacity_bytes, uint64_t{80} << 30);
  EXPECT_EQ(told.wall.capacity_source, analysis::CapacitySource::kGiven);
  EXPECT_EQ(fragJson(analysed, told)["wall"]["rows"][0]["capacity_bytes"], uint64_t{80} << 30);
}

TEST(FragLimits, AreReadAndCompared) {
  AnalysedTrace analysed(combOf(4, 20 * kMiB, 30 * kMiB));
  FragReport report = reportOf(analysed);
  auto breaks = [&](std::string_view text) {
    auto limit = parseLimit(text);
    EXPECT_TRUE(limit.ok()) << text;
    return limit.ok() && limit.value().isBroken(report);
  };
  EXPECT_TRUE(breaks("free>=120MiB"));
  EXPECT_FALSE(breaks("free>120MiB"));
  EXPECT_TRUE(breaks("free == 125829120"));
  EXPECT_FALSE(breaks("free!=120MiB"));
  EXPECT_TRUE(breaks("external>=75%"));
  EXPECT_TRUE(breaks("external >= 0.75"));
  EXPECT_FALSE(breaks("external>75%"));
  EXPECT_TRUE(breaks("holes<=4"));
  EXPECT_FALSE(breaks("holes<4"));
  EXPECT_TRUE(breaks("largest_hole<1GiB"));
  EXPECT_TRUE(breaks("score>1"));
  EXPECT_EQ(parseLimit("free>=120MiB").value().sentence(report),
            "the condition “free>=120MiB” is true, because free is 120 MiB");
}

TEST(FragLimits, SayWhatThereIs) {
  for (std::string_view text :
       {"", "score", "score=60", "score=>60", "score>", "score>sixty", "score>60MiB",
        "pinned>2 apples", "spoon>1", ">60", "external>5%%", "score>nan", "score>inf"}) {
    auto limit = parseLimit(text);
    ASSERT_FALSE(limit.ok()) << text;
    EXPECT_EQ(limit.error().kind, base::ErrorKind::kUsage);
    EXPECT_FALSE(limit.error().hint.empty()) << text;
  }
  EXPECT_NE(parseLimit("spoon>1").error().hint.find("largest_hole"), std::string::npos);
}

TEST(FragReport, OfADeviceThatNeverOwnedMemory) {
  TraceBuilder b;
  b.oom(5, 10);
  AnalysedTrace analysed(b.build());
  FragReport report = reportOf(analysed);
  EXPECT_NE(fragText(analysed, report, {}).find("Nothing was reserved."), std::string::npos);
  EXPECT_TRUE(fragJson(analysed, report).is_object());
}

}  // namespace
}  // namespace tidegauge::report
