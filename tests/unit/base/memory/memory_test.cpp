#include "base/memory/memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <vector>

namespace tidegauge::base {
namespace {

TEST(Memory, TheSystemSaysHowMuchMemoryIsFree) { EXPECT_GT(freeMemoryBytes(), uint64_t{1} << 20); }

TEST(Memory, TheContentStaysWhereHugePagesArePreferred) {
  std::vector<char> bytes(size_t{8} << 20, 'x');
  preferHugePages(bytes.data(), bytes.size());
  preferHugePages(bytes.data(), 1);  // no room for one
  EXPECT_EQ(bytes, std::vector<char>(bytes.size(), 'x'));
}

TEST(Memory, AsManyFilesAsThereMayBe) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low{before.rlim_cur / 2, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  allowManyFiles();
  rlimit after{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  EXPECT_EQ(after.rlim_max, before.rlim_max);
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace tidegauge::base
