// How broken up the memory of each process is, kept up to date while it runs: every ten seconds one
// look at what is live (analysis/live_layout.h), with forecast and growth over the last 50 looks.
//
// At most one process is looked at per call, so that the recorder's ring is drained in between.
// Cost of a look: some ms for 10,000 live blocks, 30 ms more for the forecast.
#pragma once

#include <map>
#include <vector>

#include "analysis/layout/live_layout.h"
#include "watch/metrics.h"

namespace tidegauge::watch {

class LiveArenas {
 public:
  // Call it every second or more often.
  void look(const record::Session& session, int64_t now_ns);
  const std::map<uint32_t, std::vector<ArenaFigures>>& figures() const { return figures_; }

 private:
  struct Past {
    analysis::LiveTrend trend;
    uint64_t floor_bytes = ~uint64_t{0};  // least that was live since the last look
  };
  void lookAt(uint32_t process, const model::ProcessLedger& ledger, int64_t now_ns);

  std::map<uint32_t, int64_t> due_ns_;  // by process
  std::map<std::pair<uint32_t, int32_t>, Past> pasts_;
  std::map<uint32_t, std::vector<ArenaFigures>> figures_;
};

}  // namespace tidegauge::watch
