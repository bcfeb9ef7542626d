#include "view/stack_parts.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace tidegauge::view {
namespace {

// Small blocks that are held back to be summed up are at most this many small_bytes together.
constexpr double kMostDisorder = 4;

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

class PartBuilder {
 public:
  PartBuilder(const model::Trace& trace, const model::Device& device, const StackQuestion& question)
      : a_(trace.allocations),
        question_(question),
        samples_(question.samples),
        without_events_(device.steps() == 0),
        older_end_(endOfOlder(trace, device)),
        held_(question.samples.size() + 1) {
    startAt(0);
  }

  // Rows that are added from now on are live at sample k, and at none before.
  void startAt(size_t k) {
    release();
    begin_ = static_cast<uint16_t>(k);
    next_sample_ = k + 1 < samples_.size() ? samples_[k + 1] : model::kNoStep;
  }

  void add(uint32_t row) {
    uint16_t end = endOf(row);
    auto bytes = static_cast<double>(a_.block_bytes[row]);
    if (row >= older_end_ && older_) {  // what is older than the recording stays apart
      release();
      older_ = false;
    }
    if (bytes < question_.small_bytes && (question_.mark == nullptr || !question_.mark->has(row))) {
      hold(row, bytes, end);
      return;
    }
    release();
    uint16_t waiting = end;
    if (a_.free_requested_step[row] < a_.last_step[row]) {
      waiting = std::min(sampleFrom(samples_, begin_, a_.free_requested_step[row]), end);
    }
    parts_.push_back({bytes, row, 1, begin_, end, waiting});
  }

  // Of the rows [begin, end), those that are still live at sample k. Which ones is as good as
  // random: they are picked without a branch.
  void addLiveOf(uint64_t begin, uint64_t end) {
    constexpr uint64_t kBatch = 1024;
    std::array<uint32_t, kBatch> live;
    const Step* last_step = a_.last_step.data();
    Step sample = samples_[begin_];
    while (begin < end) {
      uint64_t batch_end = std::min(begin + kBatch, end);
      size_t count = 0;
      for (uint64_t row = begin; row < batch_end; ++row) {
        live[count] = static_cast<uint32_t>(row);
        count += last_step[row] > sample ? 1 : 0;
      }
      for (size_t i = 0; i < count; ++i) add(live[i]);
      begin = batch_end;
    }
  }

  std::vector<StackPart> take() {
    release();
    return std::move(parts_);
  }

 private:
  struct Held {  // small blocks with the same end
    double bytes = 0;
    double largest_bytes = 0;
    uint32_t row = 0;
    uint32_t blocks = 0;
    bool listed = false;
  };

  // Rows older than the recording come first.
  static uint64_t endOfOlder(const model::Trace& trace, const model::Device& device) {
    auto rowAt = [&](uint64_t row) {
      return trace.allocations.provenance.begin() + static_cast<ptrdiff_t>(row);
    };
    auto end = std::partition_point(
        rowAt(device.allocation_begin), rowAt(device.allocation_end), [](model::Provenance p) {
          return p == model::Provenance::kBeforeRecording || p == model::Provenance::kGhost;
        });
    return static_cast<uint64_t>(end - rowAt(0));
  }

  uint16_t endOf(uint32_t row) const {
    if (a_.last_step[row] <= next_sample_ || without_events_) {
      return static_cast<uint16_t>(begin_ + 1);
    }
    return sampleFrom(samples_, begin_ + 1, a_.last_step[row]);
  }

  void hold(uint32_t row, double bytes, uint16_t end) {
    Held& held = held_[end];
    if (!held.listed) {
      held.listed = true;
      listed_.push_back(end);
    }
    if (held.blocks == 0 || bytes > held.largest_bytes) {
      held.largest_bytes = bytes;
      held.row = row;
    }
    held.blocks++;
    held.bytes += bytes;
    held_bytes_ += bytes;
    if (held.bytes >= question_.small_bytes) {
      write(held, end);
    } else if (held_bytes_ > kMostDisorder * question_.small_bytes) {
      release();
    }
  }

  void write(Held& held, uint16_t end) {
    if (held.blocks > 0) parts_.push_back({held.bytes, held.row, held.blocks, begin_, end, end});
    held_bytes_ -= held.bytes;
    held.bytes = 0;
    held.blocks = 0;
  }

  void release() {
    for (uint16_t end : listed_) {
      write(held_[end], end);
      held_[end].listed = false;
    }
    listed_.clear();
    held_bytes_ = 0;
  }

  const model::Allocations& a_;
  const StackQuestion& question_;
  std::span<const Step> samples_;
  bool without_events_;
  uint64_t older_end_;
  bool older_ = true;  // the oldest lie at the bottom
  uint16_t begin_ = 0;
  Step next_sample_ = model::kNoStep;  // after begin_
  std::vector<Held> held_;             // by end
  std::vector<uint16_t> listed_;
  double held_bytes_ = 0;
  std::vector<StackPart> parts_;
};

}  // namespace

std::vector<StackPart> stackParts(const model::Trace& trace, const analysis::DeviceAnalysis& device,
                                  const StackQuestion& question) {
  std::span<const Step> samples = question.samples;
  if (samples.empty()) return {};
  assert(samples.size() < UINT16_MAX);
  PartBuilder builder(trace, device.device, question);
  for (uint32_t row : device.live.liveAt(samples.front())) {
    if (row >= question.end_row) return builder.take();
    builder.add(row);
  }
  for (size_t k = 1; k < samples.size(); ++k) {
    auto [begin, end] = device.live.bornIn(samples[k - 1] + 1, samples[k] + 1);
    builder.startAt(k);
    builder.addLiveOf(begin, std::min(end, question.end_row));
    if (end >= question.end_row) break;
  }
  return builder.take();
}

}  // namespace tidegauge::view
