#include "support/messy_trace.h"

#include <random>

#include "support/trace_builder.h"

namespace tidegauge::testing {
namespace {

using model::Action;
using model::BlockState;
using model::SegmentKind;

class Mess {
 public:
  explicit Mess(const MessOptions& options) : random_(options.seed), options_(options) {}

  model::Trace make() {
    builder_.settings().expandable_segments = chance(4);
    if (chance(4)) builder_.settings().max_split_bytes = uint64_t{20} << 20;
    if (chance(4)) builder_.settings().roundup_power2_divisions.fill(4);
    int devices = chance(3) ? 2 : 1;
    for (int ordinal = 0; ordinal < devices; ++ordinal) {
      builder_.device(ordinal);
      int events = chance(10) ? 0 : options_.events;
      if (chance(3)) builder_.time(1'000'000);
      for (int i = 0; i < events; ++i) addEvent();
      for (uint64_t i = below(6); i > 0; --i) addFinalSegment();
    }
    return builder_.build();
  }

 private:
  uint64_t below(uint64_t bound) { return random_() % bound; }
  bool chance(uint64_t one_in) { return below(one_in) == 0; }

  uint64_t address() {
    if (options_.wild && chance(6)) return random_();
    if (options_.wild && chance(6)) return UINT64_MAX - below(1 << 22);
    return kBase + below(40) * (512 << below(14));
  }

  uint64_t size() {
    if (chance(30)) return 0;
    if (options_.wild && chance(6)) return random_() >> below(64);
    if (options_.wild && chance(8)) return uint64_t{1} << below(64);
    return below(uint64_t{1} << (9 + below(16)));
  }

  void addEvent() {
    constexpr Action kUsual[] = {
        Action::kAlloc,         Action::kAlloc,       Action::kFreeRequested,
        Action::kFreeCompleted, Action::kFree,        Action::kSegmentAlloc,
        Action::kSegmentFree,   Action::kSegmentMap,  Action::kSegmentUnmap,
        Action::kOom,           Action::kSnapshot,    Action::kAnnotate,
        Action::kUserDefined,   Action::kFirstUnknown};
    builder_.stack({"f@a.py:" + std::to_string(below(5))});
    // Half of the frees fit an earlier alloc, so that lives also end as they should.
    if (!live_.empty() && chance(3)) {
      size_t index = below(live_.size());
      auto [at, bytes] = live_[index];
      if (!chance(5)) builder_.freeRequested(at, bytes);
      if (!chance(5)) builder_.freeCompleted(at, bytes);
      if (!chance(8)) live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(index));
      return;
    }
    Action action = kUsual[below(std::size(kUsual))];
    uint64_t at = address();
    uint64_t bytes = size();
    if (action == Action::kAlloc) live_.emplace_back(at, bytes);
    if (!chance(12)) builder_.event(action, at, bytes);
  }

  void addFinalSegment() {
    SegmentKind kind = chance(3)   ? SegmentKind::kExpandable
                       : chance(2) ? SegmentKind::kSmall
                                   : SegmentKind::kLarge;
    builder_.finalSegment(address(), size(), kind);
    for (uint64_t i = below(5); i > 0; --i) {
      auto state = static_cast<BlockState>(below(4));
      uint64_t bytes = size();
      builder_.block(bytes, state, chance(4) ? size() : bytes);
    }
  }

  static constexpr uint64_t kBase = 0x7f0000000000;
  std::mt19937_64 random_;
  MessOptions options_;
  TraceBuilder builder_;
  std::vector<std::pair<uint64_t, uint64_t>> live_;
};

}  // namespace

model::Trace messyTrace(const MessOptions& options) { return Mess(options).make(); }

}  // namespace tidegauge::testing
