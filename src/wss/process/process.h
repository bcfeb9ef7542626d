// The process that is measured, held so that it cannot be mistaken for another one.
//
//   /proc/4711 opened as a folder ──► openat(folder, "smaps") …
//
// Of a program that goes on without its first thread that folder has no memory; that of another
// thread has:
//
//   /proc/4711/maps empty ──► /proc/4711/task/4713 opened instead
//
// What is opened through that folder is of this process or fails: a number that is given to a new
// process later leads nowhere. A text of its mappings that is kept open tells an exec: the kernel
// reads nothing more from it once that memory is gone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidegauge::wss {

// What of a process is in memory, and how much of that is of files or shared; 0: not known.
struct Resident {
  uint64_t bytes = 0, shared_bytes = 0;
};

class Process {
 public:
  // `pid`: or the number of any of its threads. `proc`: where procfs is mounted. Errors say why
  // such a process has no working set: gone, a zombie, a thread of the kernel, another user's.
  static base::Result<Process> open(pid_t pid, const std::string& proc = "/proc");
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  Process(const Process&) = delete;
  ~Process();

  pid_t pid() const { return pid_; }
  // The thread that is asked for its memory: the first one, which has the process's number, or if
  // that has ended another. check() may change it.
  pid_t thread() const { return thread_; }
  const std::string& name() const { return name_; }  // as the kernel has it: 15 bytes of anything

  // The text of a file of it, which is never empty; the errors of openFile.
  base::Result<std::string> readFile(const char* name) const;
  // The text of its maps, whatever thread is asked, in parts of whole lines.
  base::Status readMaps(const std::function<void(std::string_view lines)>& visit) const;
  // A file of it; an error that says what became of the process if that is why.
  base::Result<int> openFile(const char* name, int flags) const;
  // The error that a failed or empty read of such a file means.
  base::Error whyNothing(const char* name, int error_number) const;
  // It runs, and has the memory that it had when it was opened. If the thread that is asked has
  // ended, another one of it is asked from now on.
  base::Status check() const;
  // The same, and what it has in memory, which that reads anyway.
  base::Result<Resident> checkedResident() const;
  // Until this one is gone it is measured by nobody else: two would take away each other's accessed
  // bits. An error if somebody else has claimed it. (Among those who see the same /proc; wss.pl
  // claims nothing.)
  base::Status claim() const;
  // A descriptor for system calls that take one (pidfd_open), which is of this process for good; -1
  // with errno: there is none.
  int descriptor() const;
  bool isStopped() const;     // by a signal or a debugger: it touches nothing
  size_t mappings() const;    // lines of /proc/PID/maps; 0: not known. Cost: 0.5 µs each
  Resident resident() const;  // by /proc/PID/statm

 private:
  Process(pid_t pid, int folder, std::string tasks)
      : pid_(pid), tasks_(std::move(tasks)), thread_(pid), folder_(folder) {}
  base::Error ended() const;
  base::Result<std::string> textOf(int file, const char* name) const;
  // Takes a thread that still has memory, in place of one that has ended; false: there is none.
  bool takeAnotherThread() const;
  std::string smallFile(const char* name) const;
  std::string readName() const;
  pid_t firstThread() const;  // whose number the process has
  char state() const;         // as in ps(1); 0: gone

  pid_t pid_;
  std::string tasks_;  // where its threads are listed
  // Which thread is asked is no part of what it is.
  mutable pid_t thread_;
  mutable int folder_ = -1;
  mutable int descriptor_ = -1;      // once it was asked for
  int memory_ = -1;                  // its mappings, as they were opened at first
  mutable size_t longest_text_ = 0;  // that readFile gave
  std::string name_;
};

// As much as there is of a file that is open, from its beginning; at most `most` bytes. What errno
// says in `error_number` if it cannot be read, else 0. `about`: how
// much there may be.
std::string readAll(int file, size_t most, int& error_number, size_t about = 0);

}  // namespace tidegauge::wss
