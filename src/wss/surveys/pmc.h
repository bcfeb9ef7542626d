// pmc: what the processor counts about its caches while a process runs, and between which two cache
// sizes its working set therefore lies.
//
//   L1D 99.2 % hit   LLC 99.8 % of 45 M/s hit   ─►  the lines in use fit the LLC (32 MiB)
//   LLC 39 % hit                                ─►  they do not
//
// It measures in cache lines, where all others measure in pages. A cross-check, not a size: a hot
// part hides a large cold one (61 % of hits were seen at 100 MiB in 24), and threads on several
// processors have a cache each. It changes nothing; the counters cost a process some 1 µs per
// switch. Uses generic events of the kernel, which supports them on AMD, Intel and Arm. Virtual
// machines seldom have counters. Source: perf_event_open(2); B. Gregg, Working Set Size Estimation,
// section 4.
#pragma once

#include <span>

#include "wss/machine/machine.h"
#include "wss/process/process.h"
#include "wss/surveys/survey.h"

namespace tidegauge::wss {

// For one window. Absent: this processor does not count it.
struct CacheCounts {
  std::optional<double> cycles = {}, instructions = {};
  struct Level {
    std::optional<double> looks = {}, misses = {};
    std::optional<double> hitPercent() const;
  };
  Level l1 = {}, l2 = {}, last = {}, tlb = {};  // AMD reports l2, the others last
  double watched = 1;  // share of the time in which all were counted: there are few counters
};

// "fits", "does not fit", by level; a sentence each.
std::string sentencesOf(const CacheCounts& counts, double window_s, const Machine& machine);

// The reading of one counter of one thread since it was opened: it ran for a part of the enabled
// time (ns).
struct Count {
  size_t event = 0;
  double value = 0, enabled = 0, running = 0;
};
// Between two readings of the same counters: each is scaled by the part of the time for which it
// ran.
CacheCounts countsBetween(std::span<const Count> before, std::span<const Count> now);

enum class CounterMaker : uint8_t { kIntel, kAmd, kOther };

class Pmc final : public Survey {
 public:
  static base::Status check();  // whether this machine has counters
  static base::Result<Pmc> open(const Process& process);
  Pmc(Pmc&&) noexcept;
  ~Pmc() override;
  SurveyHead head(int64_t window_ns) const override;
  base::Result<std::optional<SurveyRow>> next(Clock& clock, int64_t window_ns) override;
  SurveyVerdict verdict() const override;

 private:
  struct Counter {
    size_t event = 0;
    int file = -1;
  };
  explicit Pmc(const Process& process);
  std::vector<Count> counts() const;

  const Process* process_;
  Machine machine_;
  CounterMaker maker_;
  std::vector<Counter> counters_;
  size_t threads_ = 0;
  std::vector<Count> first_, last_;
  int64_t watched_ns_ = 0;
};

}  // namespace tidegauge::wss
