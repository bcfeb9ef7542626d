#include "record/process_maps.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace tidegauge::record {
namespace {

TEST(ProcessMaps, AFileThatOpensAndCannotBeReadIsEmpty) {
  EXPECT_EQ(readable("/"), "");  // as /proc/PID/maps of a process that has just ended
  EXPECT_EQ(readable("/nowhere"), "");
}

TEST(ProcessMaps, FindsThisProgram) {
  bool found = false;
  for (const Mapping& mapping : executableMappings(static_cast<uint32_t>(getpid())))
    found |= mapping.path.find("record_test") != std::string::npos;
  EXPECT_TRUE(found);
  EXPECT_TRUE(executableMappings(~uint32_t{0}).empty());
}

}  // namespace
}  // namespace tidegauge::record
