#include "wss/measurement.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "wss/measurement_page.h"
#include "wss/measurement_text.h"
#include "wss/suggested_limit.h"

namespace tidegauge::wss {
namespace {

constexpr uint64_t kMiB = 1 << 20, kAddress = 0x7f0000000000;

MeasurementHead head(const std::string& course, double window_s = 0.1) {
  return {.pid = 4711,
          .process = "mysqld",
          .backend = "pte",
          .how = "accessed bits",
          .limits = {"one thing"},
          .course = course,
          .window_s = window_s,
          .knows_sharing = false,
          .machine = {.l2_bytes = kMiB, .limit_of = "/db"}};
}

Row row(uint64_t touched_mib, int64_t window_ns = 100'000'000) {
  Row row;
  row.window = {window_ns, window_ns, window_ns};
  row.sums = {.rss = 64 * kMiB, .referenced = touched_mib * kMiB};
  MappingUse low, high;
  low.mapping.start = kAddress, low.mapping.end = kAddress + kMiB;
  low.mapping.path = "/lib/libc.so";
  low.sums = {.rss = kMiB};
  high.mapping.start = kAddress + kMiB, high.mapping.end = kAddress + 64 * kMiB;
  high.sums = row.sums;
  row.uses = {low, high};
  row.windows = {row.window, row.window};
  PageBits bits{.table = kAddress};
  bits.there[0] = 0xffff, bits.touched[0] = 0xff;
  row.pages = {bits};
  return row;
}

SuggestedLimit limitOf(const Measurement& measurement) {
  return suggestedLimit(measurement).value_or(SuggestedLimit{});
}

Rolling rolling(uint64_t mib) {
  return {.within = {{1, mib * kMiB}, {2, 2 * mib * kMiB}}, .never = 7, .first = 8, .again = {9}};
}

std::string file(const MeasurementHead& head, int rows) {
  std::string text = headLine(head) + "\n";
  Rolling of = rolling(4);
  for (int i = 0; i < rows; ++i)
    text += rowLine(head, row(20), 1000 + i, {}, head.course == "rolling" ? &of : nullptr) + "\n";
  return text;
}

base::Result<Measurement> read(const std::string& text) {
  std::istringstream in(text);
  return readMeasurement(in);
}

std::string errorOf(const std::string& text) {
  auto measurement = read(text);
  return measurement.ok() ? "none" : measurement.error().what;
}

TEST(Measurement, ComesBackAsItWasKept) {
  auto measurement = read(file(head("rolling"), 3));
  ASSERT_TRUE(measurement.ok()) << measurement.error().what;
  const Measurement& it = measurement.value();
  EXPECT_EQ(it.head.process, "mysqld");
  EXPECT_EQ(it.head.machine.l2_bytes, kMiB);
  EXPECT_EQ(it.head.machine.limit_of, "/db");
  EXPECT_EQ(it.head.limits, std::vector<std::string>{"one thing"});
  ASSERT_EQ(it.samples.size(), 3U);
  EXPECT_EQ(it.samples[1].row.sums.referenced, 20 * kMiB);
  EXPECT_NEAR(it.samples[1].time_s, 1.1, 1e-6);
  EXPECT_EQ(it.samples[1].rolling.within[1].bytes, 8 * kMiB);
  EXPECT_EQ(it.samples[1].rolling.again[0], 9U);
  EXPECT_TRUE(it.samples[1].row.uses.empty());  // only of the last
  ASSERT_EQ(it.samples[2].row.uses.size(), 2U);
  EXPECT_EQ(it.samples[2].row.uses[0].mapping.path, "/lib/libc.so");  // by address
  ASSERT_EQ(it.heat.columns().size(), 3U);
  EXPECT_EQ(it.heat.columns()[0].cells[0].touched, 8U);
  EXPECT_FALSE(it.is_cut);
}

TEST(Measurement, IsKnownByItsBeginning) {
  EXPECT_TRUE(isMeasurement(headLine(head("single"))));
  EXPECT_FALSE(isMeasurement(R"({"pid": 3})"));
  EXPECT_FALSE(isMeasurementFile("/nonexistent"));
}

TEST(Measurement, LeavesOutALineThatIsStillWritten) {
  std::string text = file(head("snapshots"), 2);
  auto measurement = read(text.substr(0, text.size() - 100));
  ASSERT_TRUE(measurement.ok());
  EXPECT_EQ(measurement.value().samples.size(), 1U);
  EXPECT_TRUE(measurement.value().is_cut);
}

TEST(Measurement, SaysWhatIsWrongAndWhere) {
  std::string good = file(head("rolling"), 1);
  auto with = [&](const std::string& what, const std::string& by) {
    std::string text = good;
    size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return text.replace(at, what.size(), by);
  };
  EXPECT_EQ(errorOf(""), "line 1: there is none");
  EXPECT_EQ(errorOf("{}\n"), "line 1: no head of a measurement of tidegauge wss");
  EXPECT_EQ(errorOf(R"({"tidegauge_wss":1)"), "line 1: it is no JSON object");
  EXPECT_EQ(errorOf(with("wss\":1", "wss\":2")),
            "line 1: this version does not know it: a newer tidegauge wrote it");
  EXPECT_EQ(errorOf(with("wss\":1", "wss\":0")), "line 1: there is no version 0 of it");
  EXPECT_EQ(errorOf(with("wss\":1", "wss\":1.5")),
            "line 1: this version does not know it: a newer tidegauge wrote it");
  EXPECT_EQ(errorOf(with("\"kind\":\"anonymous\"", "\"kind\":\"odd\"")),
            "line 2: \"kind\" is none that this version knows");
  EXPECT_EQ(errorOf(with("\"rolling\"", "\"waltz\"")),
            "line 1: \"course\" is none that this version knows");
  EXPECT_EQ(errorOf(with("\"mysqld\"", "3")),
            "line 1: \"process\" is no text, or longer than 4096 bytes");
  EXPECT_EQ(errorOf(with("\"mysqld\"", fmt::format("\"{:a>5000}\"", ""))),
            "line 1: \"process\" is no text, or longer than 4096 bytes");
  EXPECT_EQ(errorOf(with("\"rss\":1048576", "\"rss\":-1")),
            "line 2: \"rss\" is not from 0 to 9.0072e+15");
  EXPECT_EQ(errorOf(with("\"cost\"", "\"price\"")), "line 2: \"cost\" is no object");
  EXPECT_EQ(errorOf(with(",16,8]", ",16,17]")), "line 2: a cell is out of order, or cannot be");
  EXPECT_EQ(errorOf(with(",16,8]", ",16]")),
            "line 2: a cell is not [address, pages, touched pages]");
  EXPECT_EQ(errorOf(with(fmt::format("\"end\":{}", kAddress + kMiB), "\"end\":3")),
            "line 2: a mapping ends before it begins");
  EXPECT_EQ(errorOf(with("\"time\"", "\"x\":" + std::string(100000, '[') + "],\"time\"")),
            "line 2: it is no JSON object");
}

// [vdso] has an address; [vsyscall] one that no other memory has, and is told without.
TEST(Measurement, KeepsAddressesOfTheKernelsOwnMappings) {
  Row of = row(20);
  for (MappingUse& use : of.uses) use.mapping.kind = MappingKind::kKernel;
  of.uses[1].mapping.start = 0xffffffffff600000, of.uses[1].mapping.end = 0xffffffffff601000;
  auto measurement =
      read(headLine(head("single")) + "\n" + rowLine(head("single"), of, 1000, {}, nullptr) + "\n");
  ASSERT_TRUE(measurement.ok()) << measurement.error().what;
  const auto& uses = measurement.value().samples[0].row.uses;
  EXPECT_EQ(uses[0].mapping.start, 0U);
  EXPECT_EQ(uses[1].mapping.start, kAddress);
}

TEST(Measurement, KeepsEveryKindOfMemory) {
  Row of = row(20);
  of.uses[1].mapping.kind = MappingKind::kPinned;
  auto measurement =
      read(headLine(head("single")) + "\n" + rowLine(head("single"), of, 1000, {}, nullptr) + "\n");
  ASSERT_TRUE(measurement.ok()) << measurement.error().what;
  EXPECT_EQ(measurement.value().samples[0].row.uses[1].mapping.kind, MappingKind::kPinned);
}

TEST(Measurement, KeepsWhatWasWritten) {
  MeasurementHead of = head("single");
  of.tells_writes = true;
  Row written = row(20);
  written.unmapped_bytes = 4096;
  auto measurement = read(headLine(of) + "\n" + rowLine(of, written, 1000, {}, nullptr) + "\n");
  ASSERT_TRUE(measurement.ok()) << measurement.error().what;
  const Row& back = measurement.value().samples[0].row;
  EXPECT_EQ(back.sums.referenced, 20 * kMiB);
  EXPECT_EQ(back.unmapped_bytes, 4096U);
  std::string text = measurementText(measurement.value(), 5, 100, false);
  EXPECT_NE(text.find("Written by mysqld"), std::string::npos) << text;
  EXPECT_NE(text.find("20.0 MiB written in 0.1 s"), std::string::npos) << text;
  auto page = nlohmann::json::parse(measurementPage(measurement.value()));
  EXPECT_EQ(page["tells_writes"], true);
}

TEST(Measurement, SaysThatMemoryWasShort) {
  MeasurementHead of = head("single");
  nlohmann::json pressure{{"shortage", "near"}, {"bytes", {{"scanned", 5 * kMiB}}}};
  auto with = [&](const char* shortage) {
    pressure["shortage"] = shortage;
    auto measurement =
        read(headLine(of) + "\n" + rowLine(of, row(20), 1000, {}, nullptr, pressure) + "\n");
    return measurement.ok() ? measurementText(measurement.value(), 5, 200, false) : "";
  };
  EXPECT_NE(with("near").find("memory was short meanwhile (5.0 MiB were searched for room, on the "
                              "whole machine)"),
            std::string::npos);
  EXPECT_EQ(with("none").find("memory was short"), std::string::npos);
}

// Somebody set the clock back by an hour between the second and the third.
TEST(Measurement, GoesOnWhereTheClockWasSetBack) {
  MeasurementHead of = head("rolling");
  Rolling windows = rolling(4);
  std::string text = headLine(of) + "\n";
  for (double unix_s : {5000.0, 5000.1, 1400.2, 1400.3})
    text += rowLine(of, row(20), unix_s, {}, &windows) + "\n";
  auto measurement = read(text);
  ASSERT_TRUE(measurement.ok()) << measurement.error().what;
  const auto& samples = measurement.value().samples;
  for (size_t i = 0; i < samples.size(); ++i)
    EXPECT_NEAR(samples[i].time_s, 0.1 * static_cast<double>(i + 1), 1e-6) << i;
}

TEST(Measurement, BoundsALine) {
  std::string text = headLine(head("single")) + "\n" + std::string(kMostLineBytes + 1, ' ');
  EXPECT_EQ(errorOf(text), fmt::format("line 2: longer than {} bytes", kMostLineBytes));
}

TEST(Measurement, IsToldInWords) {
  auto measurement = read(file(head("rolling"), 3));
  ASSERT_TRUE(measurement.ok());
  std::string text = measurementText(measurement.value(), 5, 100, false);
  EXPECT_NE(text.find("Touched by mysqld (process 4711), by pte"), std::string::npos);
  EXPECT_NE(text.find("Never(MB)"), std::string::npos);
  EXPECT_NE(text.find("A row is"), std::string::npos);
  EXPECT_NE(text.find("/lib/libc.so"), std::string::npos);
  EXPECT_NE(text.find("No memory limit is suggested"), std::string::npos);
}

TEST(MeasurementPage, HasTheCurveTheHeatAndTheMappings) {
  auto measurement = read(file(head("rolling"), 3));
  ASSERT_TRUE(measurement.ok());
  auto page = nlohmann::json::parse(measurementPage(measurement.value()));
  EXPECT_EQ(page["curve"][1]["window_s"], 0.2);
  EXPECT_EQ(page["curve"][1]["bytes"], 8 * kMiB);
  EXPECT_TRUE(page["knee"].is_null());  // it still grows
  EXPECT_EQ(page["marks"][0]["name"], "L2");
  EXPECT_EQ(page["heat"]["percent"][0], (nlohmann::json{50, 50, 50}));
  EXPECT_EQ(page["heat"]["rows"][0]["name"], "libc.so");
  EXPECT_EQ(page["mappings"][0]["cold"], 44 * kMiB);
  EXPECT_EQ(page["limit"]["samples"], 0);
  EXPECT_EQ(page["fit"], "8.0 MiB touched in 0.2 s: more than L2 (1.0 MiB).");  // the longest
  EXPECT_EQ(page["windows"].size(), 3U);
}

// What was touched before is missing from there on: no knee, and that is said.
TEST(MeasurementPage, HasNoKneeWhereMemoryWasGivenBack) {
  MeasurementHead of = head("profile");
  std::string text = headLine(of) + "\n";
  for (auto [seconds, mib, rss_mib] : {std::tuple{1, 40, 64}, {2, 41, 64}, {4, 42, 44}}) {
    Row one = row(static_cast<uint64_t>(mib), seconds * 1'000'000'000LL);
    one.sums.rss = static_cast<uint64_t>(rss_mib) * kMiB;
    text += rowLine(of, one, 1000 + seconds, {}, nullptr) + "\n";
  }
  auto measurement = read(text);
  ASSERT_TRUE(measurement.ok()) << measurement.error().what;
  auto page = nlohmann::json::parse(measurementPage(measurement.value()));
  EXPECT_TRUE(page["knee"].is_null());
  EXPECT_NE(page["verdict"].get<std::string>().find("It gave memory back"), std::string::npos);
}

TEST(MeasurementPage, OfNoWindowHasNone) {
  auto measurement = read(headLine(head("profile")) + "\n");
  ASSERT_TRUE(measurement.ok());
  auto page = nlohmann::json::parse(measurementPage(measurement.value()));
  EXPECT_EQ(page["samples"], 0);
  EXPECT_TRUE(page["curve"].empty());
}

TEST(SuggestedLimit, IsTheNinetyNinthOfAHundredAndATenth) {
  Measurement measurement{.head = head("snapshots", 60)};
  for (uint64_t i = 1; i <= 200; ++i)
    measurement.samples.push_back({.row = row(i, 60'000'000'000)});
  SuggestedLimit limit = limitOf(measurement);
  EXPECT_EQ(limit.samples, 200U);
  EXPECT_EQ(limit.most, 198 * kMiB);
  EXPECT_NEAR(static_cast<double>(*limit.bytes), 198 * 1.1 * kMiB, 1);
  EXPECT_NE(limit.text().find("in 99 of 100 windows of 60 s, of 200,"), std::string::npos);
}

// The 99th of 60 would be the largest: so that is what it is called.
TEST(SuggestedLimit, OfFewIsTheLargest) {
  Measurement measurement{.head = head("snapshots", 60)};
  for (uint64_t i = 1; i <= 60; ++i) measurement.samples.push_back({.row = row(i, 60'000'000'000)});
  SuggestedLimit limit = limitOf(measurement);
  EXPECT_EQ(limit.most, 60 * kMiB);
  EXPECT_NE(limit.text().find("in 60 windows of 60 s it touched 60.0 MiB at the most"),
            std::string::npos);
}

TEST(SuggestedLimit, IsNoneOfWhatWasWrittenOrOfOneWindow) {
  Measurement measurement{.head = head("snapshots", 60)};
  measurement.head.tells_writes = true;
  EXPECT_FALSE(suggestedLimit(measurement));
  EXPECT_FALSE(suggestedLimit({.head = head("single")}));
}

TEST(SuggestedLimit, WantsSixtyMinutes) {
  Measurement measurement{.head = head("snapshots", 60)};
  for (int i = 0; i < 59; ++i) measurement.samples.push_back({.row = row(20, 60'000'000'000)});
  EXPECT_FALSE(limitOf(measurement).bytes);
  EXPECT_NE(limitOf(measurement).text().find("here are 59"), std::string::npos);
  // Short windows are none, however many.
  for (Measurement::Sample& sample : measurement.samples) sample.row = row(20);
  EXPECT_EQ(limitOf(measurement).samples, 0U);
}

TEST(SuggestedLimit, JoinsRollingWindowsAndCountsThemOnce) {
  Measurement measurement{.head = head("rolling", 30)};
  for (int i = 0; i < 120; ++i)
    measurement.samples.push_back({.row = row(4), .rolling = rolling(4)});
  SuggestedLimit limit = limitOf(measurement);
  EXPECT_EQ(limit.samples, 60U);
  EXPECT_EQ(limit.most, 8 * kMiB);
}

}  // namespace
}  // namespace tidegauge::wss
