#include "wss/process/targets.h"

#include <gtest/gtest.h>

#include "unit/wss/fake_sys.h"

namespace tidegauge::wss {
namespace {

class TargetsTest : public testing::Test {
 protected:
  void add(pid_t pid, const std::string& comm, pid_t parent, char state = 'S',
           int flags = 0x400100) {
    sys_.write("/proc/" + std::to_string(pid) + "/stat",
               std::to_string(pid) + " (" + comm + ") " + state + " " + std::to_string(parent) +
                   " 1 1 0 -1 " + std::to_string(flags) + " 7 0\n");
  }
  std::vector<pid_t> find(const Targets& targets) {
    auto found = findTargets(targets, sys_.root());
    return found.ok() ? found.value() : std::vector<pid_t>{};
  }
  void SetUp() override {
    add(1, "init", 0);
    add(2, "kthreadd", 0, 'S', 0x208040);
    add(30, "kworker", 2, 'I', 0x208040);
    add(100, "shop (db) x", 1);
    add(200, "shop (db) x", 100);
    add(201, "other", 200);
    add(202, "dead", 200, 'Z');
    add(300, "shop", 1);
    sys_.write("/proc/meminfo", "not a process");
    sys_.write("/proc/400/stat", "400 (cut");
  }
  FakeSys sys_;
};

TEST_F(TargetsTest, ByNumber) {
  EXPECT_EQ(find({.pids = {300, 100, 300}}), (std::vector<pid_t>{100, 300}));
  // Processes given by number are tried, and then the error says what is wrong.
  EXPECT_EQ(find({.pids = {202, 999}}), (std::vector<pid_t>{202, 999}));
}

TEST_F(TargetsTest, WithChildrenOfChildren) {
  EXPECT_EQ(find({.pids = {100}, .children = true}), (std::vector<pid_t>{100, 200, 201}));
}

TEST_F(TargetsTest, ContinuesWithoutItsFirstThread) {
  sys_.write("/proc/203/stat",
             "203 (other) Z 200 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 2 0 1234 0\n");
  EXPECT_EQ(find({.comm = "other"}), (std::vector<pid_t>{201, 203}));
  sys_.write("/proc/203/stat",
             "203 (other) Z 200 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 1234 0\n");
  EXPECT_EQ(find({.comm = "other"}), (std::vector<pid_t>{201}));
}

TEST_F(TargetsTest, ByNameWhichMayHoldParentheses) {
  EXPECT_EQ(find({.comm = "shop (db) x"}), (std::vector<pid_t>{100, 200}));
  EXPECT_EQ(find({.comm = "kworker"}), (std::vector<pid_t>{}));
  auto none = findTargets({.comm = "sho"}, sys_.root());
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().what.find("there is no process with the name sho"), std::string::npos);
}

// There it is an ordinary process.
TEST_F(TargetsTest, TheSecondProcessOfAPidNamespace) {
  add(2, "shop", 1);
  add(31, "shop", 2);
  EXPECT_EQ(find({.comm = "shop"}), (std::vector<pid_t>{2, 31, 300}));
}

TEST_F(TargetsTest, ByCgroupWithThoseBelowIt) {
  sys_.write("/sys/fs/cgroup/shop/cgroup.procs", "100\n");
  sys_.write("/sys/fs/cgroup/shop/db/cgroup.procs", "200\n30\nx\n201\n");
  sys_.write("/sys/fs/cgroup/memory/old/cgroup.procs", "300");
  EXPECT_EQ(find({.cgroup = "/shop"}), (std::vector<pid_t>{100, 200, 201}));
  EXPECT_EQ(find({.cgroup = "shop/db"}), (std::vector<pid_t>{200, 201}));
  EXPECT_EQ(find({.cgroup = "/sys/fs/cgroup/memory/old"}), (std::vector<pid_t>{300}));
  EXPECT_EQ(find({.cgroup = "/old"}), (std::vector<pid_t>{300}));
  EXPECT_FALSE(findTargets({.cgroup = "/none"}, sys_.root()).ok());
}

}  // namespace
}  // namespace tidegauge::wss
