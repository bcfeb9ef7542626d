// pressure: whether memory is short where a process's memory is counted, by what the kernel counts
// anyway.
//
//   taken away and came back  ─►  it works with more than it may have
//   searched, nothing came    ─►  it works with about what it may have
//   neither                   ─►  with less: no limit is felt, and nothing here says how much less
//
// Nothing is changed and nobody is stopped. It takes half a minute to say so with some right: what
// is written once and never read again is taken away too, and is no working set. Source: B. Gregg,
// Working Set Size Estimation, section 2.
#pragma once

#include "wss/process/memory_scope.h"
#include "wss/surveys/survey.h"

namespace tidegauge::wss {

enum class Shortage : uint8_t { kNone, kNear, kShort };

// What was counted, and in how long.
struct PressureWindow {
  MemoryCounters counted{};
  int64_t window_ns = 0;
};

// By what was counted in a window of that length. A page in a second is noise: others' files come
// and go.
Shortage shortageOf(const MemoryCounters& counted, int64_t window_ns);
std::string_view nameOf(Shortage shortage);  // "none", "near", "short"
// `window_s`, `stalled_percent`, `bytes`.
nlohmann::json countersJson(const MemoryCounters& counted, int64_t window_ns);
// The same of a row, with `shortage`.
nlohmann::json pressureJson(const PressureWindow& window);
// What it does to a working set that so much was searched meanwhile; `cgroup` empty: on the whole
// machine.
std::string shortageNote(uint64_t scanned_bytes, const std::string& cgroup);

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
