#include "analysis/compare/diff_events.h"

#include <algorithm>

#include "analysis/compare/diff_stacks.h"

namespace tidegauge::analysis {
namespace {

// Keys of stacks, looked up once each.
class KeysOfTrace {
 public:
  KeysOfTrace(StackKeys& keys, const AnalysedTrace& analysed)
      : keys_(keys), analysed_(analysed), of_(analysed.trace.stacks.size()) {}

  StackKey of(StackId stack) {
    if (!stack.valid()) return {};
    StackKey& key = of_[stack.index()];
    if (!key.valid()) key = keys_.keyOf(analysed_, stack, StackMatch::kPath);
    return key;
  }

 private:
  StackKeys& keys_;
  const AnalysedTrace& analysed_;
  std::vector<StackKey> of_;
};

// Unsigned: in a hostile file, times may differ by more than an int64_t holds.
uint64_t between(int64_t from_us, int64_t to_us) {
  return static_cast<uint64_t>(to_us) - static_cast<uint64_t>(from_us);
}

std::optional<uint64_t> lengthOf(const TimeAxis& time) {
  if (!time.present()) return std::nullopt;
  return between(time.firstUs(), time.lastUs());
}

std::optional<DiffEvents::Pause> longestUnlike(const TimeAxis& a, const TimeAxis& b, Step steps) {
  if (!a.present() || !b.present()) return std::nullopt;
  auto unlike = [](const DiffEvents::Pause& p) {
    return p.us_a > p.us_b ? p.us_a - p.us_b : p.us_b - p.us_a;
  };
  DiffEvents::Pause longest;
  for (Step step = 1; step < steps; ++step) {
    DiffEvents::Pause pause{step, between(a.timeOf(step - 1), a.timeOf(step)),
                            between(b.timeOf(step - 1), b.timeOf(step))};
    if (unlike(pause) > unlike(longest)) longest = pause;
  }
  return unlike(longest) > 0 ? std::optional(longest) : std::nullopt;
}

}  // namespace

DiffEvents diffEvents(const AnalysedTrace& trace_a, const DeviceAnalysis& a,
                      const AnalysedTrace& trace_b, const DeviceAnalysis& b) {
  const model::Events& events_a = trace_a.trace.events;
  const model::Events& events_b = trace_b.trace.events;
  DiffEvents diff;
  diff.events_a = a.device.steps();
  diff.events_b = b.device.steps();
  StackKeys keys;
  KeysOfTrace keys_a(keys, trace_a);
  KeysOfTrace keys_b(keys, trace_b);
  uint64_t common = std::min(diff.events_a, diff.events_b);
  for (; diff.same < common; ++diff.same) {
    uint64_t x = a.device.event_begin + diff.same;
    uint64_t y = b.device.event_begin + diff.same;
    bool same = trace_a.trace.actionName(events_a.action[x]) ==
                    trace_b.trace.actionName(events_b.action[y]) &&
                events_a.size_bytes[x] == events_b.size_bytes[y] &&
                keys_a.of(events_a.stack[x]) == keys_b.of(events_b.stack[y]);
    if (!same) break;
  }
  diff.length_us_a = lengthOf(a.time);
  diff.length_us_b = lengthOf(b.time);
  if (diff.allSame()) diff.pause = longestUnlike(a.time, b.time, static_cast<Step>(common));
  return diff;
}

}  // namespace tidegauge::analysis
