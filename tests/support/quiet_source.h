// A source without records, except for its losses.
//
//   QuietSource source;  source.lost[LOSS_STACK] = 10;
//   session.finish(source);
#pragma once

#include "record/source.h"

namespace tidegauge::testing {

// A time at which no process of this machine began.
inline constexpr int64_t kLongAgo_ns = 1'000'000'000'000'000'000;  // 2001

// The id of a watched function.
inline uint16_t idOf(std::string_view name) {
  auto functions = record::watchedFunctions();
  for (size_t i = 0; i < functions.size(); ++i)
    if (functions[i].name == name) return static_cast<uint16_t>(i);
  return 0;
}

class QuietSource final : public record::Source {
 public:
  record::Losses lost{};
  size_t poll(int) override { return 0; }
  void finish() override {}
  void tellCounts() override {}
  record::Losses losses() const override { return lost; }
  bool anyTargetRuns() const override { return false; }
};

}  // namespace tidegauge::testing
