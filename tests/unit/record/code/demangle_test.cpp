#include "record/code/demangle.h"

#include <gtest/gtest.h>

namespace tidegauge::record {
namespace {

TEST(Demangle, NamesAsPeopleWriteThem) {
  EXPECT_EQ(demangled("_Z3addPfi"), "add(float*, int)");
  EXPECT_EQ(demangled("_Z4copyIfEvPT_PKS0_"), "void copy<float>(float*, float const*)");
}

TEST(Demangle, OtherNamesAreUnchanged) {
  for (const char* name : {"", "gemm_128x64", "main", "i", "_Z", "_Z3ad", "_ZTV"})
    EXPECT_EQ(demangled(name), name);
}

// f(a, pair<a, a>, pair<pair<a, a>, pair<a, a>>, …): each is twice as long as the one before.
std::string doubled(int levels) {
  const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string name = "_Z1f1aSt4pairIS_S_E";
  for (int i = 1; i < levels; ++i)
    name += std::string("S0_IS") + digits[i] + "_S" + digits[i] + "_E";
  return name;
}

TEST(Demangle, ANameThatStandsForGigabytesStaysAsItIs) {
  EXPECT_TRUE(demangled(doubled(4)).starts_with("f(a, std::pair<a, a>, std::pair<std::pair<a, a>"));
  EXPECT_EQ(demangled(doubled(30)), doubled(30));
  EXPECT_EQ(demangled(std::string(100'000, 'x')).size(), 4096U);
}

}  // namespace
}  // namespace tidegauge::record
