// Libraries whose processes have ended are released, and watched again. Needs root, the kernel and
// gcc.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "record/kernel/probes.h"
#include "record/process/running_process.h"
#include "support/temp_folder.h"

namespace tidegauge::record {
namespace {

constexpr int64_t kSecond_ns = 1'000'000'000;

// A process that maps the library, and with `child` a child that inherits the mapping.
class User {
 public:
  User(const std::string& library, bool child) {
    int ready[2];
    if (pipe(ready) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      setpgid(0, 0);
      char is_there = dlopen(library.c_str(), RTLD_NOW) != nullptr ? 'y' : 'n';
      if (child && fork() != 0) {
        (void)!write(ready[1], &is_there, 1);
        _exit(0);  // only the child is left
      }
      if (!child) (void)!write(ready[1], &is_there, 1);
      for (;;) pause();
    }
    setpgid(pid_, pid_);
    char is_there = 'n';
    (void)!read(ready[0], &is_there, 1);
    is_there_ = is_there == 'y';
    close(ready[0]);
    close(ready[1]);
  }
  ~User() {
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    // Its child is another's to wait for: until the group is empty.
    for (int i = 0; i < 2000 && kill(-pid_, 0) == 0; ++i) usleep(1000);
  }
  bool isThere() const { return is_there_; }
  uint32_t pid() const { return static_cast<uint32_t>(pid_); }

 private:
  pid_t pid_ = -1;
  bool is_there_ = false;
};

// A process that only runs a program.
class Runner {
 public:
  explicit Runner(const std::string& path) {
    pid_ = fork();
    if (pid_ == 0) {
      execl(path.c_str(), path.c_str(), nullptr);
      _exit(127);
    }
    // It has the name of the program a moment before its code.
    auto isThere = [&](const Mapping& mapping) { return mapping.path == path; };
    for (int i = 0; i < 2000 && !std::ranges::any_of(executableMappings(pid()), isThere); ++i)
      usleep(1000);
  }
  ~Runner() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  uint32_t pid() const { return static_cast<uint32_t>(pid_); }

 private:
  pid_t pid_ = -1;
};

// `after` each writing this is run on it.
void expectLookedAtAgain(const std::string& after) {
  auto programs = Programs::load({.watch_all = true});
  if (!programs.ok()) GTEST_SKIP() << programs.error().what << " (run as root)";
  testing::TempFolder folder;
  std::string program = folder.file("a.out");
  // Into the same file, like `cp`; with or without the runtime linked in.
  auto write = [&](const std::string& code) {
    std::string build = fmt::format(
        "echo '{} int pause(void); int main(void) {{ return pause(); }}' | gcc -o {}/new -x c - && "
        "cat {}/new > {} && chmod +x {} && {} {}",
        code, folder.path(), folder.path(), program, program, after, program);
    return std::system(build.c_str()) == 0;
  };
  Probes probes(programs.value());
  if (!write("")) GTEST_SKIP() << "no gcc";
  {
    Runner run(program);
    EXPECT_TRUE(probes.watchLibrariesOf(run.pid()).added.empty());
  }
  ASSERT_TRUE(write("int cudaMalloc(void) { return 0; }"));
  {
    Runner run(program);
    LibrariesOf found = probes.watchLibrariesOf(run.pid());
    ASSERT_EQ(found.added.size(), 1U);
    EXPECT_EQ(found.added[0].functions, 1U);
    EXPECT_TRUE(probes.watchLibrariesOf(run.pid()).added.empty());
  }
  ASSERT_TRUE(write("int cudaFree(void) { return 0; } int cudaMalloc(void) { return 0; }"));
  Runner run(program);
  LibrariesOf found = probes.watchLibrariesOf(run.pid());
  ASSERT_EQ(found.added.size(), 1U);
  EXPECT_EQ(found.added[0].functions, 2U);
  EXPECT_EQ(probes.attachedFiles(), 1U);
  EXPECT_EQ(probes.libraries().size(), 1U);
  // A removed file of a running program is still a program.
  std::filesystem::remove(program);
  Probes late(programs.value());
  EXPECT_EQ(late.watchLibrariesOf(run.pid()).added.size(), 1U);
}

TEST(Probes, AProgramThatIsWrittenAnewIsLookedAtAgain) { expectLookedAtAgain("true"); }

// Images that are made to be the same each time have files of 1970.
TEST(Probes, AFileWithoutATimeIsLookedAtAgainToo) { expectLookedAtAgain("touch -d @0"); }

TEST(ProbesLetGo, DropsUnmappedLibraries) {
  auto programs = Programs::load({.watch_all = true});
  if (!programs.ok()) GTEST_SKIP() << programs.error().what << " (run as root)";
  testing::TempFolder folder;
  std::string library = folder.file("libcudart.so.13");
  std::string build = fmt::format(
      "echo 'int cudaMalloc(void) {{ return 0; }} int cudaFree(void) {{ return 0; }}' | "
      "gcc -shared -fPIC -o {} -x c -",
      library);
  if (std::system(build.c_str()) != 0) GTEST_SKIP() << "no gcc";
  Probes probes(programs.value());
  auto paths = [&] {
    std::vector<std::string> list;
    for (const WatchedLibrary& it : probes.libraries()) list.push_back(it.path);
    return list;
  };
  const std::vector<std::string> one = {library}, none;
  {
    User user(library, false);
    ASSERT_TRUE(user.isThere());
    ASSERT_EQ(probes.watchLibrariesOf(user.pid()).added.size(), 1U);
    EXPECT_EQ(probes.releaseUnused(0, 60 * kSecond_ns), none);
    EXPECT_EQ(probes.releaseUnused(100 * kSecond_ns, 60 * kSecond_ns), none);
  }
  EXPECT_EQ(probes.releaseUnused(200 * kSecond_ns, 60 * kSecond_ns), none);
  EXPECT_EQ(probes.releaseUnused(259 * kSecond_ns, 60 * kSecond_ns), none);
  {
    // This process was not reported: it has the library from a parent that has ended.
    User user(library, true);
    ASSERT_TRUE(user.isThere());
    EXPECT_EQ(probes.releaseUnused(261 * kSecond_ns, 60 * kSecond_ns), none);
    EXPECT_EQ(paths(), one);
    EXPECT_EQ(probes.attachedFiles(), 1U);
  }
  EXPECT_EQ(probes.releaseUnused(300 * kSecond_ns, 60 * kSecond_ns), none);
  EXPECT_EQ(probes.releaseUnused(361 * kSecond_ns, 60 * kSecond_ns), one);
  EXPECT_EQ(paths(), none);
  EXPECT_EQ(probes.attachedFiles(), 0U);
  User user(library, false);
  ASSERT_EQ(probes.watchLibrariesOf(user.pid()).added.size(), 1U);
  EXPECT_EQ(paths(), one);
}

}  // namespace
}  // namespace tidegauge::record
