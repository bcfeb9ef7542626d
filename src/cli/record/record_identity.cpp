#include "cli/record/record_identity.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_layout.h"
#include "cli/open_trace.h"
#include "cli/options/output.h"
#include "cli/options/usage.h"
#include "record/process/process_maps.h"
#include "record/process/running_process.h"

namespace tidegauge::cli {
namespace {

constexpr std::string_view kPath = "PATH=";

std::vector<std::string> ownVariables() {
  std::vector<std::string> variables;
  for (char** it = environ; *it != nullptr; ++it) variables.emplace_back(*it);
  return variables;
}

void sayCaller(const record::Caller& caller, const std::vector<std::string>& before) {
  std::string name = caller.name.empty()
                         ? fmt::format("user {}", caller.uid)
                         : fmt::format("{} (uid {})", base::printable(caller.name), caller.uid);
  complain(fmt::format(
      "tidegauge: the command runs as {}, who called; --as-root would run it as root", name));
  if (before.empty()) return;
  std::string withheld = record::withheldBySudo(before, ownVariables());
  if (!withheld.empty())
    complain(fmt::format(
        "tidegauge: sudo {}; `tidegauge record --sudo` passes the caller's variables on",
        base::printable(withheld)));
}

void takePath(const std::vector<std::string>& variables) {
  for (const std::string& variable : variables)
    if (variable.starts_with(kPath)) setenv("PATH", variable.c_str() + kPath.size(), 1);
}

}  // namespace

RecordIdentity identityFor(const RecordOptions& options) {
  RecordIdentity identity;
  identity.caller = record::callingUser();
  if (!identity.caller || options.command.empty()) return identity;
  std::vector<std::string> before = record::environmentBeforeSudo();
  if (options.sudo && !before.empty()) {
    identity.child.variables = before;
  } else if (!options.as_root) {
    identity.child.variables = record::environmentFor(*identity.caller, ownVariables());
    sayCaller(*identity.caller, before);
  }
  takePath(identity.child.variables);
  if (!options.as_root) identity.child.user = identity.caller;
  return identity;
}

int recordThroughSudo() {
  std::string sudo = record::findProgram("sudo");
  std::string self = record::programOf(static_cast<uint32_t>(getpid()));
  if (sudo.empty() || self.empty())
    return reportError({base::ErrorKind::kMissingFeature,
                        "--sudo needs the program sudo, and there is none in PATH",
                        {},
                        "Run record as root, or use --preload, which needs no privilege"});
  std::string line = record::readable("/proc/self/cmdline");
  std::vector<std::string> words = {"sudo", "--", self};
  size_t at = line.find('\0');  // after the name of this program
  while (at != std::string::npos && at + 1 < line.size()) {
    size_t end = line.find('\0', at + 1);
    words.push_back(line.substr(at + 1, end - at - 1));
    at = end;
  }
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(sudo.c_str(), arguments.data());
  return reportError({base::ErrorKind::kMissingFeature,
                      fmt::format("{} cannot be run: {}", sudo, std::strerror(errno)),
                      {},
                      ""});
}

}  // namespace tidegauge::cli
