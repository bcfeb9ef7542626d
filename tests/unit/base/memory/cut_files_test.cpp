// A mapped file that another program cuts or writes: its pages read as zeros, and it is known.
#include "base/memory/cut_files.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "base/file_bytes.h"
#include "support/temp_folder.h"

namespace tidegauge::base {
namespace {

constexpr size_t kBytes = 1 << 20;

class CutFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(path_, std::ios::binary) << std::string(kBytes, 'x');
    auto opened = FileBytes::open(path_);
    ASSERT_TRUE(opened.ok());
    file_ = std::make_unique<FileBytes>(std::move(opened).value());
  }
  size_t count(char wanted) const {
    auto bytes = file_->bytes();
    return static_cast<size_t>(std::count(bytes.begin(), bytes.end(), wanted));
  }

  testing::TempFolder folder_;
  std::string path_ = folder_.file("big");
  std::unique_ptr<FileBytes> file_;
};

TEST_F(CutFiles, ReadAsZerosFromWhereTheyEnd) {
  CutFilesReadAsZeros guard;
  EXPECT_EQ(count('x'), kBytes);
  EXPECT_FALSE(file_->hasChanged());
  constexpr size_t kLeft = 3 * 65536 + 100;
  ASSERT_EQ(truncate(path_.c_str(), kLeft), 0);
  EXPECT_EQ(count('x'), kLeft);
  EXPECT_EQ(count(0), kBytes - kLeft);
  EXPECT_TRUE(file_->hasChanged());
}

TEST_F(CutFiles, SeveralGuardsAndFilesDoNotConcernEachOther) {
  auto guard = std::make_unique<CutFilesReadAsZeros>();
  CutFilesReadAsZeros other;
  std::string path = folder_.file("whole");
  std::ofstream(path, std::ios::binary) << std::string(kBytes, 'y');
  FileBytes whole = std::move(FileBytes::open(path)).value();
  guard = nullptr;
  ASSERT_EQ(truncate(path_.c_str(), 0), 0);
  EXPECT_EQ(count(0), kBytes);
  EXPECT_TRUE(file_->hasChanged());
  EXPECT_FALSE(whole.hasChanged());
}

TEST_F(CutFiles, AFileThatIsWrittenHasChanged) {
  usleep(20'000);  // the clock of files has ticks
  std::ofstream(path_, std::ios::binary | std::ios::in).put('z');
  EXPECT_TRUE(file_->hasChanged());
}

// What is not about such a file belongs to whoever had the signal before.
TEST_F(CutFiles, OtherSignalsArePassedOn) {
  auto die = [this] {
    signal(SIGBUS, [](int) { _exit(77); });
    CutFilesReadAsZeros guard;
    void* alone = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, fileno(fopen(path_.c_str(), "r")),
                       kBytes);  // beyond the end
    _exit(*static_cast<volatile char*>(alone));
  };
  EXPECT_EXIT(die(), ::testing::ExitedWithCode(77), "");
}

TEST_F(CutFiles, TheHandlerIsGivenBack) {
  struct sigaction before {
  }, after{};
  sigaction(SIGBUS, nullptr, &before);
  { CutFilesReadAsZeros guard; }
  sigaction(SIGBUS, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

}  // namespace
}  // namespace tidegauge::base
