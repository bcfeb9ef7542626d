#include "cli/options/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

namespace tidegauge::cli {
namespace {

constexpr const char* kCopyVariable = "TIDEGAUGE_COMPLAINTS_FD";
int copy_fd = -1;

}  // namespace

void Output::write(std::string_view text) {
  if (error_ != 0) return;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), file_) < text.size()) fail();
}

void Output::flush() {
  errno = 0;
  if (error_ == 0 && std::fflush(file_) != 0) fail();
}

void Output::fail() {
  error_ = errno != 0 ? errno : EIO;
  stop_.request_stop();
}

int Output::finish(int exit_code) {
  flush();
  if (error_ == 0 || error_ == EPIPE) return exit_code;
  complain(fmt::format("tidegauge: the output could not be written: {}.", std::strerror(error_)));
  return kNotWritten;
}

void complain(std::string_view text) {
  std::string line = std::string(text) + '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
  if (copy_fd >= 0) (void)!::write(copy_fd, line.data(), line.size());
}

void copyComplaints() {
  const char* given = std::getenv(kCopyVariable);
  if (given == nullptr) return;
  std::string_view text = given;
  int fd = -1;
  auto [end, error] = std::from_chars(text.begin(), text.end(), fd);
  bool is_number = error == std::errc() && end == text.end();
  if (is_number && fd > STDERR_FILENO && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) copy_fd = fd;
  unsetenv(kCopyVariable);
}

void guardStandardStreams() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    // The wrong mode on purpose: reading and writing fail as on a closed stream.
    (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

void guardAgainstShrinkingFiles() {
  struct sigaction action {};
  action.sa_handler = [](int) {  // only what is safe in a signal handler
    constexpr std::string_view kLine =
        "tidegauge: a file became shorter while Tidegauge read it. Copy the file and open the "
        "copy.\n";
    (void)!::write(STDERR_FILENO, kLine.data(), kLine.size());
    ::_exit(3);
  };
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace tidegauge::cli
