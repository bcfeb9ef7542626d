#include "model/lives/blocks/longest_lives.h"

#include <algorithm>
#include <map>

namespace tidegauge::model {
namespace {

// One block, wherever it is stored.
struct LifeRef {
  uint64_t begin = 0, end = 0;
  Step* first = nullptr;
  Step* last = nullptr;
  Provenance* provenance = nullptr;
  bool knows_birth = false, knows_death = false;
};

// Lives that are open in the direction of the walk, by address.
class OpenLives {
 public:
  // Calls close(life) for those that overlap the range, and forgets them.
  template <class Close>
  void closeOverlap(uint64_t begin, uint64_t end, Close&& close) {
    auto at = open_.lower_bound(begin);
    if (at != open_.begin() && std::prev(at)->second->end > begin) --at;
    while (at != open_.end() && at->first < end) {
      close(*at->second);
      at = open_.erase(at);
    }
  }
  void insert(const LifeRef& life) { open_.insert_or_assign(life.begin, &life); }
  template <class Close>
  void closeAll(Close&& close) {
    for (auto& [begin, life] : open_) close(*life);
    open_.clear();
  }

 private:
  std::map<uint64_t, const LifeRef*> open_;
};

class LongestLives {
 public:
  LongestLives(Trace& trace, const Device& device, size_t base, std::vector<OlderBlock>& older)
      : trace_(trace), device_(device), steps_(device.steps()) {
    Allocations& a = trace.allocations;
    lives_.reserve(a.size() - base + older.size());
    for (size_t row = base; row < a.size(); ++row) {
      bool freed = (a.flags[row] & kFreeCompletedSeen) != 0 || a.free_requested_step[row] < steps_;
      lives_.push_back({a.address[row], endOf(a.address[row], a.block_bytes[row]),
                        &a.first_step[row], &a.last_step[row], &a.provenance[row],
                        (a.flags[row] & kAllocSeen) != 0,
                        freed || (a.flags[row] & kInFinalState) != 0});
    }
    for (OlderBlock& block : older) {
      bool freed = (block.flags & kFreeCompletedSeen) != 0 || block.free_requested_step < steps_;
      lives_.push_back({block.address, endOf(block.address, block.block_bytes), &block.first_step,
                        &block.last_step, &block.provenance, false,
                        freed || (block.flags & kInFinalState) != 0});
    }
  }

  // Ends that no event shows: where another block or the end of the segment needs the place.
  void extendEnds() {
    std::vector<const LifeRef*> by_birth = sorted([](const LifeRef& life) { return *life.first; });
    OpenLives open;
    auto endAt = [&](Step step) {
      return [step](const LifeRef& life) {
        if (!life.knows_death) *life.last = step;
      };
    };
    size_t next = 0;
    for (Step step = 0; step < steps_; ++step) {
      uint64_t event = device_.event_begin + step;
      if (kSegmentDeaths.has(trace_.events.action[event])) {
        open.closeOverlap(trace_.events.address[event],
                          endOf(trace_.events.address[event], trace_.events.size_bytes[event]),
                          endAt(step));
      }
      for (; next < by_birth.size() && *by_birth[next]->first == step; ++next) {
        open.closeOverlap(by_birth[next]->begin, by_birth[next]->end, endAt(step));
        open.insert(*by_birth[next]);
      }
    }
    // The final state lacks them, and it is the state after the last event.
    Step before_end = steps_ - 1;
    open.closeAll([&](const LifeRef& life) {
      if (!life.knows_death) *life.last = std::max(before_end, *life.first);
    });
  }

  // The same backwards, for beginnings.
  void extendBeginnings() {
    std::vector<const LifeRef*> by_death =
        sorted([&](const LifeRef& life) { return std::min(*life.last, steps_); });
    OpenLives open;
    auto beginAt = [&](Step step) {
      return [step](const LifeRef& life) {
        if (life.knows_birth) return;
        *life.first = step;
        *life.provenance = Provenance::kLost;
      };
    };
    size_t next = by_death.size();
    auto openUntil = [&](Step step) {  // lives that end after it
      for (; next > 0 && std::min(*by_death[next - 1]->last, steps_) >= step; --next) {
        const LifeRef& life = *by_death[next - 1];
        open.closeOverlap(life.begin, life.end, beginAt(std::min(step, steps_ - 1)));
        open.insert(life);
      }
    };
    openUntil(steps_);
    for (Step step = steps_; step-- > 0;) {
      openUntil(step);
      uint64_t event = device_.event_begin + step;
      if (kSegmentBirths.has(trace_.events.action[event])) {
        open.closeOverlap(trace_.events.address[event],
                          endOf(trace_.events.address[event], trace_.events.size_bytes[event]),
                          beginAt(step));
      }
    }
    open.closeAll([&](const LifeRef& life) {
      if (life.knows_birth) return;
      *life.first = 0;
      if (*life.provenance == Provenance::kLost) *life.provenance = Provenance::kBeforeRecording;
    });
  }

 private:
  static uint64_t endOf(uint64_t begin, uint64_t bytes) {
    return bytes > UINT64_MAX - begin ? UINT64_MAX : begin + std::max<uint64_t>(bytes, 1);
  }

  template <class Key>
  std::vector<const LifeRef*> sorted(Key&& key) const {
    std::vector<const LifeRef*> order;
    order.reserve(lives_.size());
    for (const LifeRef& life : lives_) order.push_back(&life);
    std::stable_sort(order.begin(), order.end(),
                     [&](const LifeRef* x, const LifeRef* y) { return key(*x) < key(*y); });
    return order;
  }

  Trace& trace_;
  const Device& device_;
  Step steps_;
  std::vector<LifeRef> lives_;
};

}  // namespace

void drawLongestLives(Trace& trace, const Device& device, size_t base,
                      std::vector<OlderBlock>& older) {
  LongestLives lives(trace, device, base, older);
  if (device.missing.has(Action::kAlloc)) lives.extendBeginnings();
  bool no_frees =
      device.missing.has(Action::kFreeRequested) && device.missing.has(Action::kFreeCompleted);
  if (no_frees) lives.extendEnds();
}

}  // namespace tidegauge::model
