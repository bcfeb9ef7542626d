// With a table written by the test: an order appears at its beginning, on a line of blanks.
#include "wss/backends/mglru_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "unit/wss/fake_proc.h"
#include "unit/wss/fake_sys.h"

namespace tidegauge::wss {
namespace {

using testing::HasSubstr;

constexpr const char* kEnabled = "/sys/kernel/mm/lru_gen/enabled";
constexpr const char* kTable = "/sys/kernel/debug/lru_gen";

class Mglru : public testing::Test {
 protected:
  Mglru() {
    sys_.write(kEnabled, "0x0007\n");
    table(" 6 900 100 50\n 7 10 20 0\n");
    proc_.write("cgroup", "0::/shop/db\n");
  }
  void table(const std::string& generations) {
    sys_.write(kTable, std::string(60, ' ') +
                           "\nmemcg 1 /\n node 0\n 1 2 3 4\nmemcg 42 /shop\n node 0\n" +
                           generations);
  }
  std::string ordered() const {
    std::string text = sys_.read(kTable);
    return text.substr(0, text.find("  "));
  }
  base::Result<MglruBackend> open() {
    return MglruBackend::open(process_, Flush::kNone, sys_.root());
  }

  FakeSys sys_;
  FakeProc proc_;
  Process process_ = Process::open(423, proc_.root()).value();
  FakeClock clock_{10};
  uint64_t page_ = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
};

TEST_F(Mglru, WhatIsYoungerThanTheAgingWasTouched) {
  auto backend = open();
  ASSERT_TRUE(backend.ok()) << backend.error().what;
  EXPECT_EQ(backend.value().traits().cgroup, "/shop");  // the nearest that counts
  auto cleared = backend.value().clear(process_, clock_);
  ASSERT_TRUE(cleared.ok());
  EXPECT_EQ(ordered(), "+ 42 0 7 1 1");
  EXPECT_EQ(cleared.value().cost.stall_ns, cleared.value().pass.duration_ns());
  table(" 6 900 90 40\n 7 10 20 5\n 8 1 10 5\n");
  auto reading = backend.value().read(process_, clock_);
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(ordered(), "+ 42 0 8 1 1");
  // The mark is 7, the youngest after the clearing.
  ASSERT_EQ(reading.value().uses.size(), 2U);
  EXPECT_EQ(reading.value().uses[0].sums.rss, 120 * page_);
  EXPECT_EQ(reading.value().uses[0].sums.referenced, 30 * page_);
  EXPECT_EQ(reading.value().uses[0].mapping.kind, MappingKind::kAnonymous);
  EXPECT_EQ(reading.value().uses[1].sums.rss, 50 * page_);
  EXPECT_EQ(reading.value().uses[1].sums.referenced, 10 * page_);
  EXPECT_EQ(reading.value().uses[1].mapping.kind, MappingKind::kFile);
}

// Four generations are kept: then the oldest would count as touched.
TEST_F(Mglru, AKernelThatAgesMeanwhileIsNotBelieved) {
  auto backend = open();
  ASSERT_TRUE(backend.value().clear(process_, clock_).ok());
  table(" 7 10 90 40\n 8 1 10 5\n 9 1 0 0\n");
  EXPECT_TRUE(backend.value().read(process_, clock_).ok());
  table(" 7 10 90 40\n 8 1 10 5\n 9 1 0 0\n 10 1 0 0\n");
  auto reading = backend.value().read(process_, clock_);
  ASSERT_FALSE(reading.ok());
  EXPECT_THAT(reading.error().what, HasSubstr("the kernel aged the pages of cgroup /shop"));
}

TEST_F(Mglru, ACgroupThatGoesAway) {
  auto backend = open();
  ASSERT_TRUE(backend.value().clear(process_, clock_).ok());
  sys_.write(kTable, "memcg 1 /\n node 0\n 1 2 3 4\nmemcg 42 /other\n node 0\n 1 2 3 4\n");
  auto reading = backend.value().read(process_, clock_);
  ASSERT_FALSE(reading.ok());
  EXPECT_THAT(reading.error().what, HasSubstr("cgroup /shop was removed"));
}

TEST_F(Mglru, WhyNot) {
  EXPECT_TRUE(MglruBackend::check(sys_.root()).ok());
  auto whyNot = [&] {
    auto status = MglruBackend::check(sys_.root());
    if (status.ok()) return std::string();
    EXPECT_EQ(status.error().kind, base::ErrorKind::kMissingFeature);
    return status.error().what + "|" + status.error().hint;
  };
  sys_.write(kEnabled, "0x0000\n");
  EXPECT_THAT(whyNot(), HasSubstr("switched off: /sys/kernel/mm/lru_gen/enabled says 0x0000"));
  sys_.write(kEnabled, "0x0005\n");  // without walks through page tables an aging sees nothing
  EXPECT_THAT(whyNot(), HasSubstr("switched off"));
  sys_.write(kEnabled, "0x0003\n");
  std::filesystem::remove(sys_.at(kTable));
  EXPECT_THAT(whyNot(), HasSubstr("mount -t debugfs"));
  std::filesystem::remove(sys_.at(kEnabled));
  EXPECT_THAT(whyNot(), HasSubstr("CONFIG_LRU_GEN"));
}

TEST_F(Mglru, ACgroupThatIsNotListed) {
  sys_.write(kTable, "memcg 42 /elsewhere\n node 0\n 1 2 3 4\n");
  auto backend = open();
  ASSERT_FALSE(backend.ok());
  EXPECT_THAT(backend.error().what, HasSubstr("does not list cgroup /shop/db of process 423"));
}

}  // namespace
}  // namespace tidegauge::wss
