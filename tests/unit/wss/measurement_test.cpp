#include "wss/measurement.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "made_measurement.h"
#include "wss/measurement_text.h"

namespace tidegauge::wss {
namespace {

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

TEST(Measurement, KeepsWhetherMemoryWasShortAndWhatIsPinned) {
  MeasurementHead of = head("snapshots");
  of.pressure_cgroup = "/db";
  Row one = row(20);
  one.taken_ns = 1'000'000'000;
  one.unmapped_bytes = 3 * kMiB;
  one.uses[1].mapping.kind = MappingKind::kPinned;
  MemoryCounters counted{.refaulted_file = 2 * kMiB, .scanned = 4 * kMiB};
  auto measurement =
      read(headLine(of) + "\n" + rowLine(of, one, 1000, {}, nullptr, counted) + "\n");
  ASSERT_TRUE(measurement.ok()) << measurement.error().what;
  const Measurement::Sample& sample = measurement.value().samples[0];
  ASSERT_TRUE(sample.pressure);
  EXPECT_EQ(sample.pressure->shortage, Shortage::kShort);
  EXPECT_EQ(sample.pressure->scanned_bytes, 4 * kMiB);
  EXPECT_EQ(sample.row.unmapped_bytes, 3 * kMiB);
  EXPECT_EQ(sample.row.uses[1].mapping.kind, MappingKind::kPinned);
  std::string text = measurementText(measurement.value(), 5, 1000, false);
  EXPECT_NE(text.find("Careful: memory was short meanwhile (4.0 MiB were searched for room)."),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("3.0 MiB are not mapped in this process any more"), std::string::npos);
  EXPECT_NE(text.find("pinned"), std::string::npos);
}

TEST(Measurement, OfWritesTellsWhatWasWritten) {
  MeasurementHead of = head("single");
  of.tells_writes = true;
  std::string line = rowLine(of, row(20), 1000, {}, nullptr, {});
  EXPECT_NE(line.find("\"written\":20971520"), std::string::npos) << line;
  auto measurement = read(headLine(of) + "\n" + line + "\n");
  ASSERT_TRUE(measurement.ok()) << measurement.error().what;
  EXPECT_EQ(measurement.value().samples[0].row.sums.referenced, 20 * kMiB);
  std::string text = measurementText(measurement.value(), 5, 100, false);
  EXPECT_TRUE(text.starts_with("Written by mysqld")) << text;
  EXPECT_NE(text.find("Wrt(MB)"), std::string::npos);
  EXPECT_NE(text.find("20.0 MiB written in 0.1 s, 200 MiB/s"), std::string::npos) << text;
}

TEST(Measurement, EveryRowSaysWhatMayBeOfOthers) {
  MeasurementHead of = head("cumulative");
  of.knows_sharing = true;
  Row one = row(20);
  one.uses[1].sums.shared = 5 * kMiB;
  std::string text = headLine(of) + "\n";
  for (int i = 0; i < 2; ++i) text += rowLine(of, one, 1000 + i, {}, nullptr, {}) + "\n";
  auto measurement = read(text);
  ASSERT_TRUE(measurement.ok()) << measurement.error().what;
  std::string told = measurementText(measurement.value(), 5, 100, false);
  EXPECT_NE(told.find("5.00", told.find("5.00") + 1), std::string::npos) << told;
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

}  // namespace
}  // namespace tidegauge::wss
