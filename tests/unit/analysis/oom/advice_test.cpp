#include "analysis/oom/advice.h"

#include <gtest/gtest.h>

#include "support/bytes.h"
#include "support/messy_trace.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using testing::TraceBuilder;

struct Advised {
  AnalysedTrace analysed;
  std::vector<Advice> advice;
  explicit Advised(TraceBuilder& b, std::optional<uint64_t> total_bytes = {})
      : analysed(b.build()) {
    const DeviceAnalysis& device = *analysed.devices[0];
    std::vector<OomReport> ooms = oomsOf(analysed, device);
    advice = ooms.empty()
                 ? adviceOn(analysed, device)
                 : adviceOn(analysed, device,
                            verdictOf(analysed, device, ooms.back(), {.total_bytes = total_bytes}));
    for (const Advice& one : advice) {  // no advice without a number
      EXPECT_FALSE(one.evidence.empty());
      for (const Evidence& evidence : one.evidence) EXPECT_FALSE(evidence.source.empty());
    }
  }

  std::vector<std::string> kinds() const {
    std::vector<std::string> names;
    for (const Advice& one : advice) names.emplace_back(name(one.kind));
    return names;
  }
  const Advice* find(AdviceKind kind) const {
    for (const Advice& one : advice) {
      if (one.kind == kind) return &one;
    }
    return nullptr;
  }
  uint64_t number(AdviceKind kind, std::string_view evidence) const {
    const Advice* one = find(kind);
    for (size_t i = 0; one != nullptr && i < one->evidence.size(); ++i) {
      if (one->evidence[i].name == evidence) return one->evidence[i].value;
    }
    return UINT64_MAX;
  }
};

using Names = std::vector<std::string>;

void setSettings(TraceBuilder& b, const std::string& conf, bool knows_expandable = true) {
  model::AllocatorSettings& settings = b.settings();
  settings.present = true;
  settings.conf = conf;
  settings.expandable_segments = conf.find("expandable_segments:True") != std::string::npos;
  if (std::optional<double> mb = confNumber(conf, "max_split_size_mb")) {
    settings.max_split_bytes = static_cast<uint64_t>(*mb) * kMiB;
  }
  settings.items.emplace_back("PYTORCH_CUDA_ALLOC_CONF", conf);
  if (knows_expandable) settings.items.emplace_back("expandable_segments", "…");
}

// Segments of 20 MiB with 8 MiB live in each.
void pieces(TraceBuilder& b, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t a = kA + i * 32 * kMiB;
    b.segmentAlloc(a, 20 * kMiB).alloc(a, 8 * kMiB);
  }
}

TEST(Advice, FragmentationMayNeedExpandableSegments) {
  TraceBuilder b;
  setSettings(b, "");
  pieces(b, 5);
  b.oom(30 * kMiB, 45 * kMiB);
  Advised advised(b);
  const Advice* expandable = advised.find(AdviceKind::kExpandable);
  ASSERT_NE(expandable, nullptr);
  EXPECT_EQ(expandable->setting, "expandable_segments:True");
  EXPECT_EQ(advised.number(AdviceKind::kExpandable, "missing_bytes"), 16 * kMiB);
  EXPECT_EQ(advised.number(AdviceKind::kExpandable, "free_bytes"), 60 * kMiB);
  EXPECT_EQ(advised.number(AdviceKind::kExpandable, "pieces"), 5U);
  EXPECT_EQ(advised.find(AdviceKind::kSmallerRequest), nullptr) << "45 MiB are too small to split";
}

// Halves of 32 MiB would each fit into the driver's 40 MiB, but not both. Sixths do: three in
// segments of 12 MiB, and the rest in the pieces.
TEST(Advice, ALargeRequestIsSplitIntoPartsThatAllFit) {
  TraceBuilder b;
  pieces(b, 5);
  b.oom(40 * kMiB, 64 * kMiB);
  Advised advised(b);
  EXPECT_EQ(advised.number(AdviceKind::kSmallerRequest, "parts"), 6U);
  EXPECT_EQ(advised.number(AdviceKind::kSmallerRequest, "part_bytes"), 11'185'152U);
}

TEST(Advice, ASettingThatIsNotInEffectIsNamedInstead) {
  TraceBuilder b;
  setSettings(b, "expandable_segments:True");
  b.settings().expandable_segments = false;  // the platform does not have it
  pieces(b, 5);
  b.oom(30 * kMiB, 45 * kMiB);
  Advised advised(b);
  EXPECT_EQ(advised.find(AdviceKind::kExpandable), nullptr);
  EXPECT_NE(advised.find(AdviceKind::kNotInEffect), nullptr);
}

TEST(Advice, AMemoryFractionThatWouldDo) {
  TraceBuilder b;
  setSettings(b, "per_process_memory_fraction:0.5");
  b.segmentAlloc(kA, 100 * kMiB).alloc(kA, 100 * kMiB).oom(150 * kMiB, 40 * kMiB);
  Advised advised(b);
  EXPECT_EQ(advised.number(AdviceKind::kMemoryFraction, "fraction_percent"), 50U);
  EXPECT_EQ(advised.number(AdviceKind::kMemoryFraction, "needed_percent"), 57U);  // 140 of 250
  EXPECT_EQ(advised.find(AdviceKind::kMemoryFraction)->setting, "per_process_memory_fraction:0.57");
}

// A page of an expandable segment is no smaller than the segment that was wanted.
TEST(Advice, NoExpandableSegmentsWhereNothingLiesInPieces) {
  for (uint64_t live : {20 * kMiB, 18 * kMiB}) {
    TraceBuilder b;
    setSettings(b, "");
    b.segmentAlloc(kA, 20 * kMiB).alloc(kA, live).oom(15 * kMiB, 3 * kMiB);
    EXPECT_EQ(Advised(b).find(AdviceKind::kExpandable) != nullptr, live == 18 * kMiB);
  }
}

TEST(Advice, TheOtherSizeClassIsNotAnotherStream) {
  TraceBuilder b;
  setSettings(b, "");
  b.segmentAlloc(kA, 200 * kMiB).alloc(kA, 90 * kMiB).oom(kMiB, 512 * 1024);
  Advised advised(b);
  EXPECT_EQ(advised.find(AdviceKind::kStream), nullptr);
  EXPECT_EQ(advised.number(AdviceKind::kExpandable, "pieces"), 1U);
}

// Neither one stream nor one pool would help if the split limit prevents it.
TEST(Advice, NoOneStreamForBlocksThatTheSplitLimitForbids) {
  TraceBuilder b;
  setSettings(b, "max_split_size_mb:100");
  b.stream(7).segmentAlloc(kA, 310 * kMiB).alloc(kA, 10 * kMiB);
  b.stream(0).oom(10 * kMiB, 50 * kMiB);
  EXPECT_EQ(Advised(b).find(AdviceKind::kStream), nullptr);
}

TEST(Advice, NumbersOfPiecesLeaveOutWhatIsElsewhere) {
  TraceBuilder b;
  setSettings(b, "");
  pieces(b, 5);
  b.stream(7).segmentAlloc(kA + kGiB, 100 * kMiB).alloc(kA + kGiB, 52 * kMiB);
  b.stream(0).oom(30 * kMiB, 40 * kMiB);
  Advised advised(b);
  EXPECT_EQ(advised.number(AdviceKind::kExpandable, "free_bytes"), 60 * kMiB);
  EXPECT_EQ(advised.number(AdviceKind::kExpandable, "pieces"), 5U);
  EXPECT_EQ(advised.number(AdviceKind::kExpandable, "largest_piece_bytes"), 12 * kMiB);
  EXPECT_EQ(advised.number(AdviceKind::kStream, "other_stream_bytes"), 48 * kMiB);
}

TEST(Advice, NothingThatIsSetAlready) {
  TraceBuilder b;
  setSettings(b, "expandable_segments:True");
  b.map(kA, 100 * kMiB).alloc(kA + 10 * kMiB, 80 * kMiB).oom(10 * kMiB, 25 * kMiB);
  Advised advised(b);
  EXPECT_EQ(advised.find(AdviceKind::kExpandable), nullptr);
  EXPECT_EQ(advised.find(AdviceKind::kSplitLimit), nullptr);
}

TEST(Advice, NothingThatTheVersionDoesNotHave) {
  TraceBuilder b;
  setSettings(b, "", false);  // its settings have no such key: torch 2.0
  pieces(b, 5);
  b.oom(30 * kMiB, 45 * kMiB);
  EXPECT_EQ(Advised(b).find(AdviceKind::kExpandable), nullptr);
  TraceBuilder unknown;  // no settings in the file: the advice states its condition
  pieces(unknown, 5);
  unknown.oom(30 * kMiB, 45 * kMiB);
  EXPECT_NE(Advised(unknown).find(AdviceKind::kExpandable), nullptr);
}

// The setting that joins pieces is on: what is left is to hold less, by an unknown amount.
TEST(Advice, IfNoSettingIsLeftHoldLess) {
  TraceBuilder b;
  setSettings(b, "expandable_segments:True");
  b.settings().expandable_segments = true;
  pieces(b, 5);
  b.oom(10 * kMiB, 45 * kMiB);
  Advised advised(b);
  EXPECT_EQ(advised.kinds(), Names{"hold_less"});
  EXPECT_FALSE(advised.find(AdviceKind::kHoldLess)->has("lacking_bytes"));
}

TEST(Advice, ASplitLimitWhereLargeSegmentsAreCutUp) {
  TraceBuilder b;
  setSettings(b, "");
  for (uint64_t i = 0; i < 3; ++i) {
    b.segmentAlloc(kA + i * kGiB, 100 * kMiB).alloc(kA + i * kGiB + 40 * kMiB, 10 * kMiB);
  }
  b.oom(30 * kMiB, 64 * kMiB);
  Advised advised(b);
  ASSERT_NE(advised.find(AdviceKind::kSplitLimit), nullptr);
  EXPECT_EQ(advised.find(AdviceKind::kSplitLimit)->setting, "max_split_size_mb:64");
  EXPECT_EQ(advised.number(AdviceKind::kSplitLimit, "cut_segments"), 3U);
  EXPECT_EQ(advised.number(AdviceKind::kSplitLimit, "cut_free_bytes"), 270 * kMiB);
}

TEST(Advice, ASplitLimitMustNotBeAdvisedBelowItsLeastValue) {
  TraceBuilder b;
  setSettings(b, "");
  b.segmentAlloc(kA, 100 * kMiB);
  for (uint64_t at = 9 * kMiB; at < 100 * kMiB; at += 10 * kMiB) b.alloc(kA + at, kMiB + 512);
  b.oom(5 * kMiB, 20 * kMiB);
  EXPECT_EQ(Advised(b).find(AdviceKind::kSplitLimit), nullptr);
}

TEST(Advice, ASplitLimitCanForbidWhatWouldFit) {
  TraceBuilder b;
  setSettings(b, "max_split_size_mb:64");
  b.segmentAlloc(kA, 300 * kMiB).alloc(kA, 200 * kMiB).alloc(kA + 200 * kMiB, 100 * kMiB);
  b.freeRequested(kA, 200 * kMiB).freeCompleted(kA, 200 * kMiB).oom(10 * kMiB, 40 * kMiB);
  Advised advised(b);
  EXPECT_EQ(advised.number(AdviceKind::kLargerSplitLimit, "forbidden_bytes"), 200 * kMiB);
}

TEST(Advice, ASplitLimitHurtsExpandableSegments) {
  TraceBuilder b;
  setSettings(b, "expandable_segments:True,max_split_size_mb:64");
  b.map(kA, 100 * kMiB).alloc(kA, 100 * kMiB);
  EXPECT_EQ(Advised(b).kinds(), Names{"no_max_split_size"});
}

TEST(Advice, CapacityIsSaidAsSuch) {
  TraceBuilder b;
  setSettings(b, "");
  b.stack({"forward@/home/me/model.py:7"});
  pieces(b, 5);
  b.oom(30 * kMiB, 120 * kMiB);
  Advised advised(b);
  EXPECT_EQ(advised.kinds(), (Names{"no_setting_helps", "hold_less"}));
  EXPECT_EQ(advised.number(AdviceKind::kNoSettingHelps, "lacking_bytes"), 30 * kMiB);
  EXPECT_EQ(advised.number(AdviceKind::kHoldLess, "largest_holder_bytes"), 40 * kMiB);
  EXPECT_EQ(advised.analysed.labels.label(advised.advice[1].stack), "model.py:7 forward");
}

TEST(Advice, WasteInsideBlocksNamesTheSetting) {
  TraceBuilder b;
  setSettings(b, "roundup_power2_divisions:2");
  b.settings().roundup_power2_divisions.fill(2);
  b.segmentAlloc(kA, 96 * kMiB).alloc(kA, 70 * kMiB).oom(30 * kMiB, 48 * kMiB);
  Advised advised(b);
  EXPECT_EQ(advised.advice.at(0).kind, AdviceKind::kNoRoundup);
  EXPECT_EQ(advised.number(AdviceKind::kNoRoundup, "rounding_bytes"), 26 * kMiB);
  EXPECT_EQ(advised.find(AdviceKind::kNoSettingHelps), nullptr);
}

TEST(Advice, EmptyCacheWhereLittleIsLive) {
  TraceBuilder b;
  setSettings(b, "");
  b.segmentAlloc(kA, 100 * kMiB).alloc(kA, 100 * kMiB);
  b.free(kA, 100 * kMiB);  // step 3: nothing is live, all could go back
  for (uint64_t i = 0; i < 10; ++i)
    b.alloc(kA + i * 10 * kMiB, 8 * kMiB).alloc(kA + (i * 10 + 8) * kMiB, 2 * kMiB);
  for (uint64_t i = 0; i < 10; ++i) b.free(kA + (i * 10 + 8) * kMiB, 2 * kMiB);
  b.oom(10 * kMiB, 18 * kMiB);
  Advised advised(b);
  ASSERT_NE(advised.find(AdviceKind::kEmptyCache), nullptr);
  EXPECT_EQ(advised.find(AdviceKind::kEmptyCache)->step, 3U);
  EXPECT_EQ(advised.number(AdviceKind::kEmptyCache, "releasable_bytes"), 100 * kMiB);
}

TEST(Advice, PoolsAndStreams) {
  TraceBuilder b;
  b.stream(7).segmentAlloc(kA, 100 * kMiB).alloc(kA, 60 * kMiB);
  b.stream(0).oom(30 * kMiB, 40 * kMiB);
  EXPECT_EQ(Advised(b).number(AdviceKind::kStream, "other_stream_bytes"), 40 * kMiB);
  TraceBuilder pool;
  pool.segmentAlloc(kA, 100 * kMiB).alloc(kA, 2 * kMiB).oom(30 * kMiB, 40 * kMiB);
  pool.pool(1, 0).finalSegment(kA, 100 * kMiB);
  pool.block(2 * kMiB, model::BlockState::kActiveAllocated, 2 * kMiB);
  pool.block(98 * kMiB, model::BlockState::kInactive);
  EXPECT_EQ(Advised(pool).number(AdviceKind::kReleasePool, "pool_free_bytes"), 98 * kMiB);
}

TEST(Advice, LimitsFlawsAndOthers) {
  TraceBuilder cap;
  pieces(cap, 1);
  cap.oom(70 * kGiB, 12 * kMiB);
  Advised capped(cap);
  EXPECT_EQ(capped.number(AdviceKind::kMemoryFraction, "driver_bytes"), 70 * kGiB);
  EXPECT_EQ(capped.number(AdviceKind::kTryAgain, "fitting_bytes"), 12 * kMiB);
  TraceBuilder others;
  pieces(others, 5);
  others.oom(30 * kMiB, 200 * kMiB);
  EXPECT_EQ(Advised(others, kGiB).number(AdviceKind::kOtherProcesses, "other_bytes"),
            kGiB - 130 * kMiB);
}

TEST(Advice, AThresholdNeedsAFraction) {
  auto kinds = [](const std::string& conf) {
    TraceBuilder b;
    setSettings(b, conf);
    b.segmentAlloc(kA, 20 * kMiB).alloc(kA, 8 * kMiB);
    return Advised(b).kinds();
  };
  EXPECT_EQ(kinds("garbage_collection_threshold:0.8"), Names{"gc_needs_fraction"});
  TraceBuilder b;
  setSettings(b, "garbage_collection_threshold:0.8");
  Evidence evidence = Advised(b).advice.at(0).evidence.at(0);
  EXPECT_EQ(evidence.value, 80U);
  EXPECT_EQ(evidence.unit, Evidence::Unit::kPercent);
  EXPECT_EQ(kinds("garbage_collection_threshold:0.8,per_process_memory_fraction:0.5"), Names{});
  EXPECT_EQ(kinds("garbage_collection_threshold:1e300"), Names{});
  EXPECT_EQ(kinds(""), Names{});
}

TEST(Advice, WithoutAnEventOnlyWhatIsWorthIt) {
  for (uint64_t live_bytes : {uint64_t{10}, uint64_t{400}}) {
    TraceBuilder b;
    setSettings(b, "");
    b.segmentAlloc(kA, 500 * kMiB).alloc(kA, live_bytes * kMiB);
    b.segmentAlloc(kA + kGiB, 400 * kMiB);
    Advised advised(b);
    bool wasteful = live_bytes == 10;
    EXPECT_EQ(advised.kinds(),
              wasteful ? (Names{"expandable_segments", "empty_cache"}) : Names{"empty_cache"});
    EXPECT_EQ(advised.number(AdviceKind::kEmptyCache, "releasable_bytes"), 400 * kMiB);
  }
}

// ---- limits, from both sides --------------------------------------------------------------------

constexpr uint64_t kLess = 512;

// At the reserved peak (the step of the last segment): 256 MiB pinned, a quarter of all unused.
TEST(AdviceLimits, PinnedAtThePeak) {
  for (uint64_t less : {uint64_t{0}, kLess}) {
    TraceBuilder worth;
    setSettings(worth, "");
    worth.segmentAlloc(kA, 258 * kMiB - less).alloc(kA, 2 * kMiB);
    worth.segmentAlloc(kA + kGiB, 100 * kMiB);
    EXPECT_EQ(Advised(worth).kinds(), less == 0 ? Names{"expandable_segments"} : Names{});
    TraceBuilder quarter;
    setSettings(quarter, "");
    quarter.segmentAlloc(kA, 1198 * kMiB).alloc(kA, 900 * kMiB + less);
    quarter.segmentAlloc(kA + 2 * kGiB, 2 * kMiB);
    EXPECT_EQ(Advised(quarter).kinds(), less == 0 ? Names{"expandable_segments"} : Names{});
  }
}

// At the end: 256 MiB that are releasable, and a quarter of the reserved bytes.
TEST(AdviceLimits, ReleasableAtTheEnd) {
  for (uint64_t less : {uint64_t{0}, kLess}) {
    TraceBuilder worth;
    setSettings(worth, "");
    worth.segmentAlloc(kA, 100 * kMiB).alloc(kA, 100 * kMiB);
    worth.segmentAlloc(kA + kGiB, 256 * kMiB - less);
    EXPECT_EQ(Advised(worth).kinds(), less == 0 ? Names{"empty_cache"} : Names{});
    TraceBuilder quarter;
    setSettings(quarter, "");
    quarter.segmentAlloc(kA, 900 * kMiB + less).alloc(kA, 900 * kMiB + less);
    quarter.segmentAlloc(kA + kGiB, 300 * kMiB - less);
    EXPECT_EQ(Advised(quarter).kinds(), less == 0 ? Names{"empty_cache"} : Names{});
  }
}

// A request is split into eight parts at most.
TEST(AdviceLimits, ASmallerRequest) {
  for (uint64_t less : {uint64_t{0}, kLess}) {
    TraceBuilder b;
    setSettings(b, "");
    for (uint64_t i = 0; i < 10; ++i) {
      uint64_t a = kA + i * 32 * kMiB;
      b.segmentAlloc(a, 20 * kMiB).alloc(a, 10 * kMiB + less);
    }
    b.oom(0, 80 * kMiB);
    EXPECT_EQ(Advised(b).number(AdviceKind::kSmallerRequest, "part_bytes"),
              less == 0 ? 10 * kMiB : UINT64_MAX);
  }
}

// A split limit is 21 MiB at least, and no larger than the request.
TEST(AdviceLimits, ASplitLimit) {
  auto advises = [](uint64_t segment, uint64_t live, uint64_t request) {
    TraceBuilder b;
    setSettings(b, "");
    b.segmentAlloc(kA, segment).alloc(kA + 14 * kMiB, live);
    // Free elsewhere, in pieces that are too small: the bytes exist in every case.
    for (uint64_t i = 1; i <= 8; ++i) {
      b.segmentAlloc(kA + i * kGiB, 20 * kMiB).alloc(kA + i * kGiB, 8 * kMiB);
    }
    b.oom(0, request);
    return Advised(b).find(AdviceKind::kSplitLimit) != nullptr;
  };
  EXPECT_TRUE(advises(40 * kMiB, 15 * kMiB, 21 * kMiB));
  EXPECT_FALSE(advises(40 * kMiB, 15 * kMiB, 21 * kMiB - kLess));
  // The block that cuts it up must be below the limit,
  EXPECT_TRUE(advises(60 * kMiB, 30 * kMiB - kLess, 30 * kMiB));
  EXPECT_FALSE(advises(60 * kMiB, 30 * kMiB, 30 * kMiB));
  // and the segment as large as the request.
  EXPECT_TRUE(advises(40 * kMiB, 15 * kMiB, 40 * kMiB));
  EXPECT_FALSE(advises(40 * kMiB - kLess, 15 * kMiB, 40 * kMiB));
}

// `count` blocks of `live` bytes split a segment; `jump` bytes are live beside them. That is the
// trough: then a segment of `flushed` bytes, which could have been released there, is used, and a
// request fails. Up to the jump, less than half of the final live bytes are live, so nothing before
// it counts.
struct Trough {
  uint64_t segment, count, live, jump, flushed;
};
bool advisesFlush(const Trough& of, uint64_t driver, uint64_t request) {
  TraceBuilder b;
  setSettings(b, "");
  b.segmentAlloc(kA, of.segment);
  b.segmentAlloc(kA + kGiB, of.jump).segmentAlloc(kA + 2 * kGiB, of.flushed);
  for (uint64_t i = 0; i < of.count; ++i) b.alloc(kA + i * (of.segment / of.count), of.live);
  b.alloc(kA + kGiB, of.jump).alloc(kA + 2 * kGiB, of.flushed).oom(driver, request);
  Advised advised(b);
  EXPECT_NE(advised.find(AdviceKind::kExpandable), nullptr) << "it is fragmentation";
  const Advice* flush = advised.find(AdviceKind::kEmptyCache);
  if (flush != nullptr) {
    EXPECT_EQ(flush->step, 3 + of.count);
  }
  return flush != nullptr;
}

TEST(AdviceLimits, AFlushMustReleaseTheMissingBytes) {
  Trough of{200 * kMiB, 10, 4 * kMiB, 100 * kMiB, 40 * kMiB};
  EXPECT_TRUE(advisesFlush(of, 10 * kMiB, 50 * kMiB));
  EXPECT_FALSE(advisesFlush(of, 10 * kMiB, 52 * kMiB));
}

TEST(AdviceLimits, AFlushMustReleaseATwentieth) {
  for (uint64_t flushed : {20 * kMiB, 18 * kMiB}) {  // of 400, of 398
    Trough of{340 * kMiB, 20, kMiB, 40 * kMiB, flushed};
    EXPECT_EQ(advisesFlush(of, 10 * kMiB, 18 * kMiB), flushed == 20 * kMiB);
  }
}

TEST(AdviceLimits, ATroughIsAFifthLower) {
  for (uint64_t more : {uint64_t{0}, kLess}) {
    Trough of{192 * kMiB, 12, 3 * kMiB + more, 108 * kMiB, 36 * kMiB};
    EXPECT_EQ(advisesFlush(of, 10 * kMiB, 20 * kMiB), more == 0);
  }
}

// A low state before the program held half of what it held at the event is not a trough.
TEST(AdviceLimits, ATroughComesAfterTheWarmUp) {
  for (uint64_t less : {uint64_t{0}, kLess}) {
    TraceBuilder b;
    setSettings(b, "");
    b.segmentAlloc(kA, 100 * kMiB).alloc(kA, 40 * kMiB - less).free(kA, 40 * kMiB - less);
    for (uint64_t i = 0; i < 10; ++i) b.alloc(kA + i * 10 * kMiB, 8 * kMiB);
    b.oom(10 * kMiB, 18 * kMiB);
    EXPECT_EQ(Advised(b).find(AdviceKind::kEmptyCache) != nullptr, less == 0);
  }
}

TEST(AdviceLimits, AThresholdThatIsOneOrNothingIsNone) {
  for (const char* threshold : {"0", "0.001", "0.999", "1"}) {
    TraceBuilder b;
    setSettings(b, std::string("garbage_collection_threshold:") + threshold);
    b.segmentAlloc(kA, 20 * kMiB).alloc(kA, 8 * kMiB);
    bool inside = std::string(threshold).size() > 1;
    EXPECT_EQ(Advised(b).kinds(), inside ? Names{"gc_needs_fraction"} : Names{}) << threshold;
  }
}

TEST(Advice, MessyTracesAbortNothing) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    AnalysedTrace analysed(testing::messyTrace({.seed = seed, .wild = seed % 2 == 0}));
    for (const auto& device : analysed.devices) {
      adviceOn(analysed, *device);
      for (const OomReport& oom : oomsOf(analysed, *device)) {
        adviceOn(analysed, *device, verdictOf(analysed, *device, oom));
      }
    }
  }
}

}  // namespace
}  // namespace tidegauge::analysis
