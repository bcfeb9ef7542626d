#include "cli/options/output.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>

namespace tidegauge::cli {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

TEST(Output, KeepsTheExitCodeWhenAllIsWritten) {
  File file(std::tmpfile());
  Output out(file.get());
  out.print("{} rows\n", 3);
  EXPECT_EQ(out.finish(7), 7);
  EXPECT_EQ(std::ftell(file.get()), 7);
}

TEST(Output, AFullDiskIsAnError) {
  File file(std::fopen("/dev/full", "w"));
  if (file == nullptr) GTEST_SKIP() << "this system has no /dev/full; Linux has";
  Output out(file.get());
  out.write("a little, which stays in the buffer");
  EXPECT_FALSE(out.failed()) << "only flushing shows it";
  EXPECT_EQ(out.finish(0), kNotWritten);
}

TEST(Output, AFailureStopsTheLaterWork) {
  File file(std::fopen("/dev/full", "w"));
  if (file == nullptr) GTEST_SKIP() << "this system has no /dev/full; Linux has";
  Output out(file.get());
  std::stop_token stop = out.stop();
  for (int i = 0; i < 100 && !out.failed(); ++i) out.write(std::string(4096, 'x'));
  EXPECT_TRUE(out.failed());
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_EQ(out.finish(0), kNotWritten);
}

TEST(Output, AClosedReaderIsNotAnError) {
  auto previous = std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  File file(fdopen(ends[1], "w"));
  Output out(file.get());
  out.write("nobody reads this");
  EXPECT_EQ(out.finish(0), 0);
  EXPECT_EQ(out.failed(), true);
  std::signal(SIGPIPE, previous);
}

TEST(ShrinkingFile, EndsWithWords) {
  auto read_cut_file = [] {
    guardAgainstShrinkingFiles();
    File file(std::tmpfile());
    (void)!ftruncate(fileno(file.get()), 1 << 20);
    void* bytes = mmap(nullptr, 1 << 20, PROT_READ, MAP_PRIVATE, fileno(file.get()), 0);
    (void)!ftruncate(fileno(file.get()), 0);
    volatile const char* first = static_cast<const char*>(bytes);
    (void)*first;
    std::_Exit(0);
  };
  EXPECT_EXIT(read_cut_file(), ::testing::ExitedWithCode(3), "shorter while Tidegauge read it");
}

}  // namespace
}  // namespace tidegauge::cli
