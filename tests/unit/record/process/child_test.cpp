#include "record/process/child.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <filesystem>

#include "support/temp_folder.h"

namespace tidegauge::record {
namespace {

TEST(Child, RunsOnceItMay) {
  testing::TempFolder folder;
  std::string ran = folder.file("ran");
  Child child = Child::start({"touch", ran}).value();
  EXPECT_FALSE(std::filesystem::exists(ran));
  ASSERT_TRUE(child.go().ok());
  int status = -1;
  ASSERT_EQ(waitpid(child.pid(), &status, 0), child.pid());
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::exists(ran));
}

// Each time: a signal would come too late in some.
TEST(Child, NeverRunsIfItWasCancelled) {
  testing::TempFolder folder;
  std::string ran = folder.file("ran");
  for (int i = 0; i < 100; ++i) {
    pid_t pid = 0;
    {
      Child child = Child::start({"touch", ran}).value();
      pid = child.pid();
      child.cancel();
    }
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_NE(status, 0);
    ASSERT_FALSE(std::filesystem::exists(ran)) << i;
  }
}

}  // namespace
}  // namespace tidegauge::record
