// pressure: whether memory is short for the cgroup or machine that counts a process's memory, by
// counters that the kernel keeps anyway.
//
//   reclaimed and refaulted   ─►  the working set exceeds the limit
//   scanned, no refaults      ─►  the working set is about as large as the limit
//   neither                   ─►  it is smaller: no limit is felt, and nothing shows by how much
//
// It changes nothing and stops no process. A reliable answer takes half a minute: pages that are
// written once and never read again are reclaimed too, and are not a working set. Source: B. Gregg,
// Working Set Size Estimation, section 2.
#pragma once

#include "wss/machine/memory_scope.h"
#include "wss/surveys/survey.h"

namespace tidegauge::wss {

enum class Shortage : uint8_t { kNone, kNear, kShort };

// The counts, and their period.
struct PressureWindow {
  MemoryCounters counted{};
  int64_t window_ns = 0;
};

// From the counts in a window of that length. A page per second is noise: other processes' files.
Shortage shortageOf(const MemoryCounters& counted, int64_t window_ns);
std::string_view nameOf(Shortage shortage);  // "none", "near", "short"
// `window_s`, `stalled_percent`, `bytes`.
nlohmann::json countersJson(const MemoryCounters& counted, int64_t window_ns);
// The same for a row, with `shortage`.
nlohmann::json pressureJson(const PressureWindow& window);
class Pressure final : public Survey {
 public:
  Pressure(const Process& process, MemoryScope scope)
      : process_(process), scope_(std::move(scope)) {}
  SurveyHead head(int64_t window_ns) const override;
  base::Result<std::optional<SurveyRow>> next(Clock& clock, int64_t window_ns) override;
  SurveyVerdict verdict() const override;

 private:
  std::string sentences() const;

  const Process& process_;
  MemoryScope scope_;
  MemoryCounters all_;  // of all windows
  int64_t watched_ns_ = 0;
};

}  // namespace tidegauge::wss
