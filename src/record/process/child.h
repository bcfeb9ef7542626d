// Child: the program that `record -- CMD` starts. It waits before its first instruction until the
// probes are attached. Signals to the recorder are forwarded to it, and its exit status becomes the
// recorder's.
//
//   start ── fork ── wait on a pipe ─────────────► go ── exec CMD
//             └ recorder: watchProcess(pid), watchLoader(ld.so of CMD)
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "record/process/caller.h"

namespace tidegauge::record {

// What a program inherits of its caller's signals, beside those that are ignored already.
struct CallersSignals {
  sigset_t blocked{};
  bool ignores_children = false;  // SIGCHLD
};

// What a command gets beside what this process has.
struct ChildSettings {
  std::vector<std::string> variables;  // "NAME=value": all; empty: those of this process
  std::vector<std::string> more;       // added, or in place of those
  std::optional<Caller> user;          // runs as; absent: as this process
  CallersSignals signals;
};

// The value that the command will have; empty: none.
std::string variableOf(const ChildSettings& settings, std::string_view name);

class Child {
 public:
  static base::Result<Child> start(const std::vector<std::string>& command,
                                   const ChildSettings& settings = {});
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  Child(const Child&) = delete;
  ~Child();  // lets it run if it still waits and was not cancelled

  pid_t pid() const { return pid_; }
  // Lets it run. An error if there is no such program.
  base::Status go();
  // It ends instead of running the command. A signal would need a privilege where it has another
  // user, and would come too late where another process sends it.
  void cancel() const;
  // Its wait() status once it has ended.
  std::optional<int> ended();

 private:
  Child(pid_t pid, int gate, int verdict) : pid_(pid), gate_(gate), verdict_(verdict) {}
  pid_t pid_ = -1;
  int gate_ = -1;     // closed: it may run
  int verdict_ = -1;  // returns errno of a failed exec; closed by a successful one
  std::string name_;
  std::optional<int> status_;
};

// Where the shell would find it: the path of a program in PATH, or the name itself if it contains a
// slash.
std::string findProgram(const std::string& name);
// The actual program, through "#!" lines: for its dynamic loader.
std::string interpreterOfScript(const std::string& path);

}  // namespace tidegauge::record
