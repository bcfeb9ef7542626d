// SessionProcesses: the programs of a session, their kernels, and their rows in the file.
//
//   pid 41 runs bash   → process 0, ended by exec
//   pid 41 runs python → process 1, the same pid: two programs, one process of the user
//
// Ended programs are forgotten when the session says so; numbers are not used again.
// Cost: a map lookup per question; some 1 KiB per program, and its kernels' names.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/incomplete.h"
#include "record/code/rows.h"
#include "record/session/session_file.h"
#include "record/source.h"

namespace tidegauge::record {

// Names of kernels by handle, which the driver may give out again. A forked program shares those of
// its parent until one of them registers another kernel.
class KernelNames {
 public:
  using Table = std::map<uint64_t, std::string>;
  const Table& all() const { return *table_; }
  Table& own() {  // to be changed
    if (table_.use_count() > 1) table_ = std::make_shared<Table>(*table_);
    return *table_;
  }

 private:
  std::shared_ptr<Table> table_ = std::make_shared<Table>();
};

struct SessionProcess {
  SeenProcess seen;
  std::optional<int64_t> ended_ns;
  std::optional<int> status;  // of wait(); none: it ran another program
  store::EndReason end_reason = store::EndReason::kExit;
  uint64_t framework_allocations = 0;
  uint64_t framework_frees = 0;
  KernelNames kernel_names;
  std::map<uint64_t, std::string> kernel_parameters;  // "offset:size …", by handle
  std::map<std::string, uint64_t> launches;           // totals, by kernelName() at that time
  std::vector<CopyCount> copies;                      // totals, by direction and function
  model::FigureSet unwatched;                         // what is incomplete because of these:
  std::set<std::string> unwatched_keys;
  std::vector<model::Unwatched> unwatched_rows;  // only where there are parts to come
};

// The name of a kernel as the program registered it, else "0x…".
std::string kernelName(const SessionProcess& process, uint64_t handle);

class SessionProcesses {
 public:
  explicit SessionProcesses(SessionFile& file) : file_(file) {}

  const Rows<SessionProcess>& rows() const { return rows_; }
  SessionProcess& operator[](uint32_t process) { return rows_[process]; }
  bool contains(uint32_t process) const { return rows_.contains(process); }
  // Processes as a user counts them: a program that runs another by exec stays one.
  uint64_t pids() const { return pids_; }
  size_t kernels() const { return kernels_.size(); }

  void add(const SeenProcess& seen);
  // No status: it ran another program.
  void end(uint32_t process, int64_t time_ns, std::optional<int> status);
  void addCopies(const CopyCount& seen);
  void nameKernel(const KernelName& name);
  // The numbers of those that ended before then.
  std::vector<uint32_t> endedBefore(int64_t time_ns) const;
  void forget(uint32_t process);

  // The row's number in the file, where it is written if it is missing.
  uint32_t inFile(uint32_t process);
  uint32_t kernelInFile(uint32_t process, uint64_t handle);
  void setKernelParameters(uint32_t process, uint64_t handle, const std::string& parameters);

 private:
  void write(const SessionProcess& process);
  void writeEnd(uint32_t process);
  bool giveName(uint32_t process, uint64_t handle, const std::string& name);

  SessionFile& file_;
  Rows<SessionProcess> rows_;
  uint64_t pids_ = 0;
  std::set<uint32_t> between_programs_;  // pids: ended by exec, the next program not seen yet
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> kernels_;  // (process, handle) → number
  uint32_t next_kernel_ = 0;
};

}  // namespace tidegauge::record
