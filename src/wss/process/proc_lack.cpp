#include "wss/process/proc_lack.h"

#include <fmt/format.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

#include "wss/process/kernel_file.h"

namespace tidegauge::wss {
namespace {

constexpr pid_t kFirst = 1;  // exists wherever processes do

bool isMounted(const std::string& proc) {
  struct statfs about {};
  return statfs(proc.c_str(), &about) == 0 && about.f_type == PROC_SUPER_MAGIC;
}

bool isReadable(pid_t pid, const std::string& proc) {
  return access(fmt::format("{}/{}/stat", proc, pid).c_str(), R_OK) == 0;
}

bool exists(pid_t pid) { return kill(pid, 0) == 0 || errno == EPERM; }

base::Error notMounted(const std::string& proc) {
  return unreadable(
      fmt::format("{} is not mounted, and the figures of processes come from there", proc),
      fmt::format("`mount -t proc proc {}` mounts it", proc));
}

}  // namespace

std::optional<base::Error> whyNotInProc(pid_t pid, const std::string& proc) {
  if (proc != "/proc") return std::nullopt;  // a copy, whose processes do not run here
  if (!isMounted(proc)) return notMounted(proc);
  if (isReadable(pid, proc) || !exists(pid)) return std::nullopt;
  return unreadable(
      fmt::format("process {} exists, but {} hides it from this user (mount option hidepid)", pid,
                  proc),
      "Run with sudo");
}

std::optional<base::Error> whyProcIsNotWhole(const std::string& proc) {
  if (proc != "/proc") return std::nullopt;
  if (!isMounted(proc)) return notMounted(proc);
  if (isReadable(kFirst, proc) || !exists(kFirst)) return std::nullopt;
  return unreadable(
      fmt::format("{} hides the processes of other users (mount option hidepid)", proc),
      "Run with sudo");
}

}  // namespace tidegauge::wss
