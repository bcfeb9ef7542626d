// With files that behave as the kernel's documentation of resctrl says: no machine of these tests
// has the processor for it.
#include "wss/resctrl/resctrl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "support/bytes.h"
#include "unit/wss/fake_proc.h"
#include "wss/backends/smaps_backend.h"
#include "wss/resctrl/ways.h"

namespace tidegauge::wss {
namespace {

using testing::HasSubstr;

constexpr int64_t kLong_ns = 1'000'000'000;
const std::string kGroup = "tidegauge-" + std::to_string(getpid());

// Groups, their threads, two caches. A thread is in one group of control and at most one monitor.
class FakeResctrl final : public ResctrlFiles {
 public:
  std::map<std::string, std::string> files{
      {"info/L3_MON/mon_features", "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes"},
      {"info/L3/cbm_mask", "ff"},
      {"info/L3/min_cbm_bits", "2"},
      {"info/last_cmd_status", "ok"},
      {"schemata", "    MB:0=100;1=100\n    L3:0=ff;1=ff"}};
  std::set<std::string> folders;
  std::map<std::string, std::set<std::string>> tasks;  // by group
  std::vector<std::string> written;
  size_t most_groups = 4;
  bool is_root = true;
  int refuses_tasks = 0, refuses_schemata = 0;  // errno

  std::optional<std::string> read(const std::string& path) const override {
    if (path.ends_with("/tasks")) {
      std::string text;
      auto of = tasks.find(path.substr(0, path.size() - 6));
      if (of != tasks.end())
        for (const std::string& task : of->second) text += task + "\n";
      return text;
    }
    auto file = files.find(path);
    if (file == files.end()) return std::nullopt;
    return file->second;
  }
  bool mayWrite() const override { return is_root; }
  std::vector<std::string> list(const std::string& folder) const override {
    if (files.empty()) return {};
    if (folder.ends_with("mon_data")) return {"mon_L3_00", "mon_L3_01", "mon_PERF_PKG_00"};
    std::vector<std::string> names;
    if (folder.empty()) names = {"info", "mon_groups", "tasks"};
    std::string begin = folder.empty() ? "" : folder + "/";
    for (const std::string& one : folders)
      if (one.starts_with(begin) && one.find('/', begin.size()) == std::string::npos)
        names.push_back(one.substr(begin.size()));
    return names;
  }
  int write(const std::string& path, std::string_view text) override {
    written.push_back(path + " " + std::string(text));
    if (path.ends_with("/schemata")) {
      if (refuses_schemata != 0) return refuses_schemata;
      onWays(std::string(text));
      return 0;
    }
    std::string group = path == "tasks" ? "" : path.substr(0, path.size() - 6);
    std::string task(text.substr(0, text.find('\n')));
    if (!group.empty() && !folders.contains(group)) return ENOENT;
    if (!group.empty() && refuses_tasks != 0) return refuses_tasks;
    for (auto& [name, list] : tasks) list.erase(task);
    tasks[group].insert(task);
    return 0;
  }
  int makeFolder(const std::string& path) override {
    if (folders.size() >= most_groups) return ENOSPC;
    folders.insert(path);
    files[path + "/schemata"] = files["schemata"];
    return 0;
  }
  int removeFolder(const std::string& path) override {
    if (folders.erase(path) == 0) return ENOENT;
    for (const std::string& task : tasks[path]) tasks[""].insert(task);
    tasks.erase(path);
    return 0;
  }
  void say(const std::string& group, const std::string& name, uint64_t first, uint64_t second) {
    files[group + "/mon_data/mon_L3_00/" + name] = std::to_string(first);
    files[group + "/mon_data/mon_L3_01/" + name] = std::to_string(second);
  }
  std::function<void(const std::string&)> onWays = [](const std::string&) {};
};

class OfResctrl : public testing::Test {
 protected:
  OfResctrl() : owned_(std::make_unique<FakeResctrl>()), files_(*owned_) {}
  std::unique_ptr<ResctrlFiles> files() { return std::move(owned_); }
  base::Result<Resctrl> open(const ResctrlPlace& place = {}) {
    return Resctrl::open(process_, std::make_unique<SmapsBackend>(Flush::kFree), files(), place,
                         {.l3_bytes = 32 * kMiB});
  }
  base::Result<Ways> openWays() {
    return Ways::open(process_, files(), {}, {.l3_bytes = 32 * kMiB});
  }

  Process process_ = std::move(Process::open(getpid())).value();
  FakeClock clock_{10};
  std::unique_ptr<FakeResctrl> owned_;
  FakeResctrl& files_;
};

TEST_F(OfResctrl, PlacesAreParsed) {
  EXPECT_EQ(parseResctrlPlace("res:/\nmon:\n"), ResctrlPlace{});
  EXPECT_EQ(parseResctrlPlace("res:/web\nmon:one\n"), (ResctrlPlace{"web", "one"}));
  EXPECT_EQ(parseResctrlPlace("res:\nmon:\n"), ResctrlPlace{});  // not mounted
  EXPECT_EQ(parseResctrlPlace(""), ResctrlPlace{});
}

TEST_F(OfResctrl, OccupancyOfAllCachesBesideWhatIsTouched) {
  std::string group = "web/mon_groups/" + kGroup;
  files_.say(group, "llc_occupancy", 3 * kMiB, kMiB / 2);
  files_.say(group, "mbm_total_bytes", 0, 0);
  clock_.onSleep = [&] { files_.say(group, "mbm_total_bytes", 100 * kMiB, 0); };
  {
    auto survey = open({"web", ""});
    ASSERT_TRUE(survey.ok()) << survey.error().what;
    EXPECT_TRUE(files_.folders.empty());  // nothing is changed before the first window
    auto row = survey.value().next(clock_, kLong_ns);
    ASSERT_TRUE(row.ok() && row.value()) << row.error().what;
    EXPECT_TRUE(files_.tasks[group].contains(std::to_string(getpid())));
    EXPECT_EQ(row.value()->fields["llc_bytes"], 7 * kMiB / 2);
    EXPECT_NEAR(row.value()->fields["memory_bytes_per_s"].get<double>(), 100 * kMiB, kMiB);
    EXPECT_GT(row.value()->fields["referenced_bytes"], 0);
    EXPECT_THAT(survey.value().verdict().text, HasSubstr("3.5 MiB of the last-level cache"));
    files_.files[group + "/mon_data/mon_L3_01/llc_occupancy"] = "Unavailable";
    row = survey.value().next(clock_, kLong_ns);
    ASSERT_TRUE(row.ok() && row.value());
    EXPECT_TRUE(row.value()->fields["llc_bytes"].is_null());
    EXPECT_THAT(survey.value().verdict().text, HasSubstr("did not report"));
  }
}

TEST_F(OfResctrl, NothingIsLeftBehind) {
  files_.folders = {"web"};
  auto group = ResctrlGroup::make(files_, process_, {"web", ""}, ResctrlGroup::Kind::kControl);
  ASSERT_TRUE(group.ok()) << group.error().what;
  EXPECT_EQ(files_.folders, (std::set<std::string>{kGroup, "web"}));
  files_.write(kGroup + "/tasks", "99999\n");  // that it began meanwhile
  {
    ResctrlGroup moved = std::move(group).value();
    EXPECT_EQ(files_.folders.size(), 2U);
  }
  EXPECT_EQ(files_.folders, std::set<std::string>{"web"});
  EXPECT_TRUE(files_.tasks["web"].contains(std::to_string(getpid())));
  EXPECT_TRUE(files_.tasks["web"].contains("99999"));
}

TEST_F(OfResctrl, WhatItCannotDo) {
  auto whyNot = [&](const ResctrlPlace& place) {
    auto group = ResctrlGroup::make(files_, process_, place, ResctrlGroup::Kind::kMonitor);
    return group.ok() ? std::string("it can") : group.error().what;
  };
  EXPECT_THAT(whyNot({"", "other"}), HasSubstr("another program monitors process"));
  files_.most_groups = 0;
  EXPECT_THAT(whyNot({}), HasSubstr("all that the processor has are in use"));
  EXPECT_EQ(files_.written.size(), 0U);
  files_.files["info/L3_MON/mon_features"] = "mbm_local_bytes";
  EXPECT_THAT(featuresOf(files_).error().what, HasSubstr("does not count who fills"));
  files_.files.clear();
  EXPECT_THAT(featuresOf(files_).error().what, HasSubstr("not mounted"));
}

TEST(Ways, EnoughIsWhereTrafficDoesNotGrow) {
  auto step = [](uint32_t ways, double mib) { return WaysStep{ways, std::nullopt, mib * kMiB}; };
  EXPECT_FALSE(waysEnough({}).has_value());
  EXPECT_EQ(waysEnough({step(8, 100)}), 8U);
  EXPECT_EQ(waysEnough({step(8, 100), step(7, 110), step(6, 120), step(5, 400), step(4, 90)}), 6U);
  EXPECT_EQ(waysEnough({step(8, 0), step(7, 0.5), step(6, 0.9)}), 6U);  // noise
}

TEST_F(OfResctrl, FewerAndFewerWays) {
  uint64_t traffic = 0, per_second = 10 * kMiB;
  files_.say(kGroup, "llc_occupancy", 5 * kMiB, 0);
  files_.say(kGroup, "mbm_total_bytes", 0, 0);
  files_.onWays = [&](const std::string& text) {
    // What it uses needs four ways, "f".
    per_second = text == "L3:0=7;1=7\n" || text == "L3:0=3;1=3\n" ? 80 * kMiB : 10 * kMiB;
  };
  clock_.onSleep = [&] {
    traffic += per_second / 2;
    files_.say(kGroup, "mbm_total_bytes", traffic, 0);
  };
  auto ways = openWays();
  ASSERT_TRUE(ways.ok()) << ways.error().what;
  EXPECT_EQ(ways.value().head(kLong_ns).lasts, "7 s");
  std::vector<uint64_t> seen;
  for (;;) {
    auto row = ways.value().next(clock_, kLong_ns);
    ASSERT_TRUE(row.ok()) << row.error().what;
    if (!row.value()) break;
    seen.push_back(row.value()->fields["ways"]);
    EXPECT_EQ(row.value()->fields["cache_bytes"], seen.back() * 4 * kMiB);
  }
  EXPECT_EQ(seen, (std::vector<uint64_t>{8, 7, 6, 5, 4, 3, 2}));  // min_cbm_bits
  SurveyVerdict verdict = ways.value().verdict();
  EXPECT_EQ(verdict.fields["ways_enough"], 4);
  EXPECT_EQ(verdict.fields["enough_bytes"], 16 * kMiB);
  EXPECT_THAT(verdict.text, HasSubstr("With 4 of 8 ways (16.0 MiB)"));
  EXPECT_THAT(verdict.text, HasSubstr("with 3 it is 80.0 MiB/s, 8.0 times as much"));
}

TEST_F(OfResctrl, WaysThatAreLimitedAlready) {
  auto whyNot = [&](const ResctrlPlace& place) {
    auto copy = std::make_unique<FakeResctrl>(files_);
    auto ways = Ways::open(process_, std::move(copy), place, {.l3_bytes = 32 * kMiB});
    return ways.ok() ? std::string("it can") : ways.error().what;
  };
  EXPECT_EQ(whyNot({}), "it can");
  EXPECT_THAT(whyNot({"web", ""}), HasSubstr("whose limits --ways would lift"));
  EXPECT_THAT(whyNot({"", "other"}), HasSubstr("another program monitors"));
  files_.files["schemata"] = "L3:0=ff;1=f";
  EXPECT_THAT(whyNot({}), HasSubstr("not all ways"));
  files_.files["schemata"] = "L3CODE:0=ff\nL3DATA:0=ff";
  EXPECT_THAT(whyNot({}), HasSubstr("not all ways"));
  files_.is_root = false;
  EXPECT_THAT(whyNot({}), HasSubstr("may not be written"));
}

TEST_F(OfResctrl, WhatTheKernelRefusesLeavesNothing) {
  files_.refuses_tasks = EINVAL;
  auto group = ResctrlGroup::make(files_, process_, {}, ResctrlGroup::Kind::kMonitor);
  ASSERT_FALSE(group.ok());
  EXPECT_THAT(group.error().what, HasSubstr("cannot be moved to group mon_groups/" + kGroup));
  EXPECT_TRUE(files_.folders.empty());
  files_.refuses_tasks = ESRCH;  // each has just ended
  EXPECT_TRUE(ResctrlGroup::make(files_, process_, {}, ResctrlGroup::Kind::kMonitor).ok());
  files_.refuses_tasks = 0;
  files_.refuses_schemata = EINVAL;
  files_.files["info/last_cmd_status"] = "Mask out of range";
  auto control = ResctrlGroup::make(files_, process_, {}, ResctrlGroup::Kind::kControl);
  ASSERT_TRUE(control.ok());
  base::Status status = control.value().setWays(0xf);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().hint, "Mask out of range");
}

TEST_F(OfResctrl, GroupsOfAKilledTidegauge) {
  std::string gone = "tidegauge-4194399";  // above the largest number of a process
  files_.folders = {
      gone, "mon_groups/" + gone, "web", "web/mon_groups/" + gone, "mon_groups/other", kGroup};
  removeLeftOverGroups(files_);
  EXPECT_EQ(files_.folders, (std::set<std::string>{"web", "mon_groups/other", kGroup}));
}

TEST_F(OfResctrl, WaysNeedTheTraffic) {
  files_.files["info/L3_MON/mon_features"] = "llc_occupancy";
  EXPECT_THAT(openWays().error().what, HasSubstr("does not count memory traffic"));
}

}  // namespace
}  // namespace tidegauge::wss
