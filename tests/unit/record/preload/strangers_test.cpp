#include "record/preload/strangers.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace tidegauge::record {
namespace {

constexpr char kLibrary[] =
    "7f0a00000000-7f0a00009000 r-xp 00000000 00:01 2052 /memfd:tidegauge-preload (deleted)\n";
constexpr char kDriver[] =
    "7f0a10000000-7f0a10009000 r-xp 00000000 fd:01 131 /usr/lib/libcuda.so.550.54.15\n";
constexpr char kPlain[] = "7f0a20000000-7f0a20009000 r-xp 00000000 fd:01 132 /usr/lib/libc.so.6\n";

TEST(Strangers, AProgramWithTheDriverAndWithoutTheLibraryIsOne) {
  EXPECT_EQ(usesCuda(""), UsesCuda::kNo);
  EXPECT_EQ(usesCuda(kPlain), UsesCuda::kNo);
  EXPECT_EQ(usesCuda(std::string(kPlain) + kDriver), UsesCuda::kWithout);
  EXPECT_EQ(usesCuda(std::string(kDriver) + kLibrary), UsesCuda::kWithLibrary);
  EXPECT_EQ(usesCuda(std::string(kPlain) + kLibrary), UsesCuda::kWithLibrary);
}

TEST(Strangers, ProcessesWithoutCudaAreNone) {
  Strangers strangers;
  auto own = static_cast<uint32_t>(getpid());
  EXPECT_TRUE(strangers.look(own).empty());
  EXPECT_TRUE(strangers.look(own).empty());
}

}  // namespace
}  // namespace tidegauge::record
