// Which processes can be measured, and what happens if they change meanwhile.
#include "wss/process/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/wss/fake_proc.h"

namespace tidegauge::wss {
namespace {

using testing::HasSubstr;

// A child that waits; ended when the test is.
class Child {
 public:
  Child() {
    int gate[2] = {-1, -1};
    if (pipe2(gate, O_CLOEXEC) != 0) abort();
    pid = fork();
    if (pid == 0) {
      char word = 0;
      while (read(gate[0], &word, 1) != 1) {
      }
      if (word == 'x') execl("/bin/sleep", "sleep", "100", nullptr);
      _exit(0);
    }
    close(gate[0]);
    gate_ = gate[1];
  }
  ~Child() {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    close(gate_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  void tell(char word) const { ASSERT_EQ(write(gate_, &word, 1), 1); }
  pid_t pid = 0;

 private:
  int gate_ = -1;
};

std::string whyNot(pid_t pid, const std::string& proc = "/proc") {
  auto process = Process::open(pid, proc);
  return process.ok() ? "" : process.error().what + "|" + process.error().hint;
}

void waitFor(const std::function<bool()>& done) {
  for (int i = 0; i < 2000 && !done(); ++i) usleep(5000);
}

TEST(Process, OneThatRuns) {
  Child child;
  auto process = Process::open(child.pid);
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(process.value().name(), "wss_test");
  EXPECT_TRUE(process.value().check().ok());
}

TEST(Process, NoSuch) { EXPECT_THAT(whyNot(2'000'000'000), HasSubstr("there is no process")); }

TEST(Process, AZombie) {
  Child child;
  child.tell('e');
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_THAT(whyNot(child.pid), HasSubstr("zombie"));
}

TEST(Process, ContinuesWithoutItsFirstThread) {
  FakeProc proc;
  proc.write("stat", "423 (mysqld) Z 1 423 423 0");
  proc.write("maps", "");
  proc.write("statm", "0 0 0 0 0 0 0\n");
  EXPECT_THAT(whyNot(423, proc.root()), HasSubstr("zombie"));
  std::filesystem::path tasks = std::filesystem::path(proc.root()) / "423" / "task";
  std::filesystem::create_directories(tasks / "423");
  std::filesystem::create_directories(tasks / "425");
  proc.write("task/423/maps", "");
  proc.write("task/425/stat", "425 (worker) S 1 423 423 0");
  proc.write("task/425/statm", "256 0 0 0 0 256 0\n");
  proc.write("task/425/maps", "559e00000000-559e00100000 rw-p 00000000 00:00 0 [heap]\n");
  auto process = Process::open(423, proc.root());
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(process.value().pid(), 423);
  EXPECT_EQ(process.value().thread(), 425);
  EXPECT_EQ(process.value().name(), "mysqld");
  EXPECT_TRUE(process.value().check().ok());
  EXPECT_THAT(process.value().readFile("maps").value(), HasSubstr("[heap]"));
}

TEST(Process, AThreadOfTheKernel) {
  FakeProc proc;
  proc.write("maps", "");
  EXPECT_THAT(whyNot(423, proc.root()), HasSubstr("(mysqld) is a kernel thread"));
}

TEST(Process, EndsMeanwhile) {
  Child child;
  auto process = Process::open(child.pid);
  ASSERT_TRUE(process.ok());
  child.tell('e');
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED | WNOWAIT), 0);
  ASSERT_FALSE(process.value().check().ok());
  EXPECT_THAT(process.value().check().error().what, HasSubstr("ended during the measurement"));
  auto file = process.value().openFile("smaps", O_RDONLY);
  if (file.ok()) close(file.value());
}

TEST(Process, BeginsAnotherProgramMeanwhile) {
  Child child;
  auto process = Process::open(child.pid);
  ASSERT_TRUE(process.ok());
  child.tell('x');
  waitFor([&] { return !process.value().check().ok(); });
  ASSERT_FALSE(process.value().check().ok());
  EXPECT_THAT(process.value().check().error().what, HasSubstr("started another program (exec)"));
}

TEST(Process, SaysWhatTheKernelLacks) {
  FakeProc proc;
  auto process = Process::open(423, proc.root());
  ASSERT_TRUE(process.ok());
  auto file = process.value().openFile("smaps", O_RDONLY);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().kind, base::ErrorKind::kMissingFeature);
  EXPECT_THAT(file.error().what, HasSubstr("this kernel has no /proc/423/smaps"));
}

TEST(Process, ReturnsItsMappingsInWholeLines) {
  FakeProc proc;
  std::string text;
  for (size_t i = 0; i < 5000; ++i) text += "line " + std::to_string(i * i) + "\n";
  text += std::string(size_t{200} << 10, 'x') + "\nshort\n";  // longer than one read
  for (const std::string& all : {text, text + "without an end"}) {
    proc.write("maps", all);
    auto process = Process::open(423, proc.root());
    ASSERT_TRUE(process.ok());
    std::string told;
    size_t parts = 0;
    auto status = process.value().readMaps([&](std::string_view lines) {
      EXPECT_TRUE(lines.ends_with('\n') || told.size() + lines.size() == all.size());
      told += lines;
      ++parts;
    });
    EXPECT_TRUE(status.ok());
    EXPECT_EQ(told, all);
    EXPECT_GT(parts, 1U);
    EXPECT_EQ(process.value().mappings(), 5002U);
  }
}

TEST(ReadAll, StopsAtItsBound) {
  FakeProc proc;
  proc.write("smaps", std::string(1'000'000, 'x'));
  int file = open((proc.root() + "/423/smaps").c_str(), O_RDONLY), error = 0;
  EXPECT_EQ(readAll(file, 700'000, error).size(), 700'000U);
  EXPECT_EQ(readAll(file, 2'000'000, error).size(), 1'000'000U);
  EXPECT_EQ(error, 0);
  close(file);
}

}  // namespace
}  // namespace tidegauge::wss
