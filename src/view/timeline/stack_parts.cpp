#include "view/timeline/stack_parts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

#include "model/columns/fetch.h"
#include "view/timeline/slots.h"

namespace tidegauge::view {
namespace {

// Small blocks that are held back for merging total at most this many small_bytes.
constexpr double kMaxDisorder = 4;

// Finds the sample at which a life ends. Millions of lookups have nearly random results. A table
// over equal ranges of steps gives the result, or a close one, without a mispredicted branch.
class SampleFinder {
 public:
  explicit SampleFinder(std::span<const Step> samples)
      : samples_(samples.begin(), samples.end()), first_(samples.front()) {
    Step width = samples.back() - first_;
    while ((width >> shift_) >= kStretches) ++shift_;
    samples_.push_back(model::kNoStep);
    size_t sample = 0;
    for (size_t i = 0; i <= (width >> shift_); ++i) {
      while (samples_[sample] < first_ + (static_cast<Step>(i) << shift_)) ++sample;
      starts_.push_back(static_cast<uint16_t>(sample));
    }
  }

  // The first sample at or after `step`, which is beyond the first; their number if there is none.
  uint16_t atOrAfter(Step step) const {
    size_t stretch = std::min<size_t>((step - first_) >> shift_, starts_.size() - 1);
    size_t sample = starts_[stretch];
    sample += samples_[sample] < step ? 1 : 0;
    if (samples_[sample] < step) {  // several in one range
      sample =
          static_cast<size_t>(std::lower_bound(samples_.begin() + static_cast<ptrdiff_t>(sample),
                                               samples_.end() - 1, step) -
                              samples_.begin());
    }
    return static_cast<uint16_t>(sample);
  }

 private:
  static constexpr size_t kStretches = 4096;
  std::vector<Step> samples_;  // followed by kNoStep
  std::vector<uint16_t> starts_;
  Step first_;
  int shift_ = 0;
};

class PartBuilder {
 public:
  PartBuilder(const analysis::AnalysedTrace& analysed, const model::Device& device,
              const StackQuestion& question)
      : analysed_(analysed),
        a_(analysed.trace.allocations),
        question_(question),
        samples_(question.samples),
        ends_(question.samples),
        without_events_(device.steps() == 0),
        older_end_(endOfOlder(a_, device)),
        held_(question.samples.size() + 1),
        listed_(held_.size() + 1) {
    startAt(0);
  }

  // Rows added from now on are live at sample k, and at none before.
  void startAt(size_t k) {
    release();
    begin_ = static_cast<uint16_t>(k);
  }

  // In passes over small batches, because the content of a row is nearly random: no branch depends
  // on unpredictable data.
  void add(std::span<const uint32_t> rows) {
    std::array<uint16_t, kBatch> ends;
    std::array<double, kBatch> bytes;
    while (!rows.empty()) {
      std::span<const uint32_t> batch = rows.first(std::min(rows.size(), kBatch));
      rows = rows.subspan(batch.size());
      double sum = 0;
      double largest = 0;
      for (size_t i = 0; i < batch.size(); ++i) {
        ends[i] = endOf(batch[i]);
        bytes[i] = static_cast<double>(a_.block_bytes[batch[i]]);
        sum += bytes[i];
        largest = std::max(largest, bytes[i]);
      }
      bool all_small = largest < question_.small_bytes && question_.mark == nullptr &&
                       (batch.back() < older_end_ || !older_);
      if (all_small && held_bytes_ + sum <= kMaxDisorder * question_.small_bytes) {
        for (size_t i = 0; i < batch.size(); ++i) hold(batch[i], bytes[i], ends[i]);
        held_bytes_ += sum;
      } else {
        for (size_t i = 0; i < batch.size(); ++i) add(batch[i], bytes[i], ends[i]);
      }
    }
  }

  // Of the rows [begin, end), those that are still live at sample k.
  void addLiveOf(uint64_t begin, uint64_t end) {
    constexpr uint64_t kScanned = 1024;
    std::array<uint32_t, kScanned> live;
    const Step* last_step = a_.last_step.data();
    Step sample = samples_[begin_];
    while (begin < end) {
      uint64_t batch_end = std::min(begin + kScanned, end);
      size_t count = 0;
      for (uint64_t row = begin; row < batch_end; ++row) {
        live[count] = static_cast<uint32_t>(row);
        count += last_step[row] > sample ? 1 : 0;
      }
      add({live.data(), count});
      begin = batch_end;
    }
  }

  std::vector<StackPart> take() {
    release();
    constexpr size_t kAhead = 16;  // distant rows are not in the cache
    for (size_t i = 0; i < parts_.size(); ++i) {
      uint32_t ahead = parts_[std::min(i + kAhead, parts_.size() - 1)].row;
      model::fetch(&a_.flags[ahead]);
      model::fetch(&a_.stack[ahead]);
      parts_[i].slot = stackSlot(analysed_, parts_[i].row);
    }
    return std::move(parts_);
  }

 private:
  static constexpr size_t kBatch = 16;
  struct Held {  // small blocks with the same end
    double bytes = 0;
    uint64_t largest_bits = 0;  // integers: chosen without a branch
    uint32_t row = 0;
    uint32_t blocks = 0;
  };

  // Rows older than the recording come first.
  static uint64_t endOfOlder(const model::Allocations& a, const model::Device& device) {
    auto rowAt = [&](uint64_t row) { return a.provenance.begin() + static_cast<ptrdiff_t>(row); };
    auto end = std::partition_point(rowAt(device.allocation_begin), rowAt(device.allocation_end),
                                    model::isOlder);
    return static_cast<uint64_t>(end - rowAt(0));
  }

  void add(uint32_t row, double bytes, uint16_t end) {
    if (row >= older_end_ && older_) {  // older memory stays separate
      release();
      older_ = false;
    }
    if (bytes < question_.small_bytes && (question_.mark == nullptr || !question_.mark->has(row))) {
      hold(row, bytes, end);
      held_bytes_ += bytes;
      if (held_bytes_ > kMaxDisorder * question_.small_bytes) release();
      return;
    }
    release();
    uint16_t waiting = end;
    if (a_.free_requested_step[row] < a_.last_step[row]) {
      waiting = std::min(beginOfWait(a_.free_requested_step[row]), end);
    }
    push(row, 1, bytes, end, waiting);
  }

  uint16_t endOf(uint32_t row) const {
    if (without_events_) return static_cast<uint16_t>(begin_ + 1);
    return ends_.atOrAfter(a_.last_step[row]);
  }

  uint16_t beginOfWait(Step step) const {
    return step <= samples_[begin_] ? begin_ : ends_.atOrAfter(step);
  }

  void push(uint32_t row, uint32_t blocks, double bytes, uint16_t end, uint16_t waiting) {
    parts_.push_back({bytes, row, blocks, begin_, end, waiting, 0, older_});
  }

  void hold(uint32_t row, double bytes, uint16_t end) {
    Held& held = held_[end];
    listed_[listed_count_] = end;
    listed_count_ += held.blocks == 0 ? 1 : 0;
    auto bits = std::bit_cast<uint64_t>(bytes);  // in the order of the bytes, as none is negative
    bool is_largest = bits >= held.largest_bits;
    held.row = is_largest ? row : held.row;
    held.largest_bits = is_largest ? bits : held.largest_bits;
    held.blocks++;
    held.bytes += bytes;
  }

  void release() {
    for (size_t i = 0; i < listed_count_; ++i) {
      Held& held = held_[listed_[i]];
      push(held.row, held.blocks, held.bytes, listed_[i], listed_[i]);
      held = {};
    }
    listed_count_ = 0;
    held_bytes_ = 0;
  }

  const analysis::AnalysedTrace& analysed_;
  const model::Allocations& a_;
  const StackQuestion& question_;
  std::span<const Step> samples_;
  SampleFinder ends_;
  bool without_events_;
  uint64_t older_end_;
  bool older_ = true;  // the oldest are at the bottom
  uint16_t begin_ = 0;
  std::vector<Held> held_;        // by end
  std::vector<uint16_t> listed_;  // of these, the used ones, and space for one more
  size_t listed_count_ = 0;
  double held_bytes_ = 0;
  std::vector<StackPart> parts_;
};

}  // namespace

std::vector<StackPart> stackParts(const analysis::AnalysedTrace& analysed,
                                  const analysis::DeviceAnalysis& device,
                                  const StackQuestion& question) {
  std::span<const Step> samples = question.samples;
  if (samples.empty()) return {};
  assert(samples.size() < UINT16_MAX);
  PartBuilder builder(analysed, device.device, question);
  std::vector<uint32_t> live = device.live.liveAt(samples.front());
  live.erase(std::lower_bound(live.begin(), live.end(), question.end_row), live.end());
  builder.add(live);
  for (size_t k = 1; k < samples.size(); ++k) {
    auto [begin, end] = device.live.bornIn(samples[k - 1] + 1, samples[k] + 1);
    if (question.stop.stop_requested()) return {};
    builder.startAt(k);
    builder.addLiveOf(begin, std::min(end, question.end_row));
    if (end >= question.end_row) break;
  }
  return builder.take();
}

}  // namespace tidegauge::view
