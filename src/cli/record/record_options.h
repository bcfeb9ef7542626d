// The options of `record` and `doctor`. record_command.cpp and doctor_command.cpp describe them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tidegauge::cli {

struct RecordOptions {
  std::vector<std::string> command;  // after --
  std::vector<uint32_t> pids;
  std::string name_glob;  // of processes
  std::string cgroup;     // folder of a cgroup (v2)
  std::string output;     // empty: a name with the time
  std::string stacks = "user";
  double duration_s = 0;      // 0: no limit
  double idle_timeout_s = 0;  // 0: no limit
  uint64_t ring_bytes = uint64_t{8} << 20;
  // of all files of the recording; 0: one file without a limit; absent: a quarter of the free disk
  std::optional<uint64_t> max_bytes;
  uint64_t keep_free_bytes = uint64_t{1} << 30;  // of the disk
  uint32_t launch_arguments = 0;                 // words
  bool whole_arguments = false;  // structs whole, where the sizes of parameters are known
  bool all = false;
  bool force = false;
  bool preload = false;  // by a library in the programs, without privileges
  bool as_root = false;  // under sudo: the command, too
  bool sudo = false;     // run again through sudo, with all variables
  bool no_framework = false;
  bool launch_events = false;
  bool device_times = false;  // by CUPTI, inside the programs
  bool link_each = false;
  bool no_python = false;  // do not walk the frames of CPython
  bool no_summary = false;
};

// Records until the command ends, a limit is reached or a signal arrives. Returns the command's
// exit code (128 + signal), or 0; 4 if this machine does not allow recording.
int runRecord(const RecordOptions& options);

struct DoctorOptions {
  std::vector<std::string> libraries;  // looked at besides those that are found
  bool json = false;
};

// The exit code: 0, or 4 if this machine cannot record. (Where the recorder was not built: 4.)
int runDoctor(const DoctorOptions& options);

}  // namespace tidegauge::cli
