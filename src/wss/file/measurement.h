// A measurement in a file: the figures of its windows, to be shown again.
//
//   head   {"tidegauge_wss":1, process, backend, course, machine}      first line
//   row    {"time", "window_s", "bytes", "groups", "rolling", …}        a line for each window
//
// docs/formats/working-set.md lists every field. Files may come from anyone: lengths and numbers
// are bounded, and an invalid line is an error that names it.
#pragma once

#include <array>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "wss/choice/choose.h"
#include "wss/machine/machine.h"
#include "wss/measure/heat_map.h"
#include "wss/measure/measure.h"
#include "wss/measure/page_history.h"
#include "wss/surveys/pressure.h"
#include "wss/words/rolling_text.h"

namespace tidegauge::wss {

// The measured process, and the method.
struct MeasurementHead {
  int64_t pid = 0;
  std::string process{}, backend{}, how{}, why{}, cgroup{};
  std::vector<std::string> limits{};
  std::string course{};  // "single", "cumulative", "snapshots", "profile", "rolling"
  double window_s = 0;   // as requested
  bool is_sampled = false, knows_sharing = true;
  bool tells_writes = false;  // BackendTraits::tells_writes
  // The cgroup whose memory pressure was recorded; empty: the machine.
  std::string pressure_cgroup{};
  Machine machine{};
};

// `rolling`: with Course::kSnapshots, whether windows are also combined.
MeasurementHead headOf(const Process& process, const Choice& choice, const Plan& plan,
                       bool rolling);
// The first line, without its line feed.
std::string headLine(const MeasurementHead& head);

// Rows, without their line feeds. A reader only needs the mappings of the last row, and a process
// with many of them has megabytes. So a row includes them if all of them so far are at most 64 KiB
// per second.
//
//   row 1  all fields, groups   row 2 … 40  no groups   row 41  groups   … the last one again
class RowLines {
 public:
  explicit RowLines(MeasurementHead head) : head_(std::move(head)) {}
  std::string head() const { return headLine(head_); }
  // rowJson with as many mappings as fit, most touched first, and for a rolling measurement
  // `rolling` and the cells of row.pages, if they fit into a line.
  std::string next(const Row& row, double unix_s, const Plan& plan, const Rolling* rolling);
  // The last row with its mappings, to replace it; absent: it had them, or there was none.
  std::optional<std::string> lastWithMappings() const;

 private:
  MeasurementHead head_;
  nlohmann::json last_{};  // without its mappings
  nlohmann::json last_mappings_{};
  double allowed_from_s_ = 0;  // when the next ones may be written
};

struct Measurement {
  struct Sample {
    double time_s = 0;  // its end, since the beginning of the first; never decreases
    // without pages; only the last row has mappings, or an earlier one (mappings_age_s)
    Row row{};
    Rolling rolling{};                   // of a rolling measurement
    std::optional<Shortage> shortage{};  // absent: not in the file
  };
  MeasurementHead head{};
  std::vector<Sample> samples{};
  HeatMap heat{};
  double mappings_age_s = 0;       // age of the mappings relative to the last row
  uint64_t mappings_left_out = 0;  // the least touched, which did not fit into a line
  bool is_cut = false;             // its last line was incomplete and left out
  bool is_clock_set_back = false;  // from there on, times are derived from the rows
  // Of kSums, those that are missing in some row: 0 there, and unknown.
  std::array<bool, kSums.size()> missing{};
  RollingPace pace() const;  // of a rolling measurement
  bool tells(uint64_t MappingSums::*sum) const {
    for (size_t i = 0; i < kSums.size(); ++i)
      if (kSums[i].second == sum) return !missing[i];
    return false;
  }
};

inline constexpr int kMeasurementVersion = 1;
inline constexpr size_t kMaxLineBytes = 32 << 20;
inline constexpr size_t kMaxMappingBytes = 16 << 20;  // per line
inline constexpr size_t kMaxSamples = 100'000;

// Whether a file begins like a measurement.
bool isMeasurement(std::string_view beginning);
base::Result<Measurement> readMeasurement(std::istream& in);
// The error names the file.
base::Result<Measurement> readMeasurementFile(const std::string& path);
bool isMeasurementFile(const std::string& path);

}  // namespace tidegauge::wss
