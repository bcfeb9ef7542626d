#include "cli/commands/browser.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace tidegauge::cli {
namespace {

std::string privateFolder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const char* temporary = std::getenv("TMPDIR");
  for (const char* parent : {runtime, temporary, "/tmp"}) {
    if (parent == nullptr || *parent != '/') continue;
    std::string folder = std::string(parent) + "/tidegauge-XXXXXX";
    if (mkdtemp(folder.data()) != nullptr) return folder;  // 0700
  }
  return {};
}

bool writePrivately(const std::string& path, const std::string& text) {
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  return ::close(fd) == 0 && written;
}

// In its own session and without Tidegauge's streams, so that Ctrl-C here does not end the browser.
void start(std::string program, std::string argument) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  }
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  char* arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  std::signal(SIGCHLD, SIG_IGN);  // nothing waits for it
  posix_spawnp(&child, program.c_str(), &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
}

}  // namespace

void Browser::open(const std::string& url) {
  if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr) return;
  folder_ = privateFolder();
  if (folder_.empty()) return;
  file_ = folder_ + "/open.html";
  std::string page = fmt::format(
      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Tidegauge</title>"
      "<meta http-equiv=\"refresh\" content=\"0; url={}\"><a href=\"{}\">Open Tidegauge</a>\n",
      url, url);
  if (writePrivately(file_, page)) start("xdg-open", file_);
}

void Browser::forget() {
  if (folder_.empty()) return;
  unlink(file_.c_str());
  rmdir(folder_.c_str());
  folder_.clear();
}

}  // namespace tidegauge::cli
