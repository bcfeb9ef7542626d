#include "model/live/level_history.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "model/live/rate_meter.h"

namespace tidegauge::model {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSlot = 100 * kMs;

struct Change {
  int64_t time_ns;
  uint64_t level;
};

std::vector<Change> changesOf(const std::vector<std::pair<uint32_t, uint16_t>>& input, int64_t t) {
  std::vector<Change> changes;
  for (auto [gap, level] : input) {
    t += gap % (3 * kSlot) * (gap % 7 == 0 ? 40 : 1);  // now and then a long silence
    changes.push_back({t, level});
  }
  return changes;
}

// Checks every change for every column.
uint64_t mostIn(const std::vector<Change>& changes, int64_t from_ns, int64_t to_ns) {
  uint64_t most = 0;
  for (const Change& change : changes)
    if (change.time_ns < from_ns) most = change.level;  // the last one before it
  for (const Change& change : changes)
    if (change.time_ns >= from_ns && change.time_ns < to_ns) most = std::max(most, change.level);
  return most;
}

RC_GTEST_PROP(LevelHistory, ColumnsOfWholeSlotsHoldTheMostThatWasThere,
              (const std::vector<std::pair<uint32_t, uint16_t>>& input)) {
  for (auto keeps : {LevelHistory::Keeps::kWhole, LevelHistory::Keeps::kRecent}) {
    int64_t start = 17 * kSlot * 1'000'000 + 3;
    std::vector<Change> changes = changesOf(input, start);
    LevelHistory history(kSlot, keeps);
    for (const Change& change : changes) history.set(change.time_ns, change.level);
    RC_ASSERT(history.slots() <= LevelHistory::kMost);
    if (changes.empty()) return;
    int64_t width = history.slotNs();
    RC_ASSERT(keeps == LevelHistory::Keeps::kWhole || width == kSlot);
    int64_t last = changes.back().time_ns / width;
    // All of it, or at least what is kept.
    auto columns =
        static_cast<size_t>(std::min<int64_t>(last - start / width + 3, LevelHistory::kMost));
    int64_t from = (last + 2 - static_cast<int64_t>(columns)) * width;
    std::vector<uint64_t> most(columns);
    history.sample(from, from + static_cast<int64_t>(columns) * width, most);
    for (size_t i = 0; i < columns; ++i) {
      int64_t begin = from + static_cast<int64_t>(i) * width;
      RC_ASSERT(most[i] == mostIn(changes, begin, begin + width));
    }
  }
}

// However it is cut into columns: no peak is lost, and none is made up.
RC_GTEST_PROP(LevelHistory, NoPeakIsLostWhateverTheColumns,
              (const std::vector<std::pair<uint32_t, uint16_t>>& input, uint8_t parts)) {
  std::vector<Change> changes = changesOf(input, kSlot * 5);
  if (changes.empty()) return;
  LevelHistory history(kSlot, LevelHistory::Keeps::kWhole);
  uint64_t peak = 0;
  for (const Change& change : changes) {
    history.set(change.time_ns, change.level);
    peak = std::max(peak, change.level);
  }
  std::vector<uint64_t> most(parts % 50 + 1);
  history.sample(0, changes.back().time_ns + 1, most);
  RC_ASSERT(*std::max_element(most.begin(), most.end()) == peak);
}

TEST(LevelHistory, ALevelLastsUntilTheNextChange) {
  LevelHistory history(kSlot, LevelHistory::Keeps::kWhole);
  history.set(10 * kSlot, 7);
  history.set(12 * kSlot, 3);
  std::vector<uint64_t> most(6);
  history.sample(9 * kSlot, 15 * kSlot, most);
  EXPECT_EQ(most, (std::vector<uint64_t>{0, 7, 7, 7, 3, 3})) << "7 was there as slot 12 began";
}

TEST(LevelHistory, WhatComesLateChangesNoOlderSlot) {
  LevelHistory history(kSlot, LevelHistory::Keeps::kWhole);
  history.set(10 * kSlot, 7);
  history.set(3 * kSlot, 9);
  std::vector<uint64_t> most(2);
  history.sample(9 * kSlot, 11 * kSlot, most);
  EXPECT_EQ(most, (std::vector<uint64_t>{0, 9}));
}

struct Counted {
  int64_t begin_ns, end_ns;
  double count;
};

RC_GTEST_PROP(RateMeter, IsWhatWasCountedInTheWindow,
              (const std::vector<std::pair<uint16_t, uint8_t>>& input)) {
  int64_t t = 1'000'000 * kMs;
  std::vector<Counted> all;
  RateMeter meter;
  for (auto [gap, count] : input) {
    int64_t span = gap % 3 == 0 ? 0 : 1000 * kMs;
    t += gap % 2000 * kMs;
    all.push_back({t, t + span, static_cast<double>(count)});
    meter.add(t, t + span, count);
  }
  constexpr int64_t kWhole = 250 * kMs;
  int64_t until = (t / kWhole + 1) * kWhole;
  double sum = 0;
  for (const Counted& one : all) {
    int64_t from = std::max(one.begin_ns, until - RateMeter::kWindow_ns);
    int64_t to = std::min(one.end_ns, until);
    if (one.begin_ns == one.end_ns) {
      sum += from == one.begin_ns && from < until ? one.count : 0;
    } else if (to > from) {
      sum += one.count * static_cast<double>(to - from) /
             static_cast<double>(one.end_ns - one.begin_ns);
    }
  }
  RC_ASSERT(std::abs(meter.perSecond(until, 0) - sum / 5) < 1e-6);
}

// From a hostile file; the sanitizers check it.
TEST(RateMeter, TheEndOfTimeIsATime) {
  RateMeter meter;
  meter.add(INT64_MAX - 1000 * kMs, INT64_MAX, 400);
  EXPECT_GT(meter.perSecond(INT64_MAX, INT64_MAX - 1000 * kMs), 300);
}

TEST(RateMeter, AYoungProcessIsMeasuredOverItsLife) {
  RateMeter meter;
  int64_t begin = 40'000 * kMs;
  meter.add(begin, begin + 1000 * kMs, 400);
  EXPECT_DOUBLE_EQ(meter.perSecond(begin + 1000 * kMs, begin), 400);
  EXPECT_DOUBLE_EQ(meter.perSecond(begin + 2000 * kMs, begin), 200);
  EXPECT_DOUBLE_EQ(meter.perSecond(begin, begin), 0);
  EXPECT_DOUBLE_EQ(meter.perSecond(begin + 60'000 * kMs, begin), 0) << "long ago";
}

}  // namespace
}  // namespace tidegauge::model
