#include "view/tables/stack_sums.h"

#include <algorithm>

#include "analysis/trace/peak.h"

namespace tidegauge::view {
namespace {

using analysis::Step;

class Summing {
 public:
  Summing(const analysis::AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
          const FilterSet* filter)
      : trace_(analysed.trace),
        a_(trace_.allocations),
        device_(device),
        filter_(filter),
        steps_(device.device.steps()),
        sums_(trace_.stacks.size() + 1),
        live_(sums_.size()) {}

  std::vector<StackSum> run() {
    sortByEnd();
    const model::Device& d = device_.device;
    size_t next_end = 0;
    analysis::Peak peak = device_.totals.peakActive();
    for (uint64_t row = d.allocation_begin; row < d.allocation_end; ++row) {
      if (!passes(filter_, row)) continue;
      for (; next_end < by_end_.size() && a_.last_step[by_end_[next_end]] <= a_.first_step[row];
           ++next_end) {
        live_[indexOf(by_end_[next_end])] -= a_.block_bytes[by_end_[next_end]];
      }
      add(row, peak);
    }
    return nonEmpty();
  }

 private:
  size_t indexOf(uint64_t row) const {
    bool known = a_.stack[row].valid() && !a_.has(row, model::kStackIsOfFree);
    return known ? a_.stack[row].index() : sums_.size() - 1;
  }

  // Rows that end before the recording does, by their end: counted, then placed.
  void sortByEnd() {
    const model::Device& d = device_.device;
    std::vector<uint32_t> place(size_t{steps_} + 1, 0);
    auto ends = [&](uint64_t row) {  // and were ever live
      return a_.last_step[row] < steps_ && a_.first_step[row] < a_.last_step[row] &&
             passes(filter_, row);
    };
    for (uint64_t row = d.allocation_begin; row < d.allocation_end; ++row) {
      if (ends(row)) place[a_.last_step[row] + 1]++;
    }
    for (size_t i = 1; i < place.size(); ++i) place[i] += place[i - 1];
    by_end_.resize(place.back());
    for (uint64_t row = d.allocation_begin; row < d.allocation_end; ++row) {
      if (ends(row)) by_end_[place[a_.last_step[row]]++] = static_cast<uint32_t>(row);
    }
  }

  void add(uint64_t row, const analysis::Peak& peak) {
    size_t index = indexOf(row);
    StackSum& sum = sums_[index];
    uint64_t bytes = a_.block_bytes[row];
    if (sum.count == 0) sum.first_row = static_cast<uint32_t>(row);
    sum.count++;
    sum.total_bytes += bytes;
    sum.largest_bytes = std::max(sum.largest_bytes, bytes);
    sum.steps_sum += a_.last_step[row] - std::min(a_.first_step[row], a_.last_step[row]);
    bool lives = steps_ == 0 || a_.first_step[row] < a_.last_step[row];
    if (!lives) return;
    if (steps_ == 0 || analysis::isLiveAt(trace_, static_cast<uint32_t>(row), peak)) {
      sum.at_peak_bytes += bytes;
    }
    if (a_.last_step[row] >= steps_) {
      sum.at_end_bytes += bytes;
      sum.at_end_count++;
    }
    live_[index] += bytes;
    if (live_[index] > sum.peak_bytes) {
      sum.peak_bytes = live_[index];
      sum.peak_step = a_.first_step[row];
    }
  }

  std::vector<StackSum> nonEmpty() {
    std::vector<StackSum> used;
    for (size_t i = 0; i < sums_.size(); ++i) {
      if (sums_[i].count == 0) continue;
      if (i + 1 < sums_.size()) sums_[i].stack = model::StackId(static_cast<uint32_t>(i));
      used.push_back(sums_[i]);
    }
    return used;
  }

  const model::Trace& trace_;
  const model::Allocations& a_;
  const analysis::DeviceAnalysis& device_;
  const FilterSet* filter_;
  Step steps_;
  std::vector<StackSum> sums_;  // by stack; last: none
  std::vector<uint64_t> live_;
  std::vector<uint32_t> by_end_;
};

}  // namespace

std::vector<StackSum> stackSums(const analysis::AnalysedTrace& analysed,
                                const analysis::DeviceAnalysis& device, const FilterSet* filter) {
  return Summing(analysed, device, filter).run();
}

}  // namespace tidegauge::view
