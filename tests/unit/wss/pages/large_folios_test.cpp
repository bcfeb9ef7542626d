#include "wss/pages/large_folios.h"

#include <gtest/gtest.h>

#include "unit/wss/fake_sys.h"

namespace tidegauge::wss {
namespace {

TEST(LargeFolios, TheLargestThatTheKernelMayMake) {
  FakeSys sys;
  auto size = [&](const char* kib, const char* choice) {
    sys.write(std::string("/t/hugepages-") + kib + "kB/enabled", choice);
  };
  auto told = [&] { return largestFolioBytes(sys.root() + "/t"); };
  EXPECT_EQ(told(), 0U);  // Linux before 6.8
  sys.write("/t/enabled", "always [madvise] never\n");
  for (const char* kib : {"8", "16", "64", "512", "1024"})
    size(kib, "always inherit madvise [never]\n");
  size("2048", "always [inherit] madvise never\n");  // those fill a table, and are taken whole
  EXPECT_EQ(told(), 0U);
  size("64", "[always] inherit madvise never\n");
  EXPECT_EQ(told(), uint64_t{64} << 10);
  size("512", "always [inherit] madvise never\n");
  EXPECT_EQ(told(), uint64_t{512} << 10);
  sys.write("/t/enabled", "always madvise [never]\n");
  EXPECT_EQ(told(), uint64_t{64} << 10);
  size("1024", "always inherit [madvise] never\n");
  EXPECT_EQ(told(), uint64_t{1024} << 10);
}

}  // namespace
}  // namespace tidegauge::wss
