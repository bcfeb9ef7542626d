// SessionTimes: what the device measured (--device-times), with the session's processes, in the
// file.
//
//   times.begin(TimesReader(std::move(area)));
//   times.take(false);     // every few milliseconds: rows of device_activities, device_programs
//   times.problems()       // {"python (pid 41): libcupti was not found"}
//
// A program loads the library in the middle of cuInit(), perhaps before the session has seen it:
// its rows wait. Cost: a map lookup and a row of SQLite per activity.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "record/session/session_file.h"
#include "record/session/session_processes.h"
#include "record/times/times_reader.h"

namespace tidegauge::record {

// "CUPTI 13.4", "CUPTI with API version 28"
std::string cuptiName(uint32_t version);
// "libcupti was not found", "cuptiActivityEnable() refused: 999 CUPTI_ERROR_UNKNOWN", …; empty: it
// works.
std::string problemOf(const DeviceState& it);

class SessionTimes {
 public:
  SessionTimes(SessionFile& file, SessionProcesses& processes)
      : file_(file), processes_(processes) {}

  void begin(TimesReader reader);
  bool isOn() const { return reader_.has_value(); }
  // At the end, what waits for a process that nobody saw is counted as lost.
  void take(bool at_end);
  void beginPart();
  void forgetProcess(uint32_t process);

  uint64_t activities() const { return activities_; }
  TimesLosses losses() const { return reader_ ? reader_->losses() : TimesLosses{}; }
  // Programs in which nothing is timed, and why; for people.
  std::vector<std::string> problems() const;
  uint32_t programs() const { return reader_ ? reader_->programs() : 0; }

 private:
  struct Program {
    std::optional<uint32_t> process;
    std::optional<DeviceState> state;
    bool is_written = false;  // its state, in this part
    uint64_t looked = 0;      // take() in which its process was last searched for
    int64_t since_ns = 0;     // when it came first
    uint64_t activities = 0;
  };
  struct Kept {
    DeviceActivity seen;
    std::string name;
  };
  std::optional<uint32_t> processOf(uint32_t image, uint32_t pid);
  bool isKept(const Program& program) const;  // its process
  void write(const DeviceActivity& seen, uint32_t process);
  void writeState(Program& program);
  std::string problemOf(const Program& program) const;  // empty: none
  void writeLosses();

  SessionFile& file_;
  SessionProcesses& processes_;
  std::optional<TimesReader> reader_;
  std::map<uint32_t, Program> programs_;     // by image
  std::unordered_set<uint32_t> forgotten_;   // images whose process was forgotten
  std::vector<std::string> ended_problems_;  // of those
  std::vector<Kept> waiting_;
  std::map<std::string, uint32_t, std::less<>> names_;  // of this part, to their numbers
  TimesLosses written_{};
  uint64_t activities_ = 0;
  uint64_t takes_ = 0;
  bool at_end_ = false;
};

}  // namespace tidegauge::record
