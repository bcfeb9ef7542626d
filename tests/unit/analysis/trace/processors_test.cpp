// What several processors compute in parts is what one computes: lives, sizes, totals and peaks,
// also of contradictory events.
#include <gtest/gtest.h>

#include <random>

#include "analysis/trace/analysed_trace.h"
#include "base/threads/parallel.h"
#include "model/lives/lives.h"
#include "support/bytes.h"

namespace tidegauge::analysis {
namespace {

constexpr uint32_t kEvents = 120'000;  // enough for parts
constexpr uint64_t kBegin = 0x7f0000000000;

// Segments of 4 MiB and blocks that are allocated in them and freed; some events contradict others.
model::Trace randomTrace(uint32_t seed, bool contradicts) {
  std::mt19937 random(seed);
  model::Trace trace;
  trace.streams.push_back({});
  trace.pools.push_back({});
  model::Events& e = trace.events;
  std::vector<uint8_t> has_segment(64), is_live(64 * 32);
  auto add = [&](model::Action action, uint64_t address, uint64_t bytes) {
    e.action.push_back(action);
    e.address.push_back(address);
    e.size_bytes.push_back(bytes);
    e.stack.emplace_back();
    e.stream.push_back(model::StreamId(0));
  };
  while (e.size() < kEvents) {
    size_t place = random() % is_live.size(), segment = place / 32;
    uint64_t segment_address = kBegin + segment * 4 * kMiB;
    uint64_t address = segment_address + place % 32 * 128 * kKiB, bytes = 1 + place * 37;
    if (has_segment[segment] == 0 || (contradicts && random() % 5000 == 0)) {
      add(model::Action::kSegmentAlloc, segment_address, 4 * kMiB);
      has_segment[segment] = 1;
    } else if (is_live[place] == 0 || (contradicts && random() % 1000 == 0)) {
      add(model::Action::kAlloc, address, bytes);
      is_live[place] = 1;
    } else {
      if (!contradicts || random() % 100 > 0) add(model::Action::kFreeRequested, address, bytes);
      if (!contradicts || random() % 100 > 0) add(model::Action::kFreeCompleted, address, bytes);
      is_live[place] = 0;
    }
  }
  model::Device device;
  device.event_end = e.size();
  trace.devices.push_back(device);
  return trace;
}

std::unique_ptr<AnalysedTrace> analysedBy(size_t processors, uint32_t seed, bool contradicts) {
  base::processors_for_tests = processors;
  model::Trace trace = randomTrace(seed, contradicts);
  model::buildLives(trace);
  auto analysed = std::make_unique<AnalysedTrace>(std::move(trace));
  base::processors_for_tests = 0;
  return analysed;
}

void expectSame(const AnalysedTrace& one, const AnalysedTrace& several) {
  const model::Allocations &a = one.trace.allocations, &b = several.trace.allocations;
  EXPECT_EQ(one.trace.events.subject, several.trace.events.subject);
  EXPECT_EQ(a.address, b.address);
  EXPECT_EQ(a.block_bytes, b.block_bytes);
  EXPECT_EQ(a.segment, b.segment);
  EXPECT_EQ(a.flags, b.flags);
  EXPECT_EQ(a.last_step, b.last_step);
  const TotalsIndex &x = one.devices[0]->totals, &y = several.devices[0]->totals;
  EXPECT_EQ(x.initial(), y.initial());
  for (auto peak : {&TotalsIndex::peakRequested, &TotalsIndex::peakActive,
                    &TotalsIndex::peakAllocated, &TotalsIndex::peakReserved}) {
    EXPECT_EQ((x.*peak)().bytes, (y.*peak)().bytes);
    EXPECT_EQ((x.*peak)().step, (y.*peak)().step);
    EXPECT_EQ((x.*peak)().at_start, (y.*peak)().at_start);
  }
  std::vector<Totals> of_one;
  x.forEach(0, x.steps(), [&](Step, const Totals& totals) { of_one.push_back(totals); });
  size_t different = 0;
  y.forEach(0, y.steps(),
            [&](Step step, const Totals& totals) { different += of_one[step] != totals; });
  EXPECT_EQ(different, 0U);
  for (Step begin = 0; begin < x.steps(); begin += 7919) {
    Span p = x.span(begin, begin + 5000), q = y.span(begin, begin + 5000);
    EXPECT_EQ(p.active_max, q.active_max);
    EXPECT_EQ(p.active_max_step, q.active_max_step);
    EXPECT_EQ(p.active_min, q.active_min);
    EXPECT_EQ(p.reserved_max, q.reserved_max);
    EXPECT_EQ(p.allocated_max, q.allocated_max);
  }
}

TEST(Processors, ComputeInPartsWhatOneComputes) {
  for (bool contradicts : {false, true}) {
    for (uint32_t seed = 1; seed <= 3; ++seed) {
      auto one = analysedBy(1, seed, contradicts);
      ASSERT_GT(one->trace.allocations.size(), 30'000U);
      for (size_t processors : {2, 4}) expectSame(*one, *analysedBy(processors, seed, contradicts));
    }
  }
}

}  // namespace
}  // namespace tidegauge::analysis
