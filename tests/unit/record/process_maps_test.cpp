#include "record/process_maps.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tidegauge::record {
namespace {

TEST(ProcessMaps, AFileThatOpensAndCannotBeReadIsEmpty) {
  EXPECT_EQ(readable("/"), "");  // as /proc/PID/maps of a process that has just ended
  EXPECT_EQ(readable("/nowhere"), "");
}

TEST(ProcessMaps, APathIsThatOfBeforeTheFileWasRemoved) {
  auto mappings = parseMappings(
      "7f00-7f10 r-xp 00000000 fd:01 131 /usr/lib/libcuda.so.1 (deleted)\n"
      "7f20-7f30 r-xp 00000000 fd:01 132 /usr/lib/libcudart.so.13\n");
  ASSERT_EQ(mappings.size(), 2U);
  EXPECT_EQ(mappings[0].path, "/usr/lib/libcuda.so.1");
  EXPECT_TRUE(mappings[0].deleted);
  EXPECT_EQ(mappings[1].path, "/usr/lib/libcudart.so.13");
  EXPECT_FALSE(mappings[1].deleted);
}

TEST(ProcessMaps, FindsThisProgram) {
  bool found = false;
  for (const Mapping& mapping : executableMappings(static_cast<uint32_t>(getpid())))
    found |= mapping.path.find("record_test") != std::string::npos;
  EXPECT_TRUE(found);
  EXPECT_TRUE(executableMappings(~uint32_t{0}).empty());
}

TEST(ProcessMaps, ThePathFromHereLeadsToTheFile) {
  for (const Mapping& mapping : executableMappings(static_cast<uint32_t>(getpid()))) {
    if (mapping.file.inode == 0) continue;
    struct stat file {};
    ASSERT_EQ(stat(pathFromHere(static_cast<uint32_t>(getpid()), mapping).c_str(), &file), 0);
    EXPECT_EQ(file.st_ino, mapping.file.inode) << mapping.path;
  }
}

}  // namespace
}  // namespace tidegauge::record
