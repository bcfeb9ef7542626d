// Recordings that leave kinds of events out, against the simulated heap that wrote them: what is
// missing is named, and the totals are bounds of the truth at every step.
#include <gtest/gtest.h>

#include "analysis/identities.h"
#include "analysis/trace/analysed_trace.h"
#include "analysis/trace/peak.h"
#include "model/lives/missing_actions.h"
#include "support/simulated_heap.h"

namespace tidegauge {
namespace {

using analysis::AnalysedTrace;
using analysis::Totals;
using model::Action;
using model::ActionSet;
using model::Bound;
using model::Step;

struct Skipped {
  const char* name;
  bool expandable;
  ActionSet skip;
};
void PrintTo(const Skipped& it, std::ostream* out) {
  *out << it.name << (it.expandable ? ", expandable" : "");
}

class MissingActionsTwin : public ::testing::TestWithParam<Skipped> {
 protected:
  testing::SimulatedTrace run(uint64_t seed) {
    return testing::simulate({.seed = seed,
                              .events = 700,
                              .expandable = GetParam().expandable,
                              .skip = GetParam().skip});
  }
  // Named by the kinds that stand for a group: births, deaths.
  static bool has(ActionSet set, ActionSet group) { return set.touches(group); }
  // Segments were left out, and happen to leave no proof.
  static bool isUnproven(ActionSet found) {
    ActionSet skip = GetParam().skip;
    return has(skip, model::kSegmentBirths) != has(found, model::kSegmentBirths) ||
           has(skip, model::kSegmentDeaths) != has(found, model::kSegmentDeaths);
  }
};

// Segments that all happen to lie where the final state has some leave no proof.
TEST_P(MissingActionsTwin, TheMissingKindsAreNamed) {
  int births = 0, deaths = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    testing::SimulatedTrace truth = run(seed);
    ActionSet found = truth.trace.devices[0].missing, skip = GetParam().skip;
    if (model::blocksAreUnseen(truth.trace, truth.trace.devices[0]))
      skip = found;  // not all proven
    for (Action block : {Action::kAlloc, Action::kFreeRequested, Action::kFreeCompleted}) {
      EXPECT_EQ(found.has(block), skip.has(block)) << "seed " << seed << " " << name(block);
    }
    EXPECT_LE(has(found, model::kSegmentBirths), has(skip, model::kSegmentBirths)) << seed;
    EXPECT_LE(has(found, model::kSegmentDeaths), has(skip, model::kSegmentDeaths)) << seed;
    births += has(found, model::kSegmentBirths);
    deaths += has(found, model::kSegmentDeaths);
  }
  ActionSet skip = GetParam().skip;
  EXPECT_GE(births, has(skip, model::kSegmentBirths) ? 20 : 0);
  EXPECT_GE(deaths, has(skip, model::kSegmentDeaths) ? 20 : 0);
}

TEST_P(MissingActionsTwin, TotalsAreBoundsOfTheTruth) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    testing::SimulatedTrace truth = run(seed);
    AnalysedTrace analysed(std::move(truth.trace));
    const analysis::DeviceAnalysis& device = *analysed.devices[0];
    model::Bounds bounds = model::boundsOf(device.device);
    auto holds = [](Bound bound, uint64_t got, uint64_t want, uint64_t slack) {
      return bound == Bound::kAtMost    ? want <= got + slack
             : bound == Bound::kAtLeast ? got <= want
                                        : got <= want && want <= got + slack;
    };
    uint64_t slack = analysis::peakOf(analysed, device).uncertain_bytes;
    bool unseen = model::blocksAreUnseen(analysed.trace, device.device);
    bool unproven = isUnproven(device.device.missing);
    for (Step step = 0; step < device.totals.steps(); ++step) {
      Totals got = device.totals.at(step);
      // After the last event comes the final state, after what was not recorded.
      bool is_last = step + 1 == device.totals.steps();
      const Totals& want = is_last ? truth.whole_truth.back() : truth.truth[step];
      ASSERT_TRUE(unseen || holds(bounds.active, got.active_bytes, want.active_bytes, slack))
          << "seed " << seed << " step " << step << ": " << got.active_bytes << ", truth "
          << want.active_bytes;
      ASSERT_TRUE(unseen ||
                  holds(bounds.allocated, got.allocated_bytes, want.allocated_bytes, slack))
          << "seed " << seed << " step " << step;
      ASSERT_TRUE(unproven || holds(bounds.reserved, got.reserved_bytes, want.reserved_bytes, 0))
          << "seed " << seed << " step " << step << ": " << got.reserved_bytes << ", truth "
          << want.reserved_bytes;
      ASSERT_LE(got.active_bytes, got.reserved_bytes) << "seed " << seed << " step " << step;
    }
  }
}

TEST_P(MissingActionsTwin, ThePeakIsBetweenItsBounds) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    testing::SimulatedTrace truth = run(seed);
    uint64_t active = 0;
    for (const Totals& each : truth.whole_truth) active = std::max(active, each.active_bytes);
    AnalysedTrace analysed(std::move(truth.trace));
    analysis::PeakReport peak = analysis::peakOf(analysed, *analysed.devices[0]);
    if (!peak.active_bounds) continue;
    EXPECT_LE(peak.active_bounds->at_least_bytes, active) << "seed " << seed;
    if (peak.bounds.active == Bound::kAtMost) {
      EXPECT_GE(peak.active_bounds->at_most_bytes, active) << "seed " << seed;
    }
  }
}

// The end comes from the final state, whatever is missing.
TEST_P(MissingActionsTwin, TheEndIsExact) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    testing::SimulatedTrace truth = run(seed);
    AnalysedTrace analysed(std::move(truth.trace));
    Totals last = analysed.devices[0]->totals.last();
    bool unproven = isUnproven(analysed.devices[0]->device.missing);
    EXPECT_EQ(last.active_bytes, truth.whole_truth.back().active_bytes) << "seed " << seed;
    EXPECT_EQ(last.reserved_bytes, truth.whole_truth.back().reserved_bytes) << "seed " << seed;
    for (const analysis::Identity& identity :
         analysis::identitiesOf(analysed, *analysed.devices[0])) {
      EXPECT_TRUE(identity.holds || unproven) << "seed " << seed << ": " << identity.text;
    }
  }
}

constexpr ActionSet kFreeKinds{Action::kFreeRequested, Action::kFreeCompleted};
constexpr ActionSet kBirths = model::kSegmentBirths, kDeaths = model::kSegmentDeaths;
constexpr ActionSet kSegments{Action::kSegmentAlloc, Action::kSegmentMap, Action::kSegmentFree,
                              Action::kSegmentUnmap};
constexpr ActionSet kBlocks{Action::kAlloc, Action::kFreeRequested, Action::kFreeCompleted};

INSTANTIATE_TEST_SUITE_P(
    All, MissingActionsTwin,
    ::testing::Values(Skipped{"nothing", false, {}}, Skipped{"alloc", false, {Action::kAlloc}},
                      Skipped{"frees", false, kFreeKinds},
                      Skipped{"free_requested", false, {Action::kFreeRequested}},
                      Skipped{"free_completed", false, {Action::kFreeCompleted}},
                      Skipped{"births", false, kBirths}, Skipped{"deaths", false, kDeaths},
                      Skipped{"segments", false, kSegments}, Skipped{"blocks", false, kBlocks},
                      Skipped{"nothing", true, {}}, Skipped{"alloc", true, {Action::kAlloc}},
                      Skipped{"frees", true, kFreeKinds}, Skipped{"segments", true, kSegments}));

}  // namespace
}  // namespace tidegauge
