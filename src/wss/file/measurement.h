// A measurement that was kept in a file: the figures of its windows, told again.
//
//   head   {"tidegauge_wss":1, process, backend, course, machine}      first line
//   row    {"time", "window_s", "bytes", "groups", "rolling", …}        a line for each window
//
// docs/formats/working-set.md has every field. Files may come from anybody: lengths and numbers are
// bounded, and what does not fit is an error that names the line.
#pragma once

#include <array>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "wss/measure/choose.h"
#include "wss/measure/heat_map.h"
#include "wss/measure/measure.h"
#include "wss/measure/page_history.h"
#include "wss/process/machine.h"
#include "wss/surveys/pressure.h"
#include "wss/words/rolling_text.h"

namespace tidegauge::wss {

// Who was measured, and how.
struct MeasurementHead {
  int64_t pid = 0;
  std::string process{}, backend{}, how{}, why{}, cgroup{};
  std::vector<std::string> limits{};
  std::string course{};  // "single", "cumulative", "snapshots", "profile", "rolling"
  double window_s = 0;   // as asked for
  bool is_sampled = false, knows_sharing = true;
  bool tells_writes = false;      // BackendTraits::tells_writes
  std::string pressure_cgroup{};  // whose memory was short or not; empty: the machine's
  Machine machine{};
};

// `rolling`: of Course::kSnapshots, whether windows are also told together.
MeasurementHead headOf(const Process& process, const Choice& choice, const Plan& plan,
                       bool rolling);
// The first line, without its end.
std::string headLine(const MeasurementHead& head);

// Rows, without their ends. A reader wants the mappings of the last row alone, and of a process
// with many of them they are megabytes: so a row has them if those written so far come to 64 KiB a
// second or less.
//
//   row 1  all fields, groups  row 2 … 40 no groups row 41 groups … the last one again, with groups
class RowLines {
 public:
  explicit RowLines(MeasurementHead head) : head_(std::move(head)) {}
  std::string head() const { return headLine(head_); }
  // rowJson with the mappings, as many as fit, most touched first; what was counted of memory being
  // short since the row before; and of a rolling measurement `rolling` and the cells of row.pages,
  // if they fit into a line.
  std::string next(const Row& row, double unix_s, const Plan& plan, const Rolling* rolling,
                   const PressureWindow& pressure);
  // The last one with its mappings, to stand in its place; not set: it had them, or there was none.
  std::optional<std::string> lastWithMappings() const;

 private:
  MeasurementHead head_;
  nlohmann::json last_{};  // without its mappings
  nlohmann::json last_mappings_{};
  double allowed_from_s_ = 0;  // when the next ones may be written
};

struct Measurement {
  struct Pressure {
    Shortage shortage = Shortage::kNone;
    uint64_t scanned_bytes = 0;
  };
  struct Sample {
    double time_s = 0;  // when it ended, since the beginning of the first; never less than before
    // without pages; mappings only of the last one, or of one before that (mappings_age_s)
    Row row{};
    Rolling rolling{};                   // of a rolling measurement
    std::optional<Pressure> pressure{};  // not set: the file does not tell
  };
  MeasurementHead head{};
  std::vector<Sample> samples{};
  HeatMap heat{};
  double mappings_age_s = 0;       // how much older than the last row they are
  uint64_t mappings_left_out = 0;  // of that one, the least touched: they did not fit into a line
  bool is_cut = false;             // its last line has no end, and was left out
  bool is_clock_set_back = false;  // times are by the rows' own from there on
  // Of kSums, those that some row does not tell: they are 0 there, and not known.
  std::array<bool, kSums.size()> untold{};
  RollingPace pace() const;  // of a rolling measurement
  bool tells(uint64_t MappingSums::*sum) const {
    for (size_t i = 0; i < kSums.size(); ++i)
      if (kSums[i].second == sum) return !untold[i];
    return false;
  }
};

inline constexpr int kMeasurementVersion = 1;
inline constexpr size_t kMaxLineBytes = 32 << 20;
inline constexpr size_t kMaxMappingBytes = 16 << 20;  // of a line
inline constexpr size_t kMaxSamples = 100'000;

// Whether a file begins as one.
bool isMeasurement(std::string_view beginning);
base::Result<Measurement> readMeasurement(std::istream& in);
// The error names the file.
base::Result<Measurement> readMeasurementFile(const std::string& path);
bool isMeasurementFile(const std::string& path);

}  // namespace tidegauge::wss
