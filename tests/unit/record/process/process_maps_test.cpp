#include "record/process/process_maps.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tidegauge::record {
namespace {

TEST(ProcessMaps, AFileThatOpensAndCannotBeReadIsEmpty) {
  EXPECT_EQ(readable("/"), "");  // as /proc/PID/maps of a process that has just ended
  EXPECT_EQ(readable("/nowhere"), "");
  std::string pipe = ::testing::TempDir() + "readable_pipe";
  unlink(pipe.c_str());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(readable(pipe), "");  // and does not wait for a writer
  unlink(pipe.c_str());
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

TEST(ProcessMaps, SaysWhetherThatWasAll) {
  bool is_whole = false;
  (void)executableMappings(static_cast<uint32_t>(getpid()), &is_whole);
  EXPECT_TRUE(is_whole);
  (void)executableMappings(~uint32_t{0}, &is_whole);
  EXPECT_FALSE(is_whole);
  pid_t ended = fork();  // and not waited for: its maps open, and are empty
  if (ended == 0) _exit(0);
  siginfo_t news{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(ended), &news, WEXITED | WNOWAIT), 0);
  is_whole = true;
  EXPECT_TRUE(executableMappings(static_cast<uint32_t>(ended), &is_whole).empty());
  EXPECT_FALSE(is_whole);
  ASSERT_EQ(waitpid(ended, nullptr, 0), ended);
}

struct Known {
  uint64_t start, end;
  char module;
  bool operator==(const Known&) const = default;
};

TEST(ProcessMaps, WhatWasKnownStaysWhereTheRestWasNotFound) {
  std::vector<Known> known{{10, 20, 'a'}, {30, 40, 'b'}, {50, 60, 'c'}};
  renew(known, {{10, 20, 'a'}, {25, 31, 'd'}}, false);
  EXPECT_EQ(known, (std::vector<Known>{{10, 20, 'a'}, {25, 31, 'd'}, {50, 60, 'c'}}));
  renew(known, {}, false);  // the process was gone
  EXPECT_EQ(known.size(), 3U);
  renew(known, {{10, 20, 'a'}}, true);  // the others were unmapped
  EXPECT_EQ(known, (std::vector<Known>{{10, 20, 'a'}}));
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
