#include "base/container/group_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <limits>
#include <string>

namespace tidegauge::base {
namespace {

namespace fs = std::filesystem;
constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

// A tree of groups in a scratch folder.
class GroupMemory : public testing::Test {
 protected:
  GroupMemory() { fs::create_directories(mount_); }
  ~GroupMemory() override { fs::remove_all(mount_); }

  void write(const std::string& file, const std::string& text) {
    fs::create_directories((mount_ / file).parent_path());
    std::ofstream(mount_ / file) << text << '\n';
  }

  fs::path mount_ = fs::temp_directory_path() / ("group_memory_" + std::to_string(getpid()));
};

TEST_F(GroupMemory, WithoutGroupsOrLimitsAllMayBeTaken) {
  EXPECT_EQ(groupMemoryBytes("", mount_), kUnlimited);
  write("a/memory.max", "max");
  write("a/memory.current", "5");
  EXPECT_EQ(groupMemoryBytes("0::/a\n", mount_), kUnlimited);
  EXPECT_EQ(groupMemoryBytes("no line of groups\n1:\n", mount_), kUnlimited);
}

TEST_F(GroupMemory, TheGroupWithTheLeastDecides) {
  write("a/memory.max", "800");
  write("a/memory.current", "700");
  write("a/b/memory.max", "900");
  write("a/b/memory.current", "100");
  EXPECT_EQ(groupMemoryBytes("0::/a/b\n", mount_), 100U);
  write("a/memory.current", "900");  // a limit that was lowered
  EXPECT_EQ(groupMemoryBytes("0::/a/b", mount_), 0U);
}

TEST_F(GroupMemory, PagesOfFilesAreFree) {
  write("a/memory.max", "800");
  write("a/memory.current", "700");
  write("a/memory.stat", "anon 100\nfile 600\ninactive_file 400\nactive_file 150\nshmem 50");
  EXPECT_EQ(groupMemoryBytes("0::/a\n", mount_), 650U);
}

TEST_F(GroupMemory, AContainerMaySeeItsGroupAsTheRootOnly) {
  write("memory.max", "800");
  write("memory.current", "300");
  EXPECT_EQ(groupMemoryBytes("0::/system.slice/docker-4f1c.scope\n", mount_), 500U);
}

TEST_F(GroupMemory, VersionOneHasOtherNames) {
  write("memory/memory.limit_in_bytes", "9223372036854771712");
  write("memory/memory.usage_in_bytes", "1000");
  write("memory/job/memory.limit_in_bytes", "800");
  write("memory/job/memory.usage_in_bytes", "500");
  write("memory/job/memory.stat", "inactive_file 9\ntotal_inactive_file 100\ntotal_active_file 50");
  EXPECT_EQ(groupMemoryBytes("5:cpu:/\n4:hugetlb,memory:/job\n0::/\n", mount_), 450U);
}

}  // namespace
}  // namespace tidegauge::base
