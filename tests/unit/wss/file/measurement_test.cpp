#include "wss/file/measurement.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "unit/wss/made_measurement.h"
#include "wss/file/measurement_text.h"

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
  one.gone_bytes = 5 * kMiB;
  one.meanwhile.pressure = {{.refaulted_file = 2 * kMiB, .scanned = 4 * kMiB, .taken = 3 * kMiB},
                            1'000'000'000};
  one.meanwhile.is_reclaimed = true;
  one.meanwhile.scans_machine = true;
  one.meanwhile.limit_bytes = 64 * kMiB;
  one.meanwhile.limit_of = "/db";
  one.meanwhile.charged_bytes = 63 * kMiB;
  one.meanwhile.work.ran_ns = 31'000'000;
  auto measurement = read(headLine(of) + "\n" + rowLine(of, one, 1000, nullptr) + "\n");
  ASSERT_TRUE(measurement.ok()) << measurement.error().what;
  const Measurement::Sample& sample = measurement.value().samples[0];
  EXPECT_EQ(sample.shortage, Shortage::kShort);
  EXPECT_EQ(sample.row.meanwhile.pressure.counted.scanned, 4 * kMiB);
  EXPECT_EQ(sample.row.unmapped_bytes, 3 * kMiB);
  EXPECT_EQ(sample.row.uses[1].mapping.kind, MappingKind::kPinned);
  std::string text = measurementText(measurement.value(), 5, 1000, false);
  EXPECT_NE(
      text.find("Careful: memory was short in 1 of 1 windows. Their touched memory is a lower "
                "bound (in text, a + marks it), because reclaimed pages no longer count. In "
                "the last of them, the kernel reclaimed 3.0 MiB on the whole machine, and "
                "2.0 MiB were read back."),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("What cgroup /db uses is larger than its limit of 64.0 MiB: 2.0 MiB were"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(" 20.00+ "), std::string::npos) << text;
  EXPECT_EQ(sample.row.gone_bytes, 5 * kMiB);
  EXPECT_EQ(sample.row.meanwhile.work.ran_ns, 31'000'000);
  EXPECT_EQ(boundsOf(sample.row).least_bytes, 25 * kMiB);
  EXPECT_FALSE(boundsOf(sample.row).most_bytes);
  EXPECT_NE(text.find("3.0 MiB of the memory that the file lists as pinned are no longer mapped"),
            std::string::npos);
  EXPECT_NE(text.find("pinned"), std::string::npos);
}

TEST(Measurement, OfWritesReportsWhatWasWritten) {
  MeasurementHead of = head("single");
  of.tells_writes = true;
  std::string line = rowLine(of, row(20), 1000, nullptr);
  EXPECT_NE(line.find("\"written\":20971520"), std::string::npos) << line;
  auto measurement = read(headLine(of) + "\n" + line + "\n");
  ASSERT_TRUE(measurement.ok()) << measurement.error().what;
  EXPECT_EQ(measurement.value().samples[0].row.sums.referenced, 20 * kMiB);
  std::string text = measurementText(measurement.value(), 5, 100, false);
  EXPECT_TRUE(text.starts_with("Memory written by mysqld")) << text;
  EXPECT_NE(text.find("Wrt(MB)"), std::string::npos);
  EXPECT_NE(text.find("20.0 MiB were written in 0.1 s (200 MiB/s)"), std::string::npos) << text;
}

TEST(Measurement, EveryRowSaysWhatMayBeOfOthers) {
  MeasurementHead of = head("cumulative");
  of.knows_sharing = true;
  Row one = row(20);
  one.uses[1].sums.shared = 5 * kMiB;
  std::string text = headLine(of) + "\n";
  for (int i = 0; i < 2; ++i) text += rowLine(of, one, 1000 + i, nullptr) + "\n";
  auto measurement = read(text);
  ASSERT_TRUE(measurement.ok()) << measurement.error().what;
  std::string told = measurementText(measurement.value(), 5, 100, false);
  EXPECT_NE(told.find("5.00", told.find("5.00") + 1), std::string::npos) << told;
}

Row rowOfMany(size_t mappings, size_t name_bytes) {
  Row many = row(20);
  many.uses.clear(), many.windows.clear();
  for (size_t i = 0; i < mappings; ++i) {
    MappingUse use;
    use.mapping.start = kAddress + i * 0x2000, use.mapping.end = use.mapping.start + 0x1000;
    use.mapping.path = "/" + std::string(name_bytes, 'x') + std::to_string(i);
    use.mapping.kind = MappingKind::kFile;
    use.sums = {.rss = 4096, .referenced = i};
    many.uses.push_back(use);
    many.windows.push_back(many.window);
  }
  return many;
}

// 65,000 mappings with long names: megabytes, which a reader wants of the last row alone.
TEST(Measurement, ManyMappingsAreWrittenNowAndThen) {
  MeasurementHead of = head("snapshots");
  Row many = rowOfMany(2000, 200);
  RowLines lines(of);
  std::string text = headLine(of) + "\n";
  size_t with = 0;
  for (int i = 0; i < 40; ++i) {
    many.uses[7].sums.referenced = 4000 + static_cast<uint64_t>(i);
    std::string line = lines.next(many, 1000 + i, {}, nullptr);
    with += line.find("\"groups\"") != std::string::npos;
    text += line + "\n";
  }
  EXPECT_GE(with, 2U);
  EXPECT_LE(with, 6U);
  // A measurement that was killed says which row its mappings belong to.
  auto killed = read(text);
  ASSERT_TRUE(killed.ok()) << killed.error().what;
  EXPECT_EQ(killed.value().samples.size(), 40U);
  EXPECT_EQ(killed.value().samples.back().row.uses.size(), 2000U);
  EXPECT_GT(killed.value().mappings_age_s, 0);
  std::string told = measurementText(killed.value(), 5, 1000, false);
  EXPECT_NE(told.find("The mappings are "), std::string::npos) << told.substr(0, 500);
  // A complete one has those of the last row.
  auto last = lines.lastWithMappings();
  ASSERT_TRUE(last);
  text.resize(text.rfind('\n', text.size() - 2) + 1);
  auto whole = read(text + *last + "\n");
  ASSERT_TRUE(whole.ok()) << whole.error().what;
  EXPECT_EQ(whole.value().samples.size(), 40U);
  EXPECT_EQ(whole.value().samples.back().row.uses[7].sums.referenced, 4039U);
  EXPECT_EQ(whole.value().mappings_age_s, 0);
}

TEST(Measurement, FewMappingsAreInEachRow) {
  RowLines lines(head("snapshots"));
  for (int i = 0; i < 10; ++i)
    EXPECT_NE(lines.next(row(20), 1000 + i, {}, nullptr).find("\"groups\""), std::string::npos);
  EXPECT_FALSE(lines.lastWithMappings());
}

// Names of 4 KiB, of bytes that are longer in JSON: the number of omitted mappings is reported.
TEST(Measurement, MoreMappingsThanALineHolds) {
  MeasurementHead of = head("single");
  std::string line = rowLine(of, rowOfMany(65'000, 400), 1000, nullptr);
  EXPECT_LT(line.size(), kMaxLineBytes);
  auto measurement = read(headLine(of) + "\n" + line + "\n");
  ASSERT_TRUE(measurement.ok()) << measurement.error().what;
  size_t kept = measurement.value().samples[0].row.uses.size();
  EXPECT_GT(kept, 10'000U);
  EXPECT_EQ(measurement.value().mappings_left_out, 65'000 - kept);
  for (const MappingUse& use : measurement.value().samples[0].row.uses)
    EXPECT_GE(use.sums.referenced, 65'000 - kept);  // the least touched are left out
  EXPECT_NE(measurementText(measurement.value(), 5, 1000, false)
                .find("mappings with the least touched memory"),
            std::string::npos);
  Row odd = rowOfMany(9000, 1);
  for (MappingUse& use : odd.uses) use.mapping.path = std::string(4000, '\x01');
  EXPECT_LT(rowLine(of, odd, 1000, nullptr).size(), kMaxLineBytes);
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

TEST(Measurement, IsShownAsText) {
  auto measurement = read(file(head("rolling"), 3));
  ASSERT_TRUE(measurement.ok());
  std::string text = measurementText(measurement.value(), 5, 100, false);
  EXPECT_NE(text.find("Memory touched by mysqld (process 4711), measured with pte"),
            std::string::npos);
  EXPECT_NE(text.find("Never(MB)"), std::string::npos);
  EXPECT_NE(text.find("A row is"), std::string::npos);
  EXPECT_NE(text.find("/lib/libc.so"), std::string::npos);
  EXPECT_NE(text.find("wss suggests no memory limit"), std::string::npos);
}

}  // namespace
}  // namespace tidegauge::wss
