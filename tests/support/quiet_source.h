// A source from which nothing comes but what it says was lost.
//
//   QuietSource source;  source.lost[LOSS_STACK] = 10;
//   session.finish(source);
#pragma once

#include "record/source.h"

namespace tidegauge::testing {

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
