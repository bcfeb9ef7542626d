#include "wss/file/measurement_page.h"

#include <gtest/gtest.h>

#include "unit/wss/made_measurement.h"
#include "wss/file/measurement_text.h"

namespace tidegauge::wss {
namespace {

using nlohmann::json;

Measurement profileOf(const std::vector<uint64_t>& mib, uint64_t rss_mib) {
  Measurement measurement{.head = head("profile")};
  int64_t window_ns = 100'000'000;
  for (uint64_t touched : mib) {
    Measurement::Sample sample{.row = row(touched, window_ns)};
    sample.row.sums.rss = rss_mib * kMiB;
    measurement.samples.push_back(std::move(sample));
    window_ns *= 2;
  }
  return measurement;
}

TEST(MeasurementPage, HasTheCurveTheHeatAndTheMappings) {
  auto measurement = read(file(head("rolling"), 3, 0.1));
  ASSERT_TRUE(measurement.ok());
  auto page = nlohmann::json::parse(measurementPage(measurement.value()));
  EXPECT_EQ(page["curve"][1]["window_s"], 0.2);
  EXPECT_EQ(page["curve"][1]["bytes"], 8 * kMiB);
  EXPECT_TRUE(page["knee"].is_null());
  EXPECT_EQ(page["verdict"],
            "The touched memory still grows in the longest window. "
            "Measure longer windows (--rolling with more windows).");
  EXPECT_EQ(page["careful"][0], "Careful: one thing.");
  EXPECT_EQ(page["careful"].size(), 2U);  // and the unwatched time
  EXPECT_EQ(page["windows"][0]["shortage"], "none");
  EXPECT_EQ(page["marks"][0]["name"], "L2");
  EXPECT_EQ(page["heat"]["percent"][0], (nlohmann::json{50, 50, 50}));
  EXPECT_EQ(page["heat"]["rows"][0]["name"], "libc.so");
  EXPECT_EQ(page["mappings"][0]["cold"], 44 * kMiB);
  EXPECT_EQ(page["limit"]["samples"], 0);
  EXPECT_EQ(page["fit"], "8.0 MiB were touched in 0.2 s, more than L2 (1.0 MiB).");  // the longest
  EXPECT_EQ(page["windows"].size(), 3U);
}

TEST(MeasurementPage, SaysWhatIsALowerBound) {
  Measurement measurement{.head = head("cumulative")};
  for (int64_t i = 1; i <= 2; ++i)
    measurement.samples.push_back(
        {.time_s = static_cast<double>(i), .row = row(20, i * 1'000'000'000)});
  MappingUse use;
  use.sums = {.rss = 30 * kMiB, .referenced = 20 * kMiB};
  measurement.samples.back().row.uses = {use};
  measurement.samples.back().row.windows = {{}};
  auto page = json::parse(measurementPage(measurement));
  EXPECT_EQ(page["mappings"][0]["cold"], 10 * kMiB);
  EXPECT_FALSE(page["windows"][1]["at_least"]);
  measurement.samples.back().row.meanwhile.is_reclaimed = true;
  page = json::parse(measurementPage(measurement));
  EXPECT_TRUE(page["mappings"][0]["cold"].is_null());
  EXPECT_FALSE(page["windows"][0]["at_least"]);
  EXPECT_TRUE(page["windows"][1]["at_least"]);
  EXPECT_TRUE(page["windows"][1]["ci95"].is_null());
  EXPECT_TRUE(page["curve"][1]["at_least"]);
}

// A day of -C: as many points as can be drawn, the last one among them.
TEST(MeasurementPage, ALongCurveIsThinned) {
  Measurement measurement{.head = head("cumulative")};
  for (int64_t i = 1; i <= 86'400; ++i)
    measurement.samples.push_back(
        {.time_s = static_cast<double>(i), .row = row(20, i * 1'000'000'000)});
  json page = json::parse(measurementPage(measurement));
  EXPECT_LE(page["curve"].size(), 1001U);
  EXPECT_GE(page["curve"].size(), 500U);
  EXPECT_EQ(page["curve"].back()["window_s"], 86'400.0);
}

// Windows of 0.1 s that really came every 0.3 s: they are shown with that length.
TEST(MeasurementPage, RollingWindowsAreAsLongAsTheyWere) {
  Measurement measurement{.head = head("rolling", 0.1)};
  for (int i = 0; i < 11; ++i) {
    Row one = row(20);
    one.estimate_ns = 200'000'000;
    measurement.samples.push_back({.time_s = 0.3 * (i + 1), .row = one, .rolling = rolling(4)});
  }
  json page = json::parse(measurementPage(measurement));
  EXPECT_NEAR(page["curve"][0]["window_s"].get<double>(), 0.3, 1e-6);
  EXPECT_NEAR(page["curve"][1]["window_s"].get<double>(), 0.6, 1e-6);
  std::string careful = page["careful"].dump();
  EXPECT_NE(careful.find("A window took 0.3 s on average"), std::string::npos) << careful;
  EXPECT_NE(careful.find("100.0 ms on average were not watched"), std::string::npos) << careful;
  std::string text = measurementText(measurement, 5, 1000, false);
  EXPECT_NE(text.find("multiply the times of headings and of reuse by 3."), std::string::npos);
}

TEST(MeasurementPage, OfNoWindowHasNone) {
  auto measurement = read(headLine(head("profile")) + "\n");
  ASSERT_TRUE(measurement.ok());
  auto page = nlohmann::json::parse(measurementPage(measurement.value()));
  EXPECT_EQ(page["samples"], 0);
  EXPECT_TRUE(page["curve"].empty());
}

// The page and the terminal agree about one file.
void expectVerdict(const Measurement& measurement, const json& knee, const std::string& words) {
  json page = json::parse(measurementPage(measurement));
  EXPECT_EQ(page["knee"], knee) << words;
  EXPECT_NE(page["verdict"].get<std::string>().find(words), std::string::npos) << page["verdict"];
  std::string text = measurementText(measurement, 5, 1000, false);
  EXPECT_NE(text.find(page["verdict"].get<std::string>()), std::string::npos) << text;
}

TEST(MeasurementPage, JudgesAProfileAsTheTerminalDoes) {
  expectVerdict(profileOf({1, 9, 10, 10}, 64), 2, "Windows longer than 0.4 s add little");
  expectVerdict(profileOf({1, 9, 20, 30}, 64), nullptr, "still grows");
  expectVerdict(profileOf({1, 30, 10, 10}, 64), nullptr,
                "In the window of 0.4 s, 20.0 MiB less was touched than in the one before");
  expectVerdict(profileOf({1, 62, 63, 63}, 64), 1,
                "The process touches nearly all of its memory (63.0 MiB");
  expectVerdict(profileOf({0, 0}, 64), nullptr, "Nothing was touched");
}

TEST(MeasurementPage, OfWhatWasWrittenHasNoKneeAndNoPlace) {
  Measurement measurement = profileOf({4, 20, 20}, 64);
  measurement.head.course = "cumulative";
  measurement.head.tells_writes = true;
  json page = json::parse(measurementPage(measurement));
  EXPECT_TRUE(page["tells_writes"]);
  EXPECT_TRUE(page["knee"].is_null());
  EXPECT_EQ(page["verdict"], "");
  EXPECT_TRUE(page["marks"].empty());
  EXPECT_TRUE(page["fit"].get<std::string>().starts_with("20.0 MiB were written in 0.4 s"))
      << page["fit"];
}

TEST(MeasurementPage, SaysWhatIsInNoFigure) {
  Measurement measurement = profileOf({4, 20}, 64);
  measurement.samples.back().row.unmapped_bytes = kMiB;
  Meanwhile& meanwhile = measurement.samples[0].row.meanwhile;
  meanwhile.within = {{.scanned = 5 * kMiB}, 1'000'000'000};
  meanwhile.scans_machine = true;
  meanwhile.is_reclaimed = true;
  measurement.samples[0].shortage = Shortage::kShort;
  measurement.is_cut = true;
  measurement.head.limits.clear();
  json page = json::parse(measurementPage(measurement));
  ASSERT_EQ(page["careful"].size(), 3U);
  EXPECT_TRUE(page["careful"][0].get<std::string>().ends_with(
      "In the last of them, the kernel scanned 5.0 MiB to free memory on the whole machine."));
  EXPECT_EQ(page["careful"][1], "The file ends inside a line, which is ignored.");
  EXPECT_EQ(
      page["careful"][2],
      "1.0 MiB of the memory that the file lists as pinned are no longer mapped in this process.");
  EXPECT_EQ(page["windows"][0]["shortage"], "short");
}

}  // namespace
}  // namespace tidegauge::wss
