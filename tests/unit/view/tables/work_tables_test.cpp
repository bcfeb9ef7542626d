#include "view/tables/work_tables.h"

#include <gtest/gtest.h>

#include <map>

#include "readers/recording/open_recording.h"
#include "support/trace_builder.h"
#include "support/worked_recording.h"

namespace tidegauge::view {
namespace {

using Cells = std::map<std::string, std::string>;

std::vector<Cells> rowsOf(const Table& table) {
  std::vector<Cells> rows;
  for (uint32_t row : orderOf(table, table.columns[0], false)) {
    Cells& cells = rows.emplace_back();
    for (const TableColumn& column : table.columns) {
      std::string& cell = cells[std::string(column.name)];
      if (column.kind == CellKind::kText) {
        cell = column.text(row);
      } else if (auto number = column.number(row)) {
        cell = std::to_string(*number);
      }
    }
  }
  return rows;
}

class WorkTables : public ::testing::Test {
 protected:
  WorkTables() {
    testing::addWork(file_);
    auto traces = readers::recording::openRecording(file_.path(), {});
    EXPECT_TRUE(traces.ok());
    traces_ = std::move(traces).value();
  }
  testing::RecordingFile file_;
  std::vector<model::Trace> traces_;
};

TEST_F(WorkTables, AddUpLaunchesByKernel) {
  std::vector<Cells> rows = rowsOf(*workTableOf(traces_[0], "kernels"));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0]["name"], "kernel 7");  // the file does not contain its name
  EXPECT_EQ(rows[1]["name"], "kernel at 0xdef (no name)");
  EXPECT_EQ(rows[1]["launches"], "2");
  Cells sgemm = rows[2];
  EXPECT_EQ(sgemm["name"], "sgemm");
  EXPECT_EQ(sgemm["launches"], "1000");
  EXPECT_EQ(sgemm["per_second"], "250000");  // 1,000 from second 1 to 5
  EXPECT_EQ(sgemm["geometry"], "64×1×1 of 256×1×1");
  EXPECT_EQ(sgemm["geometries"], "2");
  EXPECT_EQ(sgemm["function"], "cuLaunchKernel");
  EXPECT_EQ(sgemm["process"], "41 python");
  EXPECT_EQ(sgemm["first_us"], "1000000");
  EXPECT_EQ(sgemm["last_us"], "5000000");
}

TEST_F(WorkTables, SayABandwidthOnlyWhereTheCallWaits) {
  std::vector<Cells> rows = rowsOf(*workTableOf(traces_[0], "copies"));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0]["direction"], "by the pointers");
  EXPECT_EQ(rows[0]["bytes_per_s"], "");  // within the device perhaps
  EXPECT_EQ(rows[1]["direction"], "device to host");
  EXPECT_EQ(rows[1]["bytes_per_s"], "");  // only submitted
  EXPECT_EQ(rows[1]["host_ns"], "500000000");
  Cells up = rows[2];
  EXPECT_EQ(up["function"], "cuMemcpyHtoD_v2");
  EXPECT_EQ(up["copies"], "8");
  EXPECT_EQ(up["size_bytes"], std::to_string(uint64_t{2} << 30));
  EXPECT_EQ(up["bytes_per_s"], std::to_string(uint64_t{2} << 30));  // in one second
  EXPECT_EQ(up["failures"], "1");
}

TEST_F(WorkTables, AreOfTheProcess) {
  EXPECT_EQ(workTableOf(traces_[1], "kernels")->rows, 0U);
  std::vector<Cells> rows = rowsOf(*workTableOf(traces_[2], "kernels"));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["name"], "other");
  EXPECT_EQ(rows[0]["process"], "43 it's");
}

TEST_F(WorkTables, KnowNoOtherName) { EXPECT_FALSE(workTableOf(traces_[0], "stacks")); }

TEST(WorkTablesOfSnapshots, AreEmptyWithTheirColumns) {
  testing::TraceBuilder b;
  model::Trace trace = b.build();
  EXPECT_EQ(workTableOf(trace, "kernels")->rows, 0U);
  EXPECT_EQ(workTableOf(trace, "copies")->columns.size(), 10U);
}

}  // namespace
}  // namespace tidegauge::view
