#include "view/sampled_lives.h"

#include <algorithm>
#include <cassert>

namespace tidegauge::view {
namespace {

// The first sample at or after `step`, looked for from `from` on. Most lives are short: the first
// guess is usually right.
uint16_t sampleFrom(std::span<const Step> samples, size_t from, Step step) {
  if (from >= samples.size() || samples[from] >= step) return static_cast<uint16_t>(from);
  size_t stride = 1;
  while (from + stride < samples.size() && samples[from + stride] < step) {
    from += stride;
    stride *= 2;
  }
  auto first = samples.begin() + static_cast<ptrdiff_t>(from);
  auto last = samples.begin() + static_cast<ptrdiff_t>(std::min(from + stride, samples.size()));
  return static_cast<uint16_t>(std::lower_bound(first, last, step) - samples.begin());
}

class Collector {
 public:
  Collector(const model::Trace& trace, std::span<const Step> samples, bool without_events)
      : a_(trace.allocations), samples_(samples), without_events_(without_events) {}

  // The row is live at sample k, and at none before.
  void add(uint32_t row, size_t k) {
    SampledLife life{.row = row, .begin = static_cast<uint16_t>(k)};
    life.end = without_events_ ? uint16_t{1} : sampleFrom(samples_, k + 1, a_.last_step[row]);
    life.waiting = life.end;
    if (a_.free_requested_step[row] < a_.last_step[row]) {
      life.waiting = std::min(sampleFrom(samples_, k, a_.free_requested_step[row]), life.end);
    }
    lives_.push_back(life);
  }

  // Rows born after sample k − 1 and up to sample k: those that are still there at it.
  void addBorn(uint64_t begin, uint64_t end, size_t k) {
    const Step* last_step = a_.last_step.data();
    Step sample = samples_[k];
    for (uint64_t row = begin; row < end; ++row) {
      if (last_step[row] > sample) add(static_cast<uint32_t>(row), k);
    }
  }

  std::vector<SampledLife> take() { return std::move(lives_); }

 private:
  const model::Allocations& a_;
  std::span<const Step> samples_;
  bool without_events_;
  std::vector<SampledLife> lives_;
};

}  // namespace

std::vector<SampledLife> sampledLives(const model::Trace& trace,
                                      const analysis::DeviceAnalysis& device,
                                      std::span<const Step> samples, uint64_t end_row) {
  if (samples.empty()) return {};
  assert(samples.size() <= UINT16_MAX);
  Collector collector(trace, samples, device.device.steps() == 0);
  for (uint32_t row : device.live.liveAt(samples.front())) {
    if (row >= end_row) return collector.take();
    collector.add(row, 0);
  }
  for (size_t k = 1; k < samples.size(); ++k) {
    auto [begin, end] = device.live.bornIn(samples[k - 1] + 1, samples[k] + 1);
    collector.addBorn(begin, std::min(end, end_row), k);
    if (end >= end_row) break;
  }
  return collector.take();
}

}  // namespace tidegauge::view
