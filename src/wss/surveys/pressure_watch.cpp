#include "wss/surveys/pressure_watch.h"

#include <utility>

namespace tidegauge::wss {

PressureWatch::PressureWatch(MemoryScope scope) : scope_(std::move(scope)) {
  if (auto now = scope_.look(); now.ok()) before_ = now.value();
}

const PressureWindow& PressureWatch::look(const Pass& clear, const Pass& read) {
  auto now = scope_.look();
  if (!now.ok()) return last_;  // what became of the process is reported elsewhere
  last_ = {now.value() - std::exchange(before_, now.value()),
           read.end_ns - std::exchange(looked_ns_, read.end_ns).value_or(clear.begin_ns)};
  if (shortageOf(last_.counted, last_.window_ns) != Shortage::kNone)
    searched_bytes_ += last_.counted.scanned;
  return last_;
}

}  // namespace tidegauge::wss
