// On simulated files: what would be written, and that nothing is if another program uses DAMON.
#include "wss/backends/damon_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/wss/fake_proc.h"
#include "unit/wss/fake_sys.h"

namespace tidegauge::wss {
namespace {

using testing::HasSubstr;

const std::string kKdamonds = "/sys/kernel/mm/damon/admin/kdamonds";
const std::string kNumber = kKdamonds + "/nr_kdamonds";
const std::string kState = kKdamonds + "/0/state";
const std::string kContext = kKdamonds + "/0/contexts/0";
const std::string kTarget = kContext + "/targets/0/pid_target";

class Damon : public testing::Test {
 protected:
  Damon() {
    sys_.write(kNumber, "0\n");
    for (const char* file :
         {"operations", "monitoring_attrs/intervals/sample_us",
          "monitoring_attrs/intervals/aggr_us", "monitoring_attrs/intervals/update_us",
          "targets/nr_targets", "schemes/nr_schemes", "schemes/0/action",
          "schemes/0/access_pattern/sz/max", "schemes/0/access_pattern/nr_accesses/min",
          "schemes/0/access_pattern/nr_accesses/max", "schemes/0/access_pattern/age/max"})
      sys_.write(kContext + "/" + file, "");
    sys_.write(kKdamonds + "/0/contexts/nr_contexts", "");
    sys_.write(kTarget, "");
    sys_.write(kState, "");
    sys_.write(kContext + "/schemes/0/tried_regions/total_bytes", "0\n");
    proc_.write("smaps", smapsOf(1024, 1024, 7));
  }
  void region(const char* name, uint64_t start, uint64_t end) {
    std::string folder = kContext + "/schemes/0/tried_regions/" + name;
    sys_.write(folder + "/start", std::to_string(start) + "\n");
    sys_.write(folder + "/end", std::to_string(end) + "\n");
  }
  // The text of every file below, including what was written.
  std::string all() const {
    std::string text;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(sys_.root()))
      if (entry.is_regular_file())
        text += entry.path().string() + "=" +
                sys_.read(entry.path().string().substr(sys_.root().size()));
    return text;
  }

  FakeSys sys_;
  FakeProc proc_;
  Process process_ = Process::open(423, proc_.root()).value();
  FakeClock clock_{10};
};

TEST_F(Damon, WatchesAndLeavesNothing) {
  {
    DamonBackend backend(100'000'000, sys_.root());
    ASSERT_TRUE(backend.clear(process_, clock_).ok());
    EXPECT_EQ(sys_.read(kNumber), "1\n");
    EXPECT_EQ(sys_.read(kState), "on");
    EXPECT_EQ(sys_.read(kTarget), "423");
    EXPECT_EQ(sys_.read(kContext + "/operations"), "vaddr");
    EXPECT_EQ(sys_.read(kContext + "/schemes/0/action"), "stat");
    EXPECT_EQ(sys_.read(kContext + "/monitoring_attrs/intervals/sample_us"), "5000");
    EXPECT_EQ(sys_.read(kContext + "/monitoring_attrs/intervals/aggr_us"), "100000");
    EXPECT_EQ(clock_.slept, 1);  // it finds regions
    region("0", 0x559e00000000 - 4096, 0x559e00000000 + 8192);
    region("1", 0x559e00040000, 0x559e00041000);
    auto reading = backend.read(process_, clock_);
    ASSERT_TRUE(reading.ok()) << reading.error().what;
    EXPECT_EQ(sys_.read(kState), "update_schemes_tried_regions");
    EXPECT_EQ(reading.value().watched_ns, 100'000'000);
    ASSERT_EQ(reading.value().uses.size(), 1U);
    EXPECT_EQ(reading.value().uses[0].sums.referenced, 8192U + 4096U);
    EXPECT_EQ(reading.value().uses[0].sums.rss, 1024U << 10);
    ASSERT_TRUE(backend.clear(process_, clock_).ok());
    EXPECT_EQ(clock_.slept, 1);  // the next window begins with the regions that there are
  }
  EXPECT_THAT(sys_.read(kState), testing::StartsWith("off"));
  EXPECT_EQ(sys_.read(kNumber), "0\n");
}

TEST_F(Damon, ALongerWindowBeginsWhenRegionsAreFound) {
  DamonBackend backend(2'000'000'000, sys_.root());
  clock_.onSleep = [&] {
    EXPECT_EQ(sys_.read(kContext + "/monitoring_attrs/intervals/aggr_us"), "100000");
  };
  ASSERT_TRUE(backend.clear(process_, clock_).ok());
  EXPECT_EQ(sys_.read(kState), "commit");
  EXPECT_EQ(sys_.read(kContext + "/monitoring_attrs/intervals/aggr_us"), "2000000");
}

TEST_F(Damon, ThatOfSomebodyElseIsLeftAlone) {
  sys_.write(kNumber, "1\n");
  sys_.write(kState, "on\n");
  sys_.write(kTarget, "99\n");
  std::string before = all();
  DamonBackend backend(100'000'000, sys_.root());
  auto cleared = backend.clear(process_, clock_);
  ASSERT_FALSE(cleared.ok());
  EXPECT_EQ(cleared.error().kind, base::ErrorKind::kMissingFeature);
  EXPECT_THAT(cleared.error().what, HasSubstr("DAMON is in use"));
  EXPECT_EQ(all(), before);
}

TEST_F(Damon, APartOfTheKernelThatUsesItIsLeftAlone) {
  for (const char* user : {"damon_reclaim", "damon_lru_sort", "damon_stat"}) {
    std::string file = std::string("/sys/module/") + user + "/parameters/enabled";
    sys_.write(file, "N\n");
    EXPECT_TRUE(Kdamond::check(sys_.root()).ok());
    sys_.write(file, "Y\n");
    std::string before = all();
    auto started = Kdamond::start(423, 100'000'000, sys_.root());
    ASSERT_FALSE(started.ok());
    EXPECT_THAT(started.error().what, HasSubstr(std::string(user) + " is enabled"));
    EXPECT_EQ(all(), before);
    sys_.write(file, "N\n");
  }
}

TEST_F(Damon, OneThatTookTheirPlaceIsLeftAlone) {
  std::string taken;
  {
    auto started = Kdamond::start(423, 100'000'000, sys_.root());
    ASSERT_TRUE(started.ok());
    sys_.write(kTarget, "99\n");
    taken = all();
  }
  EXPECT_EQ(all(), taken);
}

TEST_F(Damon, TwoOfUsAtATime) {
  auto first = Kdamond::start(423, 100'000'000, sys_.root());
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(Kdamond::start(424, 100'000'000, sys_.root()).ok());
  sys_.write(kNumber, "0\n");  // as seen just before the first instance has written it
  EXPECT_FALSE(Kdamond::start(424, 100'000'000, sys_.root()).ok());
  EXPECT_EQ(sys_.read(kTarget), "423");
  sys_.write(kNumber, "1\n");
}

TEST_F(Damon, WhatWasBegunIsTakenBackIfItCannotBe) {
  std::filesystem::remove_all(sys_.at(kContext + "/schemes"));
  auto started = Kdamond::start(423, 100'000'000, sys_.root());
  ASSERT_FALSE(started.ok());
  EXPECT_THAT(started.error().what, HasSubstr("nr_schemes"));
  EXPECT_EQ(sys_.read(kNumber), "0\n");
}

TEST_F(Damon, AnEndWhileItFindsRegions) {
  clock_.ends_after = 1;
  {
    DamonBackend backend(2'000'000'000, sys_.root());
    ASSERT_TRUE(backend.clear(process_, clock_).ok());
    EXPECT_EQ(sys_.read(kState), "on");  // it does not wait for an unwanted window
  }
  EXPECT_EQ(sys_.read(kNumber), "0\n");
}

// A running kdamond clears accessed bits; one that is off does not.
TEST_F(Damon, OthersAtWork) {
  EXPECT_FALSE(Kdamond::isOthersAtWork(sys_.root()));
  sys_.write(kNumber, "1\n");
  sys_.write(kKdamonds + "/0/state", "off\n");
  EXPECT_FALSE(Kdamond::isOthersAtWork(sys_.root()));
  sys_.write(kKdamonds + "/0/state", "on\n");
  EXPECT_TRUE(Kdamond::isOthersAtWork(sys_.root()));
  sys_.write(kNumber, "0\n");
  sys_.write("/sys/module/damon_reclaim/parameters/enabled", "Y\n");
  EXPECT_TRUE(Kdamond::isOthersAtWork(sys_.root()));
}

TEST_F(Damon, AKernelWithoutIt) {
  std::filesystem::remove_all(sys_.at(kKdamonds));
  auto status = Kdamond::check(sys_.root());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, base::ErrorKind::kMissingFeature);
  EXPECT_THAT(status.error().hint, HasSubstr("CONFIG_DAMON_SYSFS"));
}

TEST(CountRegions, WhatLiesInAMappingAndIsInMemory) {
  auto use = [](uint64_t start, uint64_t end, uint64_t rss) {
    MappingUse one;
    one.mapping.start = start;
    one.mapping.end = end;
    one.sums.rss = rss;
    one.sums.referenced = 77;
    return one;
  };
  std::vector<MappingUse> uses{use(100, 200, 100), use(300, 400, 10), use(500, 600, 100),
                               use(700, 800, 100)};
  // Over the gap between two; ends where it begins; before all; beyond.
  countRegions(uses,
               {{10, 20}, {150, 350}, {360, 360}, {400, 500}, {560, 550}, {590, 720}, {900, 950}});
  EXPECT_EQ(uses[0].sums.referenced, 50U);
  EXPECT_EQ(uses[1].sums.referenced, 10U);
  EXPECT_EQ(uses[2].sums.referenced, 10U);
  EXPECT_EQ(uses[3].sums.referenced, 20U);
}

}  // namespace
}  // namespace tidegauge::wss
