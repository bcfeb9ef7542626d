#include "watch/top_table.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/text_layout.h"
#include "support/bytes.h"
#include "support/made_session.h"

namespace tidegauge::watch {
namespace {

using model::MemoryKind;
using support::MadeSession;

std::vector<uint32_t> pidsOf(const std::vector<TopRow>& rows) {
  std::vector<uint32_t> pids;
  for (const TopRow& row : rows) pids.push_back(row.pid);
  return pids;
}

// python has memory on two devices, serve has more calls.
struct Two : MadeSession {
  uint32_t python = process(42, "python");
  uint32_t serve = process(43, "serve");
  Two() {
    allocate(python, MemoryKind::kDevice, 0x1000000, 20 * kMiB, 0);
    allocate(python, MemoryKind::kBlock, 0x1000000, 5 * kMiB, 0);
    allocate(python, MemoryKind::kDevice, 0x9000000, kMiB, 1);
    allocate(serve, MemoryKind::kDevice, 0x2000000, 2 * kMiB, 0);
    allocate(serve, MemoryKind::kDevice, 0, kMiB, 0, 2);
  }
};

TEST(TopTable, ReadsLiveMemoryAndRatesBetweenTwoLooks) {
  Two made;
  TopMeter meter;
  auto rows = meter.read(made.session, 1'000'000'000);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].live_bytes, 20 * kMiB);
  EXPECT_EQ(rows[0].used_bytes, 5 * kMiB);
  EXPECT_FALSE(rows[1].used_bytes);
  EXPECT_FALSE(rows[1].is_first);
  EXPECT_EQ(rows[2].failures, 1U);
  EXPECT_EQ(rows[0].allocations_per_s, 0);
  made.allocate(made.serve, MemoryKind::kDevice, 0x3000000, kMiB);
  made.allocate(made.serve, MemoryKind::kDevice, 0x4000000, kMiB);
  made.free(made.serve, MemoryKind::kDevice, 0x3000000);
  made.launch(made.serve, 7, 100);
  made.session.launchesSeen(made.launches);
  record::CopyCount copy;
  copy.process = made.serve;
  copy.direction = COPY_HOST_TO_DEVICE;
  copy.bytes = 4 * kMiB;
  made.session.copiesSeen({copy});
  rows = meter.read(made.session, 3'000'000'000);
  EXPECT_EQ(rows[2].allocations_per_s, 1);
  EXPECT_EQ(rows[2].frees_per_s, 0.5);
  EXPECT_EQ(rows[2].launches_per_s, 50);
  EXPECT_EQ(rows[2].to_device_bytes_per_s, 2.0 * kMiB);
  uint32_t fresh = made.process(44, "fresh");
  for (uint64_t i = 0; i < 6; ++i)
    made.allocate(fresh, MemoryKind::kDevice, 0x50000000 + i * kMiB, kMiB);
  rows = meter.read(made.session, 6'000'000'000);
  EXPECT_EQ(rows.back().pid, 44U);
  EXPECT_EQ(rows.back().allocations_per_s, 2) << "its first calls count, too";
  made.end(made.python);
  EXPECT_EQ(meter.read(made.session, 7'000'000'000).size(), 2U);
}

TEST(TopTable, SortsAndFilters) {
  Two made;
  TopMeter meter;
  auto rows = meter.read(made.session, 1);
  EXPECT_EQ(pidsOf(arranged(rows, TopOrder::kLive, "")), (std::vector<uint32_t>{42, 42, 43}));
  EXPECT_EQ(pidsOf(arranged(rows, TopOrder::kFailures, "")), (std::vector<uint32_t>{43, 42, 42}));
  EXPECT_EQ(pidsOf(arranged(rows, TopOrder::kPid, "")), (std::vector<uint32_t>{42, 42, 43}));
  EXPECT_EQ(pidsOf(arranged(rows, TopOrder::kLive, "serv")), (std::vector<uint32_t>{43}));
  EXPECT_EQ(pidsOf(arranged(rows, TopOrder::kLive, "42")), (std::vector<uint32_t>{42, 42}));
  TopOrder order = TopOrder::kLive;
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(topOrderNamed(name(order)), order);
    order = next(order);
  }
  EXPECT_EQ(order, TopOrder::kLive);
  EXPECT_FALSE(topOrderNamed("x"));
}

TEST(TopTable, FitsEveryWidthAndKeepsTheImportantColumns) {
  Two made;
  TopMeter meter;
  auto rows = meter.read(made.session, 1);
  rows[0].name = "a-process-with-a-long-name";
  for (size_t columns = 20; columns <= 200; ++columns)
    for (const std::string& line : topLines(rows, TopOrder::kLive, columns))
      EXPECT_LE(base::displayWidth(line), columns) << line;
  std::vector<std::string> at_100 = topLines(rows, TopOrder::kLive, 100);
  std::vector<std::string> at_80 = topLines(rows, TopOrder::kLive, 80);
  for (std::string_view heading : {"PID", "COMM", "LIVE*", "PEAK", "ALLOC/S", "FAIL"})
    EXPECT_NE(at_80[0].find(heading), std::string::npos) << heading << " in " << at_80[0];
  EXPECT_NE(at_100[0].find("D2H MiB/s"), std::string::npos) << at_100[0];
  EXPECT_EQ(at_80.size(), 4U);
  EXPECT_EQ(at_80[2].find("42"), std::string::npos) << "a second device repeats no pid";
}

TEST(TopTable, JsonHasExactNumbersAndSaysWhatIsLost) {
  Two made;
  TopMeter meter;
  record::Losses losses{};
  losses[LOSS_STACK] = 3;
  losses[COUNT_NESTED] = 1000;  // no loss
  nlohmann::json json = topJson(meter.read(made.session, 1), losses);
  EXPECT_EQ(json["incomplete"], true);
  EXPECT_EQ(json["lost"]["no stack"], 3);
  EXPECT_EQ(json["processes"][0]["live_bytes"], 20 * kMiB);
  EXPECT_EQ(json["processes"][0]["used_bytes"], 5 * kMiB);
  EXPECT_TRUE(json["processes"][1]["failures"].is_null());
  EXPECT_EQ(topSummary({}, losses), "0 processes · 0 B live · lost 3 · !: figures are incomplete");
}

TEST(TopTable, OpensAProcess) {
  Two made;
  made.session.kernelNamed({made.python, 7, 0, "gemm"});
  made.launch(made.python, 7, 1234);
  made.session.launchesSeen(made.launches);
  std::string text;
  for (const std::string& line : processLines(made.session, made.python, 80)) {
    EXPECT_LE(base::displayWidth(line), 80U);
    text += line + "\n";
  }
  EXPECT_NE(text.find("42 python"), std::string::npos);
  EXPECT_NE(text.find("PyTorch's blocks"), std::string::npos);
  EXPECT_NE(text.find("1,234  gemm"), std::string::npos);
  EXPECT_NE(text.find("no stack was recorded"), std::string::npos);
  EXPECT_TRUE(processLines(made.session, 99, 80).empty());
}

}  // namespace
}  // namespace tidegauge::watch
