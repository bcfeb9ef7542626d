#include "record/process/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "record/process/errors.h"

namespace tidegauge::record {
namespace {

constexpr int kCancelled = 125;                // exit code: nobody waits for it
constexpr int kTakenStatus = kCancelled << 8;  // somebody else took it

// All variables, except those that are set anew. Points into the settings and this process's own.
std::vector<char*> variablesOf(const ChildSettings& settings) {
  std::vector<char*> list;
  auto add = [&](char* variable) {
    std::string_view old = variable;
    bool is_replaced =
        std::any_of(settings.more.begin(), settings.more.end(), [&](std::string_view fresh) {
          return old.starts_with(fresh.substr(0, fresh.find('=') + 1));
        });
    if (!is_replaced) list.push_back(variable);
  };
  if (settings.variables.empty())
    for (char** it = environ; *it != nullptr; ++it) add(*it);
  for (const std::string& variable : settings.variables) add(const_cast<char*>(variable.c_str()));
  for (const std::string& fresh : settings.more) list.push_back(const_cast<char*>(fresh.c_str()));
  list.push_back(nullptr);
  return list;
}

}  // namespace

std::string variableOf(const ChildSettings& settings, std::string_view name) {
  std::string prefix = std::string(name) + "=";
  for (const auto* list : {&settings.more, &settings.variables})
    for (const std::string& variable : *list)
      if (variable.starts_with(prefix)) return variable.substr(prefix.size());
  for (char** it = environ; settings.variables.empty() && *it != nullptr; ++it)
    if (std::string_view(*it).starts_with(prefix)) return *it + prefix.size();
  return {};
}

base::Result<Child> Child::start(const std::vector<std::string>& command,
                                 const ChildSettings& settings) {
  std::array<int, 2> gate{}, verdict{};
  if (pipe2(gate.data(), O_CLOEXEC) != 0 || pipe2(verdict.data(), O_CLOEXEC) != 0)
    return unreadable(fmt::format("cannot start {}: {}", command[0], std::strerror(errno)));
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> variables = variablesOf(settings);
  pid_t pid = fork();
  if (pid < 0)
    return unreadable(fmt::format("cannot start {}: {}", command[0], std::strerror(errno)));
  if (pid == 0) {
    close(gate[1]);
    close(verdict[0]);
    bool is_user = !settings.user || becomeUser(*settings.user).ok();
    char byte = 0;
    ssize_t got = 0;
    while ((got = read(gate[0], &byte, 1)) < 0 && errno == EINTR) {
    }
    if (got > 0) _exit(kCancelled);
    if (settings.signals.ignores_children) signal(SIGCHLD, SIG_IGN);
    sigprocmask(SIG_SETMASK, &settings.signals.blocked, nullptr);
    if (is_user) execvpe(arguments[0], arguments.data(), variables.data());
    int why = is_user ? errno : EPERM;
    (void)!write(verdict[1], &why, sizeof(why));
    _exit(why == ENOENT ? 127 : 126);
  }
  close(gate[0]);
  close(verdict[1]);
  Child child(pid, gate[1], verdict[0]);
  child.name_ = command[0];
  return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      gate_(std::exchange(other.gate_, -1)),
      verdict_(std::exchange(other.verdict_, -1)),
      name_(std::move(other.name_)),
      status_(other.status_) {}

Child::~Child() {
  if (gate_ >= 0) close(gate_);
  if (verdict_ >= 0) close(verdict_);
}

void Child::cancel() const {
  if (gate_ >= 0) (void)!write(gate_, "", 1);
}

base::Status Child::go() {
  close(std::exchange(gate_, -1));
  int why = 0;
  ssize_t got = 0;
  while ((got = read(verdict_, &why, sizeof(why))) < 0 && errno == EINTR) {
  }
  close(std::exchange(verdict_, -1));
  if (got != sizeof(why)) return base::okStatus();
  (void)ended();
  return base::Error{
      base::ErrorKind::kUsage,
      fmt::format("“{}” cannot be run: {}", name_, std::strerror(why)),
      {},
      why == ENOENT ? "Write the program as the shell would find it, after “--”" : ""};
}

std::optional<int> Child::ended() {
  if (status_ || pid_ < 0) return status_;
  int status = 0;
  pid_t got = waitpid(pid_, &status, WNOHANG);
  if (got == pid_) status_ = status;
  if (got < 0 && errno == ECHILD) status_ = kTakenStatus;
  return status_;
}

std::string findProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* list = std::getenv("PATH");
  std::string paths = list != nullptr ? list : "/usr/local/bin:/usr/bin:/bin";
  for (size_t at = 0; at <= paths.size();) {
    size_t end = std::min(paths.find(':', at), paths.size());
    std::string path = end > at ? paths.substr(at, end - at) : ".";
    path.append("/").append(name);
    if (access(path.c_str(), X_OK) == 0) return path;
    at = end + 1;
  }
  return {};
}

std::string interpreterOfScript(const std::string& path) {
  std::string file = path;
  for (int depth = 0; depth < 4; ++depth) {  // the same limit as the kernel
    std::ifstream stream(file, std::ios::binary);
    std::string line(256, '\0');
    stream.read(line.data(), static_cast<std::streamsize>(line.size()));
    line.resize(static_cast<size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
    if (!line.starts_with("#!")) return file;
    size_t begin = line.find_first_not_of(" \t", 2);
    if (begin == std::string::npos) return file;
    std::string word = line.substr(begin, line.find_first_of(" \t\n", begin) - begin);
    size_t after = line.find_first_not_of(" \t", begin + word.size());
    if (word.ends_with("/env") && after != std::string::npos)
      word = findProgram(line.substr(after, line.find_first_of(" \t\n", after) - after));
    file = word;
  }
  return file;
}

}  // namespace tidegauge::record
