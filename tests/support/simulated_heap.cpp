#include "support/simulated_heap.h"

#include <algorithm>
#include <map>
#include <random>

#include "support/trace_builder.h"

namespace tidegauge::testing {
namespace {

using model::Action;
using model::BlockState;

constexpr uint64_t kMiB = uint64_t{1} << 20;

struct Block {
  uint64_t size = 0;
  uint64_t requested = 0;
  int stack = 0;
  bool pending = false;
};

// One cudaMalloc segment, or one reservation of addresses with mapped pages.
struct Arena {
  uint64_t size = 0;
  uint64_t page = 0;
  bool small = false;
  std::vector<bool> mapped;
  std::map<uint64_t, Block> blocks;
};

struct Recorded {
  Action action;
  uint64_t address;
  uint64_t size;
  int stack;
};

class Heap {
 public:
  explicit Heap(const HeapOptions& options) : options_(options), random_(options.seed) {}

  SimulatedTrace run() {
    if (options_.expandable) {
      addReservation(true);
      addReservation(false);
    }
    while (static_cast<int>(events_.size()) < options_.events) act();
    return write();
  }

 private:
  uint64_t pick(uint64_t below) { return random_() % below; }

  void act() {
    uint64_t dice = pick(100);
    if (dice < 2) {
      emptyCache();
    } else if (dice < 8) {
      completePending();
    } else if (dice < 55 || live_.empty()) {
      allocate(request());
    } else {
      release();
    }
  }

  uint64_t request() {
    switch (pick(4)) {
      case 0:
        return 1 + pick(4000);
      case 1:
        return 1 + pick(kMiB);
      case 2:
        return kMiB + 1 + pick(12 * kMiB);
      default:
        return 10 * kMiB + pick(40 * kMiB);
    }
  }

  void record(Action action, uint64_t address, uint64_t size, int stack) {
    events_.push_back({action, address, size, stack});
    truth_.push_back(now_);
  }

  void allocate(uint64_t requested) {
    uint64_t rounded = (requested + 511) / 512 * 512;
    bool small = rounded <= kMiB;
    int stack = static_cast<int>(pick(static_cast<uint64_t>(options_.stacks)));
    auto [arena_address, at] = find(rounded, small);
    if (at == 0) {
      if (options_.expandable) return;
      arena_address = addSegment(rounded, small, stack);
      at = arena_address;
    }
    Arena& arena = arenas_[arena_address];
    if (options_.expandable) mapPages(arena_address, arena, at, rounded, stack);
    uint64_t gap = gapAt(arena_address, arena, at);
    bool split = small || options_.expandable || gap - rounded > kMiB;
    uint64_t size = split ? rounded : gap;
    arena.blocks[at] = {size, requested, stack, false};
    live_.push_back(at);
    now_.requested_bytes += requested;
    now_.active_bytes += size;
    now_.allocated_bytes += size;
    record(Action::kAlloc, at, requested, stack);
  }

  // The first place (lowest address) with that many free bytes.
  std::pair<uint64_t, uint64_t> find(uint64_t rounded, bool small) {
    for (auto& [address, arena] : arenas_) {
      if (arena.small != small) continue;
      uint64_t at = address;
      while (true) {
        if (gapAt(address, arena, at) >= rounded) return {address, at};
        auto next = arena.blocks.lower_bound(at);
        if (next == arena.blocks.end()) break;
        at = next->first + next->second.size;
      }
    }
    return {0, 0};
  }

  static uint64_t gapAt(uint64_t address, const Arena& arena, uint64_t at) {
    auto next = arena.blocks.lower_bound(at);
    return (next == arena.blocks.end() ? address + arena.size : next->first) - at;
  }

  uint64_t addSegment(uint64_t rounded, bool small, int stack) {
    Arena arena;
    arena.small = small;
    arena.size = small                 ? 2 * kMiB
                 : rounded < 10 * kMiB ? 20 * kMiB
                                       : (rounded + 2 * kMiB - 1) / (2 * kMiB) * (2 * kMiB);
    uint64_t address = next_address_;
    // Sometimes an address is reused, as by the real driver.
    for (uint64_t old : returned_) {
      bool taken = old + arena.size > next_address_;
      for (auto& [other, a] : arenas_) taken |= old < other + a.size && other < old + arena.size;
      if (!taken && pick(2) == 0) address = old;
    }
    if (address == next_address_) next_address_ += arena.size + pick(3) * 2 * kMiB;
    now_.reserved_bytes += arena.size;
    uint64_t size = arena.size;
    arenas_[address] = std::move(arena);
    record(Action::kSegmentAlloc, address, size, stack);
    return address;
  }

  void addReservation(bool small) {
    Arena arena;
    arena.small = small;
    arena.page = small ? 2 * kMiB : 20 * kMiB;
    arena.mapped.resize(small ? 64 : 100);
    arena.size = arena.page * arena.mapped.size();
    uint64_t size = arena.size;
    arenas_[next_address_] = std::move(arena);
    next_address_ += size + 64 * kMiB;
  }

  void mapPages(uint64_t address, Arena& arena, uint64_t at, uint64_t size, int stack) {
    uint64_t first = (at - address) / arena.page;
    uint64_t last = (at - address + size - 1) / arena.page;
    for (uint64_t page = first; page <= last; ++page) {
      if (arena.mapped[page]) continue;
      uint64_t end = page;
      while (end <= last && !arena.mapped[end]) arena.mapped[end++] = true;
      now_.reserved_bytes += (end - page) * arena.page;
      record(Action::kSegmentMap, address + page * arena.page, (end - page) * arena.page, stack);
    }
  }

  void release() {
    size_t index = pick(live_.size());
    uint64_t at = live_[index];
    live_.erase(live_.begin() + static_cast<ptrdiff_t>(index));
    Block& block = arenaOf(at)->second.blocks[at];
    now_.allocated_bytes -= block.size;
    record(Action::kFreeRequested, at, block.requested, block.stack);
    block.pending = true;
    pending_.push_back(at);
    if (!options_.late_frees || pick(4) != 0) completePending();
  }

  void completePending() {
    for (uint64_t at : pending_) {
      Arena& arena = arenaOf(at)->second;
      Block block = arena.blocks[at];
      arena.blocks.erase(at);
      now_.requested_bytes -= block.requested;
      now_.active_bytes -= block.size;
      record(Action::kFreeCompleted, at, block.requested, block.stack);
    }
    pending_.clear();
  }

  std::map<uint64_t, Arena>::iterator arenaOf(uint64_t at) {
    return std::prev(arenas_.upper_bound(at));
  }

  void emptyCache() {
    completePending();
    for (auto it = arenas_.begin(); it != arenas_.end();) {
      if (options_.expandable) {
        unmapFree(it->first, it->second);
        ++it;
      } else if (it->second.blocks.empty()) {
        now_.reserved_bytes -= it->second.size;
        record(Action::kSegmentFree, it->first, it->second.size, 0);
        returned_.push_back(it->first);
        it = arenas_.erase(it);
      } else {
        ++it;
      }
    }
  }

  void unmapFree(uint64_t address, Arena& arena) {
    auto isFree = [&](uint64_t page) {
      if (page >= arena.mapped.size() || !arena.mapped[page]) return false;
      uint64_t begin = address + page * arena.page;
      auto next = arena.blocks.lower_bound(begin + arena.page);
      if (next == arena.blocks.begin()) return true;
      --next;
      return next->first + next->second.size <= begin;
    };
    for (uint64_t page = 0; page < arena.mapped.size(); ++page) {
      uint64_t end = page;
      while (isFree(end)) arena.mapped[end++] = false;
      if (end == page) continue;
      now_.reserved_bytes -= (end - page) * arena.page;
      record(Action::kSegmentUnmap, address + page * arena.page, (end - page) * arena.page, 0);
      page = end;
    }
  }

  SimulatedTrace write() {
    TraceBuilder builder;
    SimulatedTrace result;
    builder.settings().expandable_segments = options_.expandable;
    size_t from = static_cast<size_t>(options_.drop_first);
    from = std::min(from, events_.size());
    builder.time(1'700'000'000'000'000);
    for (size_t i = from; i < events_.size(); ++i) {
      const Recorded& e = events_[i];
      if (options_.skip.has(e.action)) continue;
      result.truth.push_back(truth_[i]);
      setStack(builder, e.stack);
      builder.event(e.action, e.address, e.size);
    }
    for (auto& [address, arena] : arenas_) writeFinal(builder, address, arena);
    result.trace = builder.build();
    result.whole_truth.assign(truth_.begin() + static_cast<ptrdiff_t>(from), truth_.end());
    if (from > 0) result.initial = truth_[from - 1];
    return result;
  }

  static void setStack(TraceBuilder& builder, int stack) {
    builder.stack({"f" + std::to_string(stack) + "@model.py:" + std::to_string(stack + 1),
                   "main@train.py:7"});
  }

  void writeFinal(TraceBuilder& builder, uint64_t address, const Arena& arena) {
    if (!options_.expandable) {
      writeSegment(builder, arena, address, address + arena.size,
                   arena.small ? model::SegmentKind::kSmall : model::SegmentKind::kLarge);
      return;
    }
    for (uint64_t page = 0; page < arena.mapped.size(); ++page) {
      uint64_t end = page;
      while (end < arena.mapped.size() && arena.mapped[end]) ++end;
      if (end == page) continue;
      writeSegment(builder, arena, address + page * arena.page, address + end * arena.page,
                   model::SegmentKind::kExpandable);
      page = end;
    }
  }

  void writeSegment(TraceBuilder& builder, const Arena& arena, uint64_t begin, uint64_t end,
                    model::SegmentKind kind) {
    setStack(builder, 0);
    builder.finalSegment(begin, end - begin, kind);
    uint64_t at = begin;
    for (auto it = arena.blocks.lower_bound(begin); it != arena.blocks.end() && it->first < end;
         ++it) {
      if (it->first > at) builder.block(it->first - at, BlockState::kInactive);
      setStack(builder, it->second.stack);
      builder.block(
          it->second.size,
          it->second.pending ? BlockState::kActivePendingFree : BlockState::kActiveAllocated,
          it->second.requested);
      at = it->first + it->second.size;
    }
    if (at < end) builder.block(end - at, BlockState::kInactive);
  }

  HeapOptions options_;
  std::mt19937_64 random_;
  std::map<uint64_t, Arena> arenas_;  // by address
  std::vector<uint64_t> live_, pending_, returned_;
  std::vector<Recorded> events_;
  std::vector<analysis::Totals> truth_;
  analysis::Totals now_;
  uint64_t next_address_ = 0x7f0000000000;
};

}  // namespace

SimulatedTrace simulate(const HeapOptions& options) { return Heap(options).run(); }

}  // namespace tidegauge::testing
