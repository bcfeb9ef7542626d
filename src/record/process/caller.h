// Caller: who called a recorder that runs as root for that person: through sudo or pkexec, or
// because the program is setuid root. The command that is recorded runs as this user, and the files
// belong to this user.
//
//   sudo tidegauge record -- python train.py     root, SUDO_UID=1000  →  {1000, "ana", "/home/ana"}
//   root's own shell, a container's root         no caller: the command runs as root
//
// SUDO_UID counts for root alone, who may run anything as anybody; nobody gains by setting it.
// Source: sudo(8), "ENVIRONMENT"; pkexec(1).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tidegauge::record {

struct Caller {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;      // all of them
  std::string name, home, shell;  // empty: the user has no entry in the list of users
};

std::optional<Caller> callingUser();
// An error if root's variables name a caller, but not one that can be.
base::Status checkCaller();

// This process becomes that user for good; an error leaves it as it was, or half: then end it.
base::Status becomeUser(const Caller& user);

// The variables with which sudo was called: what this person's programs see. Empty: no sudo runs
// above this process.
std::vector<std::string> environmentBeforeSudo();

// Variables of the recorder ("NAME=value") as the user's own programs have them: HOME, USER,
// LOGNAME and SHELL of the user, and nothing that sudo added.
std::vector<std::string> environmentFor(const Caller& user, const std::vector<std::string>& own);

// What sudo changed of the variables that decide what runs: "did not pass on CONDA_PREFIX,
// LD_LIBRARY_PATH and 12 more, and replaced PATH". Empty: nothing.
std::string withheldBySudo(const std::vector<std::string>& before,
                           const std::vector<std::string>& now);

}  // namespace tidegauge::record
