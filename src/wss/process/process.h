// The measured process, held so that it cannot be confused with another one.
//
//   /proc/4711 opened as a folder ──► openat(folder, "smaps") …
//
// If a program continues without its first thread, that folder has no memory, but that of another
// thread has:
//
//   /proc/4711/maps empty ──► /proc/4711/task/4713 opened instead
//
// Files opened through that folder belong to this process or fail: a reused number does not matter.
// An open text of its mappings shows an exec: the kernel reads nothing more from it once that
// memory is gone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidegauge::wss {

// Resident memory of a process, and the part in files or shared memory; 0: unknown.
struct Resident {
  uint64_t bytes = 0, shared_bytes = 0;
};

// What a process has done since it began. Absent: unknown.
struct Work {
  std::optional<int64_t> ran_ns = std::nullopt;  // processor time of all its threads
  // Page faults for memory that was there or new, and for memory that was read from a disk.
  std::optional<uint64_t> minor_faults = std::nullopt, major_faults = std::nullopt;
};
// The work between two looks.
Work operator-(const Work& now, const Work& before);

class Process {
 public:
  // `pid`: or the number of any of its threads. `proc`: where procfs is mounted. Errors say why
  // such a process has no working set: gone, a zombie, a kernel thread, another user's.
  static base::Result<Process> open(pid_t pid, const std::string& proc = "/proc");
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  Process(const Process&) = delete;
  ~Process();

  pid_t pid() const { return pid_; }
  // The thread whose files are read: the first one, which has the process's number, or another one
  // if that has ended. check() may change it.
  pid_t thread() const { return thread_; }
  const std::string& name() const { return name_; }  // from the kernel: 15 arbitrary bytes

  // The text of one of its files that is never empty; errors as in openFile.
  base::Result<std::string> readFile(const char* name) const;
  // The text of its maps, through any thread, in parts of whole lines.
  base::Status readMaps(const std::function<void(std::string_view lines)>& visit) const;
  // Opens one of its files; the error says if the process is the reason.
  base::Result<int> openFile(const char* name, int flags) const;
  // The error behind a failed or empty read of such a file.
  base::Error whyNothing(const char* name, int error_number) const;
  // It runs, and has the memory that it had when it was opened. If the thread in use has ended,
  // another one is used from now on.
  base::Status check() const;
  // The same, and its resident memory, which this reads anyway.
  base::Result<Resident> checkedResident() const;
  // Until this object is destroyed, no other instance measures the process: two would clear each
  // other's accessed bits. An error if another one has claimed it. (Among instances that see the
  // same /proc; wss.pl claims nothing.)
  base::Status claim() const;
  // A descriptor for system calls that take one (pidfd_open), which always refers to this process;
  // -1 with errno on failure.
  int descriptor() const;
  bool isStopped() const;              // by a signal or a debugger: it touches nothing
  size_t mappings() const;             // lines of /proc/PID/maps; 0: unknown. Cost: 0.5 µs each
  std::vector<pid_t> threads() const;  // those it has now; empty: it has ended
  Resident resident() const;           // by /proc/PID/statm
  Work work() const;                   // cost: one call and a small file

 private:
  Process(pid_t pid, int folder, std::string tasks)
      : pid_(pid), tasks_(std::move(tasks)), thread_(pid), folder_(folder) {}
  base::Error ended() const;
  base::Result<std::string> textOf(int file, const char* name) const;
  // Uses a thread that still has memory, in place of one that has ended; false: there is none.
  bool takeAnotherThread() const;
  std::string smallFile(const char* name) const;
  std::string readName() const;
  pid_t firstThread() const;  // has the process's number
  char state() const;         // as in ps(1); 0: gone

  pid_t pid_;
  std::string tasks_;  // the folder of its threads
  // The thread in use is not part of the process's identity.
  mutable pid_t thread_;
  mutable int folder_ = -1;
  mutable int descriptor_ = -1;      // opened on first use
  int memory_ = -1;                  // its mappings, opened at the start
  mutable size_t longest_text_ = 0;  // of the texts from readFile
  std::string name_;
};

// The content of an open file from its beginning, at most `most` bytes. `error_number` is errno if
// it cannot be read, else 0. `about`: the expected size.
std::string readAll(int file, size_t most, int& error_number, size_t about = 0);

}  // namespace tidegauge::wss
