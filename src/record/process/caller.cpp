#include "record/process/caller.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "base/text_layout.h"
#include "record/process/errors.h"
#include "record/process/process_maps.h"
#include "record/process/running_process.h"

namespace tidegauge::record {
namespace {

constexpr int kMaxAncestors = 8;
// What sudo sets for the programs that it starts, and what it replaces by root's.
constexpr std::array<std::string_view, 5> kOfSudo = {"SUDO_COMMAND", "SUDO_USER", "SUDO_UID",
                                                     "SUDO_GID", "PKEXEC_UID"};
constexpr std::array<std::string_view, 5> kOfUser = {"HOME", "USER", "LOGNAME", "SHELL", "MAIL"};
// What a shell sets for itself.
constexpr std::array<std::string_view, 4> kOfShell = {"_", "PWD", "OLDPWD", "SHLVL"};
// Without these another program, or other libraries, may run than the caller's own.
constexpr std::array<std::string_view, 8> kDecisive = {
    "LD_LIBRARY_PATH", "LD_PRELOAD", "VIRTUAL_ENV", "CONDA_",
    "PYTHON",          "CUDA_",      "NVIDIA_",     "PYTORCH_"};

std::string_view nameIn(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

template <class Names>
bool isAmong(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool isDecisive(std::string_view name) {
  return std::any_of(kDecisive.begin(), kDecisive.end(), [&](std::string_view begin) {
    return begin.ends_with('_') || begin == "PYTHON" ? name.starts_with(begin) : name == begin;
  });
}

std::optional<uid_t> numberOf(const char* text) {
  if (text == nullptr) return std::nullopt;
  uid_t number = 0;
  const char* end = text + std::strlen(text);
  auto [rest, error] = std::from_chars(text, end, number);
  // −1 means "no change" to the system calls that set a user.
  if (error != std::errc() || rest != end || number == static_cast<uid_t>(-1)) return std::nullopt;
  return number;
}

Caller userOf(uid_t uid, std::optional<gid_t> gid) {
  Caller user;
  user.uid = uid;
  const passwd* entry = getpwuid(uid);
  if (entry != nullptr) {
    user.name = entry->pw_name;
    user.home = entry->pw_dir;
    user.shell = entry->pw_shell;
  }
  // Without an entry and without SUDO_GID no group is known; root's would be too much.
  user.gid = entry != nullptr ? entry->pw_gid : gid.value_or(static_cast<gid_t>(uid));
  user.groups = {user.gid};
  if (entry == nullptr) return user;
  int count = 64;
  user.groups.resize(static_cast<size_t>(count));
  if (getgrouplist(user.name.c_str(), user.gid, user.groups.data(), &count) < 0) {
    user.groups.resize(static_cast<size_t>(count));
    getgrouplist(user.name.c_str(), user.gid, user.groups.data(), &count);
  }
  user.groups.resize(static_cast<size_t>(std::max(count, 1)));
  return user;
}

// The process above this one whose program is sudo; 0: none.
uint32_t sudoAbove() {
  auto pid = static_cast<uint32_t>(getppid());
  for (int i = 0; i < kMaxAncestors && pid > 1; ++i) {
    if (nameOf(pid) == "sudo") return pid;
    std::string stat = readable(fmt::format("/proc/{}/stat", pid));
    size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos || name_end + 4 >= stat.size()) return 0;
    const char* parent = stat.data() + name_end + 4;  // ") S 41 …"
    uint32_t above = 0;
    std::from_chars(parent, stat.data() + stat.size(), above);
    pid = above;
  }
  return 0;
}

}  // namespace

std::optional<Caller> callingUser() {
  if (geteuid() != 0) return std::nullopt;
  if (getuid() != 0) return userOf(getuid(), getgid());  // setuid root
  std::optional<uid_t> uid = numberOf(std::getenv("SUDO_UID"));
  std::optional<gid_t> gid = numberOf(std::getenv("SUDO_GID"));
  if (!uid) uid = numberOf(std::getenv("PKEXEC_UID"));
  if (!uid || *uid == 0) return std::nullopt;
  return userOf(*uid, gid);
}

base::Status checkCaller() {
  if (geteuid() != 0 || getuid() != 0) return base::okStatus();
  for (auto [name, text] : {std::pair{"SUDO_UID", std::getenv("SUDO_UID")},
                            {"SUDO_GID", std::getenv("SUDO_GID")},
                            {"PKEXEC_UID", std::getenv("PKEXEC_UID")}}) {
    if (text != nullptr && !numberOf(text))
      return base::Error{base::ErrorKind::kUsage,
                         fmt::format("{} is “{}”, which is not the number of a user or group", name,
                                     base::printable(text)),
                         std::nullopt, "Unset it, or run the command as root with --as-root"};
  }
  return base::okStatus();
}

base::Status becomeUser(const Caller& user) {
  bool done = setgroups(user.groups.size(), user.groups.data()) == 0 &&
              setresgid(user.gid, user.gid, user.gid) == 0 &&
              setresuid(user.uid, user.uid, user.uid) == 0;
  if (done) return base::okStatus();
  return missing(fmt::format("cannot become user {}: {}", user.uid, std::strerror(errno)),
                 "--as-root runs the command as root");
}

std::vector<std::string> environmentBeforeSudo() {
  std::vector<std::string> variables;
  uint32_t sudo = sudoAbove();
  if (sudo == 0) return variables;
  std::string text = readable(fmt::format("/proc/{}/environ", sudo));
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\0', at), text.size());
    if (text.find('=', at) < end) variables.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return variables;
}

std::vector<std::string> environmentFor(const Caller& user, const std::vector<std::string>& own) {
  std::vector<std::string> variables;
  for (const std::string& variable : own) {
    std::string_view name = nameIn(variable);
    if (!isAmong(kOfSudo, name) && !isAmong(kOfUser, name)) variables.push_back(variable);
  }
  auto set = [&](const char* name, const std::string& value) {
    if (!value.empty()) variables.push_back(fmt::format("{}={}", name, value));
  };
  set("HOME", user.home.empty() ? "/" : user.home);
  set("USER", user.name);
  set("LOGNAME", user.name);
  set("SHELL", user.shell);
  return variables;
}

std::string withheldBySudo(const std::vector<std::string>& before,
                           const std::vector<std::string>& now) {
  std::map<std::string_view, std::string_view> has;
  for (std::string_view variable : now) has[nameIn(variable)] = variable;
  std::vector<std::string> named;
  size_t others = 0;
  bool has_other_path = false;
  for (std::string_view variable : before) {
    std::string_view name = nameIn(variable);
    auto found = has.find(name);
    if (name == "PATH") has_other_path = found == has.end() || found->second != variable;
    if (found != has.end() || isAmong(kOfShell, name)) continue;
    if (isDecisive(name))
      named.emplace_back(name);
    else
      others += 1;
  }
  if (named.empty() && !has_other_path) return {};
  std::sort(named.begin(), named.end());
  std::string text = fmt::format("{}", fmt::join(named, ", "));
  if (named.empty()) return "replaced PATH";
  if (others > 0) text += fmt::format(" and {} more", others);
  return fmt::format("did not pass on {}{}", text, has_other_path ? ", and replaced PATH" : "");
}

}  // namespace tidegauge::record
