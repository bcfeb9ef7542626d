#include "watch/live_arenas.h"

#include <fmt/format.h>

#include <algorithm>

namespace tidegauge::watch {
namespace {

constexpr int64_t kEvery_s = 10;
constexpr int64_t kEvery_ns = kEvery_s * 1'000'000'000;

}  // namespace

void LiveArenas::look(const record::Session& session, int64_t now_ns) {
  bool looked = false;
  for (uint32_t process : toldProcesses(session, now_ns)) {
    const model::ProcessLedger* ledger = session.ledger().find(process);
    if (ledger == nullptr) continue;
    if (session.processes()[process].ended_ns) {
      figures_.erase(process);
      due_ns_.erase(process);
      std::erase_if(pasts_, [&](const auto& entry) { return entry.first.first == process; });
      continue;
    }
    for (int32_t device : ledger->devices()) {
      uint64_t& floor = pasts_[{process, device}].floor_bytes;
      floor = std::min(floor, ledger->deviceSum(device).bytes);
    }
    int64_t& due_ns = due_ns_[process];
    if (looked || now_ns < due_ns) continue;
    due_ns = now_ns + kEvery_ns;
    lookAt(process, *ledger, now_ns);
    looked = true;
  }
}

void LiveArenas::lookAt(uint32_t process, const model::ProcessLedger& ledger, int64_t now_ns) {
  std::vector<model::LiveRange> ranges = ledger.liveRanges(), blocks = ledger.liveBlocks();
  std::vector<ArenaFigures> figures;
  for (int32_t device : ledger.devices()) {
    if (ledger.deviceSum(device).allocations == 0) continue;
    analysis::LiveLayout layout = analysis::liveLayout(ranges, blocks, device);
    Past& past = pasts_[{process, device}];
    past.trend.add(static_cast<double>(now_ns) / 1e9, layout.reserved, past.floor_bytes);
    past.floor_bytes = ledger.deviceSum(device).bytes;
    ArenaFigures it;
    it.device = device;
    it.has_allocator = layout.reserved_bytes > 0;
    it.reserved_score = layout.reserved.score;
    it.address_score = layout.address.score;
    it.reserved_unused_bytes = layout.free_bytes;
    it.stranded_bytes = layout.stranded_bytes;
    if (auto forecast = past.trend.forecast()) {
      const analysis::Predicted& predicted = forecast->bestPredicted();
      for (size_t i = 0; i < predicted.size(); ++i)
        it.forecast.emplace_back(fmt::format("{}s", kEvery_s * static_cast<int64_t>(i + 1)),
                                 predicted[i]);
      it.published = PublishedForecast{.risk = forecast->risk,
                                       .warnings = forecast->warnings,
                                       .confidence = forecast->confidence,
                                       .slope = forecast->slope,
                                       .skill = forecast->publishedSkill()};
    }
    it.growth_bytes_per_second = past.trend.growth();
    figures.push_back(std::move(it));
  }
  figures_[process] = std::move(figures);
}

}  // namespace tidegauge::watch
