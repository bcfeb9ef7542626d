// spot: how much of a page that counts as touched is really touched. The processor's debug
// registers watch words (8 bytes) at random places of a process's own memory, four at a time:
//
//   page  │·········x·······│       1 of 512 words is touched: pages say 4 KiB, words 8 bytes
//   watch      ▲      ▲             here and there, for a window each: 0 of 2
//
// The share of touched words, with its 95 % interval (Wilson), estimates the share of all words in
// memory. If it is far below that of pages, data is scattered: huge pages then contain much cold
// data. A watch ends with its first hit, so that a busy word costs its thread one exception, some 2
// µs (more in a virtual machine). Threads that start meanwhile are not watched, nor does it see
// what the kernel touches for the process. Source: perf_event_open(2), PERF_TYPE_BREAKPOINT; Intel
// SDM volume 3, chapter 18.2.
#pragma once

#include <random>
#include <utility>
#include <vector>

#include "wss/pages/mappings.h"
#include "wss/process/process.h"
#include "wss/surveys/survey.h"

namespace tidegauge::wss {

// The 95 % interval of a share, if `hits` of `count` were seen; {0, 1} for none.
std::pair<double, double> wilson(uint64_t hits, uint64_t count);

// Chooses random words of ranges that are added one after another: each word of all of them has the
// same chance, whichever mapping it is in and however sparse that is (a reservoir of one for each:
// Knuth, volume 2, 3.4.2).
class SpotChooser {
 public:
  SpotChooser(size_t count, uint64_t seed) : addresses_(count), random_(seed) {}
  void add(AddressRange range);
  uint64_t bytes() const { return bytes_; }  // of all ranges
  std::vector<uint64_t> addresses() const;   // each once; none if there was no range

 private:
  std::vector<uint64_t> addresses_;
  uint64_t bytes_ = 0;
  std::mt19937_64 random_;
};

class Spot final : public Survey {
 public:
  static base::Status check();  // whether a word can be watched here
  Spot(const Process& process, uint32_t spots, uint64_t seed)
      : process_(process), wanted_(spots), seed_(seed) {}
  SurveyHead head(int64_t window_ns) const override;
  base::Result<std::optional<SurveyRow>> next(Clock& clock, int64_t window_ns) override;
  SurveyVerdict verdict() const override;

 private:
  base::Result<std::vector<uint64_t>> choose();

  const Process& process_;
  uint32_t wanted_;
  uint64_t seed_;
  uint64_t watched_ = 0, hits_ = 0, rounds_ = 0;
  uint64_t bytes_ = 0;  // resident, at the last check
  int64_t window_ns_ = 0;
};

}  // namespace tidegauge::wss
