// Indexes of a trace that is continued answer as those that are built anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "analysis/trace/analysed_trace.h"
#include "model/recorded_work.h"
#include "readers/recording/growing_recording.h"
#include "readers/recording/open_recording.h"
#include "unit/readers/recording/tidy_programs.h"
#include "view/map/address_map.h"

namespace tidegauge::server {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceAnalysis;
using model::Step;
using readers::recording::GrowingRecording;

bool same(const analysis::Peak& a, const analysis::Peak& b) {
  return a.bytes == b.bytes && a.step == b.step && a.at_start == b.at_start;
}

bool same(const analysis::Span& a, const analysis::Span& b) {
  return a.active_min == b.active_min && a.active_max == b.active_max &&
         a.active_max_step == b.active_max_step && a.reserved_min == b.reserved_min &&
         a.reserved_max == b.reserved_max && a.reserved_max_step == b.reserved_max_step &&
         a.requested_max == b.requested_max && a.requested_max_step == b.requested_max_step &&
         a.allocated_max == b.allocated_max;
}

void expectSameTotals(const DeviceAnalysis& now, const DeviceAnalysis& anew,
                      testing::TidyPrograms& any) {
  const analysis::TotalsIndex &a = now.totals, &b = anew.totals;
  ASSERT_EQ(a.steps(), b.steps());
  EXPECT_EQ(a.initial(), b.initial());
  std::vector<analysis::Totals> all;
  a.forEach(0, a.steps(), [&](Step, const analysis::Totals& totals) { all.push_back(totals); });
  uint64_t wrong = 0;
  b.forEach(0, b.steps(), [&](Step step, const analysis::Totals& totals) {
    wrong += all[step] == totals ? 0 : 1;
  });
  EXPECT_EQ(wrong, 0U);
  for (Step begin = 0; begin < a.steps(); begin += static_cast<Step>(1 + any.pick(500))) {
    Step end = begin + 1 + static_cast<Step>(any.pick(a.steps() - begin));
    ASSERT_TRUE(same(a.span(begin, end), b.span(begin, end))) << begin << " " << end;
    ASSERT_TRUE(a.at(begin) == b.at(begin)) << begin;
    ASSERT_EQ(a.highestActive(begin, end).step, b.highestActive(begin, end).step);
  }
  EXPECT_EQ(a.activeMarks(), b.activeMarks());
  EXPECT_TRUE(same(a.peakActive(), b.peakActive()));
  EXPECT_TRUE(same(a.peakAllocated(), b.peakAllocated()));
  EXPECT_TRUE(same(a.peakRequested(), b.peakRequested()));
  EXPECT_TRUE(same(a.peakReserved(), b.peakReserved()));
}

void expectSame(const AnalysedTrace& now, const AnalysedTrace& anew, testing::TidyPrograms& any) {
  ASSERT_EQ(now.devices.size(), anew.devices.size());
  for (size_t i = 0; i < now.devices.size(); ++i) {
    const DeviceAnalysis &a = *now.devices[i], &b = *anew.devices[i];
    expectSameTotals(a, b, any);
    if (::testing::Test::HasFatalFailure()) return;
    EXPECT_EQ(a.clean_up_step, b.clean_up_step);
    Step stride = static_cast<Step>(1 + a.totals.steps() / 300);
    for (Step step = 0; step < a.totals.steps(); step += stride) {
      ASSERT_EQ(a.live.liveAt(step), b.live.liveAt(step)) << step;
      ASSERT_EQ(a.time.timeOf(step), b.time.timeOf(step)) << step;
      int64_t time = a.time.timeOf(step);
      ASSERT_EQ(a.time.stepAfter(time), b.time.stepAfter(time));
      ASSERT_EQ(a.time.stepAtOrAfter(time), b.time.stepAtOrAfter(time));
    }
    ASSERT_EQ(a.live.liveAtStart(), b.live.liveAtStart());
  }
}

// Few, so that maps have bands and grids.
constexpr uint64_t kDirectBirths = 50;

std::shared_ptr<view::AddressMap> mapOf(const AnalysedTrace& analysed, size_t device, bool plain,
                                        std::shared_ptr<view::AddressMap> before = nullptr,
                                        const model::Continuation& continuation = {}) {
  return view::AddressMap::following(analysed, *analysed.devices[device], plain, std::move(before),
                                     continuation, kDirectBirths);
}

void expectSame(const view::AddressMap& now, const view::AddressMap& anew, Step steps,
                testing::TidyPrograms& any) {
  ASSERT_EQ(now.axis().ranges(), anew.axis().ranges());
  auto total = static_cast<double>(anew.axis().totalBytes());
  for (int i = 0; i < 12; ++i) {
    view::MapQuestion q;
    auto begin = static_cast<double>(i == 0 ? 0 : any.pick(steps));
    q.x = {.axis = view::Axis::kStep, .x0 = begin, .x1 = steps + 1.0, .columns = 60};
    if (i > 4) q.x.x1 = begin + 1 + static_cast<double>(any.pick(steps));
    double low = i % 3 == 0 ? 0 : total * static_cast<double>(any.pick(1000)) / 1000;
    q.y0_bytes = low;
    q.y1_bytes = low + (total + 1) / static_cast<double>(1 + (i % 4) * any.pick(200));
    q.rows = 40;
    q.most_quads = i % 2 == 0 ? 5 : 200;
    view::MapTile a = now.tile(q), b = anew.tile(q);
    ASSERT_EQ(a.covered, b.covered) << "tile " << i;
    ASSERT_EQ(a.owned, b.owned) << "tile " << i;
    ASSERT_EQ(a.quads.size(), b.quads.size()) << "tile " << i;
    auto bytes = [](const view::MapTile& tile) { return std::as_bytes(std::span(tile.quads)); };
    ASSERT_TRUE(std::ranges::equal(bytes(a), bytes(b))) << "tile " << i;
  }
}

// Two readings of each process take turns.
class Turns {
 public:
  explicit Turns(testing::TidyPrograms& programs)
      : programs_(programs),
        recording_(programs.path(), {.is_followed = true, .takes_back = true}) {}

  void read() {
    auto now = recording_.read();
    auto whole = readers::recording::openRecording(programs_.path(), {});
    ASSERT_TRUE(now.ok() && whole.ok());
    std::vector<std::unique_ptr<AnalysedTrace>> next;
    std::vector<Maps> next_maps;
    for (model::Trace& trace : now.value()) {
      AnalysedTrace anew(std::move(whole.value()[next.size()]));
      analysis::BeforeTrace before;
      Maps maps;
      if (const model::Continuation* it = recording_.continuationOf(trace)) {
        before.continuation = *it;
        before.analysed = std::move(shells_[it->of.get()].analysed);
        maps = std::move(shells_[it->of.get()].maps);
        continued += before.analysed != nullptr ? 1 : 0;
        resized += it->resized.size();
      }
      model::Continuation continuation = before.continuation;
      next.push_back(std::make_unique<AnalysedTrace>(std::move(trace), nullptr, std::move(before)));
      expectSame(*next.back(), anew, programs_);
      if (::testing::Test::HasFatalFailure()) return;
      next_maps.push_back(continueMaps(*next.back(), anew, std::move(maps), continuation));
      if (::testing::Test::HasFatalFailure()) return;
    }
    shells_.clear();
    for (size_t i = 0; i < shown_.size(); ++i) {
      const model::RecordedWork* work = shown_[i]->trace.work.get();
      recording_.takeBack(std::move(shown_[i]->trace));
      shells_[work] = {std::move(shown_[i]), std::move(shown_maps_[i])};
    }
    shown_ = std::move(next);
    shown_maps_ = std::move(next_maps);
  }

  uint64_t continued = 0, resized = 0, maps_continued = 0, resized_in_maps = 0;

 private:
  using Maps = std::vector<std::shared_ptr<view::AddressMap>>;  // two per device: owned, plain
  struct Shell {
    std::unique_ptr<AnalysedTrace> analysed;
    Maps maps;
  };

  Maps continueMaps(const AnalysedTrace& now, const AnalysedTrace& anew, Maps before,
                    const model::Continuation& continuation) {
    before.resize(2 * now.devices.size());
    for (size_t i = 0; i < before.size(); ++i) {
      bool plain = i % 2 == 1;
      before[i] = mapOf(now, i / 2, plain, std::move(before[i]), continuation);
      bool is_continued = before[i]->isContinued();
      maps_continued += is_continued ? 1 : 0;
      if (is_continued) resized_in_maps += continuation.resized.size();
      expectSame(*before[i], *mapOf(anew, i / 2, plain), now.devices[i / 2]->totals.steps(),
                 programs_);
      if (::testing::Test::HasFatalFailure()) break;
    }
    return before;
  }

  testing::TidyPrograms& programs_;
  GrowingRecording recording_;
  std::vector<std::unique_ptr<AnalysedTrace>> shown_;
  std::vector<Maps> shown_maps_;
  std::map<const model::RecordedWork*, Shell> shells_;
};

TEST(ContinuedIndexes, AreAsBuiltAnew) {
  uint64_t continued = 0, resized = 0, maps_continued = 0, resized_in_maps = 0;
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::TidyPrograms programs(seed);
    Turns turns(programs);
    // A few hundred calls, and once 60,000: then live sets have checkpoints.
    uint64_t most = seed == 1 ? 60000 : 500;
    for (int step = 0; step < (seed == 1 ? 8 : 18); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      if (step == 5) programs.settle();
      programs.add(most / 2 + programs.pick(most));
      turns.read();
      if (HasFatalFailure()) return;
    }
    continued += turns.continued;
    resized += turns.resized;
    maps_continued += turns.maps_continued;
    resized_in_maps += turns.resized_in_maps;
  }
  EXPECT_GT(continued, 80U);
  EXPECT_GT(resized, 20U);
  EXPECT_GT(maps_continued, 60U);
  EXPECT_GT(resized_in_maps, 10U);
}

}  // namespace
}  // namespace tidegauge::server
