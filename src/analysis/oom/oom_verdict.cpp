#include "analysis/oom/oom_verdict.h"

#include <algorithm>
#include <array>

#include "model/block_size.h"
#include "model/incomplete.h"
#include "model/lives/block_layout.h"
#include "model/recorded_work.h"

namespace tidegauge::analysis {
namespace {

uint64_t minusOrZero(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

// Sums in a hostile file may have any value.
uint64_t plus(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

uint64_t wholeBlocks(uint64_t bytes) {
  if (bytes > model::kMaxRequestBytes) return bytes;
  return std::max(model::kMinBlockBytes, (bytes + model::kMinBlockBytes - 1) /
                                             model::kMinBlockBytes * model::kMinBlockBytes);
}

// The smallest request that the allocator rounds to these bytes.
uint64_t leastRequest(const AllocatorRules& rules, uint64_t rounded_bytes) {
  if (rounded_bytes <= model::kMinBlockBytes) return 1;
  return std::min(rules.largestRequest(rounded_bytes - 1) + 1, rounded_bytes);
}

// The part of a free block that the allocator returns before a request fails: a whole segment, or
// the whole pages of an expandable one.
uint64_t unflushedBytes(const model::Trace& trace, const AllocatorRules& rules,
                        const FreeList& list, const FreeBlock& block) {
  size_t segment = block.segment.index();
  if (list.key.pool != model::PoolId(0) || !trace.segments.pool[segment].valid()) return 0;
  if (!block.expandable) return block.whole_segment ? block.size_bytes : 0;
  uint64_t page = rules.pageBytes(list.key.small);
  uint64_t begin = block.address - trace.segments.address[segment];
  uint64_t first = (begin + page - 1) / page, last = (begin + block.size_bytes) / page;
  return last > first ? (last - first) * page : 0;
}

class Judge {
 public:
  Judge(const AnalysedTrace& analysed, const DeviceAnalysis& device, const OomReport& oom,
        const VerdictOptions& options)
      : analysed_(analysed),
        trace_(analysed.trace),
        device_(device),
        oom_(oom),
        layout_(blocksAt(analysed.trace, device.device, device.live, oom_.step)),
        v_{.step = oom_.step, .free = freeBlocks(analysed.trace, layout_)},
        least_refused_bytes_(options.least_refused_bytes) {
    v_.total_bytes = options.total_bytes;
    v_.least_total_bytes = std::max({device.totals.peakReserved().bytes, options.seen_ceiling_bytes,
                                     oom.ceilingBytes().value_or(0)});
  }

  OomVerdict judge() {
    measure();
    findKey();
    findPools();
    findPieces();
    lookBefore();
    findLastPhase();
    if (v_.request_bytes && !hasAllocator()) addDriverRows();
    bool rules_known = device_.device.kind == model::DeviceKind::kGpu;
    if (v_.request_bytes && hasAllocator() && rules_known) addRows();
    std::stable_sort(v_.rows.begin(), v_.rows.end(),
                     [](const VerdictRow& a, const VerdictRow& b) { return a.bytes > b.bytes; });
    return std::move(v_);
  }

 private:
  bool hasAllocator() const { return v_.allocator != AllocatorKind::kDriver; }

  void measure() {
    v_.request_bytes = oom_.requested_bytes;
    v_.device = device_.device.ordinal;
    v_.allocator = allocatorOf(device_.device);
    hearDriver();
    v_.driver_bytes = oom_.device_free_bytes;
    v_.reserved_bytes = oom_.totals.reserved_bytes;
    for (const SegmentContents& contents : layout_.segments()) {
      for (size_t i = 0; i < contents.blocks.size(); ++i) {
        const LayoutBlock& block = contents.blocks[i];
        if (!isLive(block)) continue;
        uint64_t bytes = contents.bytesOf(i);
        (contents.segment.valid() ? v_.live_bytes : v_.outside_bytes) += bytes;
        v_.uncertain_bytes += model::blockSlackBytes(trace_, block.allocation.index());
        v_.rounding_bytes += minusOrZero(bytes, wholeBlocks(block.requested_bytes));
      }
    }
    v_.pinned = pinnedBy(trace_, layout_);
    v_.free_bytes = v_.free.bytes;
    if (!v_.driver_bytes && holdsAllOfReserved()) {
      v_.most_driver_bytes = minusOrZero(*v_.total_bytes, v_.reserved_bytes);
    }
    if (const auto& fraction = v_.free.rules.memory_fraction;
        hasAllocator() && fraction && *fraction < 1) {
      auto device_bytes = static_cast<double>(
          v_.total_bytes.value_or(std::max(v_.least_total_bytes, v_.ceilingBytes().value_or(0))));
      v_.limit_bytes = std::max(static_cast<uint64_t>(device_bytes * std::max(*fraction, 0.0)),
                                device_.totals.peakReserved().bytes);
    }
    if (v_.total_bytes && v_.driver_bytes) {
      v_.not_on_device_bytes =
          minusOrZero(plus(v_.reserved_bytes, *v_.driver_bytes), *v_.total_bytes);
    }
  }

  void hearDriver() {
    v_.driver_free = oom_.driver_free;
    if (!v_.driver_free) return;
    if (!v_.total_bytes) v_.total_bytes = v_.driver_free->total_bytes;
    int64_t time_us = device_.time.timeOf(v_.step);
    if (time_us != model::kNoTime) v_.driver_free_before_us = time_us - v_.driver_free->time_us;
  }

  // All reserved memory is on the device, so no other process can have it.
  bool holdsAllOfReserved() const {
    const auto& work = analysed_.trace.work;
    bool sure = work == nullptr || !model::incompleteOf(*work).touches({model::Figures::kMemory});
    return sure && v_.total_bytes && *v_.total_bytes >= v_.reserved_bytes;
  }

  void findKey() {
    uint64_t event = device_.device.event_begin + oom_.step;
    model::PoolId pool(0);
    if (!trace_.events.pool.empty() && trace_.events.pool[event].valid()) {
      pool = trace_.events.pool[event];
      v_.pool_recorded = true;
    }
    v_.key = v_.free.keyFor(v_.request_bytes.value_or(0), pool, trace_.events.stream[event]);
    if (!v_.request_bytes) return;
    uint64_t request = *v_.request_bytes;
    if (!hasAllocator()) {
      v_.wanted_bytes = request;
      v_.least_request_bytes = request;
      return;
    }
    v_.wanted_bytes = driverBytes(v_.free, request, v_.key.pool, v_.key.stream);
    v_.least_request_bytes = wholeBlocks(leastRequest(v_.free.rules, request));
  }

  void findPools() {
    v_.pools = privatePools(trace_, layout_);
    std::erase_if(v_.pools, [&](const PoolShare& share) { return share.pool == v_.key.pool; });
    for (const PoolShare& share : v_.pools) {
      v_.held_bytes += share.free_bytes;
      v_.held_whole_bytes += share.whole_bytes;
    }
    if (!hasAllocator() || !v_.request_bytes) return;
    v_.rests = segmentRests(trace_, layout_, v_.free.rules, v_.key.pool);
    bool flushed = oom_.given_back_segments > 0 || oom_.completed > 0;
    if (flushed || fitting() != nullptr || !v_.driver_bytes) return;
    uint64_t bytes = 0;
    for (const FreeList& list : v_.free.lists) {
      for (const FreeBlock& block : list.blocks)
        bytes += unflushedBytes(trace_, v_.free.rules, list, block);
    }
    // Otherwise the flush would not have helped, or a limit refused the request.
    uint64_t driver = *v_.driver_bytes, wanted = *v_.wanted_bytes;
    if (driver < wanted && plus(driver, bytes) >= wanted) v_.unflushed_bytes = bytes;
  }

  const FreeBlock* fitting() const {
    return fit(v_.free, *v_.request_bytes, v_.key.pool, v_.key.stream);
  }

  void findPieces() {
    for (const FreeList& list : v_.free.lists) {
      for (const FreeBlock& block : list.blocks) {
        Unfit why = v_.whyUnfit(trace_, list, block);
        if (why == Unfit::kElsewhere) elsewhere_bytes_ += block.size_bytes;
        if (why != Unfit::kPiece) continue;
        v_.pieces.bytes += block.size_bytes;
        ++v_.pieces.count;
        v_.pieces.largest_bytes = std::max(v_.pieces.largest_bytes, block.size_bytes);
      }
    }
  }

  void lookBefore() {
    v_.before = oom_.totals;
    v_.free_before_bytes = v_.free_bytes;
    if (oom_.first_step == 0 || oom_.first_step == oom_.step) return;
    v_.before_step = oom_.first_step - 1;
    v_.before = device_.totals.at(*v_.before_step);
    v_.free_before_bytes =
        freeSums(trace_, blocksAt(trace_, device_.device, device_.live, *v_.before_step)).bytes;
  }

  void findLastPhase() {
    const Phase* inner = nullptr;
    for (const Phase& phase : device_.phases) {
      if (phase.begin_step > v_.step) break;
      if (v_.step < phase.end_step && (inner == nullptr || phase.depth >= inner->depth)) {
        inner = &phase;
      }
    }
    if (inner == nullptr) return;
    std::vector<uint32_t> born;
    for (const LayoutBlock& block : layout_.blocks()) {
      if (!isLive(block)) continue;
      uint32_t row = block.allocation.value;
      bool seen = trace_.allocations.has(row, model::kAllocSeen);
      if (seen && trace_.allocations.first_step[row] >= inner->begin_step) born.push_back(row);
    }
    LastPhase& last = v_.last_phase.emplace();
    last.annotation = inner->annotation;
    last.begin_step = inner->begin_step;
    last.blocks = born.size();
    std::vector<StackGroup> groups = groupByStack(trace_, born);
    for (const StackGroup& group : groups) last.live_bytes += group.block_bytes;
    if (!groups.empty()) {
      last.stack = groups[0].stack;
      last.stack_bytes = groups[0].block_bytes;
    }
  }

  void addRows() {
    uint64_t request = *v_.request_bytes;
    const FreeBlock* fits = fitting();
    if (fits != nullptr) add(Verdict::kFlaw, fits->size_bytes, v_.uncertain_bytes == 0);
    if (elsewhere_bytes_ > 0) add(Verdict::kOtherPool, elsewhere_bytes_, v_.uncertain_bytes == 0);

    bool driver_had_it = v_.driver_bytes && *v_.driver_bytes >= *v_.wanted_bytes;
    if (driver_had_it) {
      add(Verdict::kCap, *v_.driver_bytes, true);
      boundCap();
    }
    // Unknown bytes of the driver may be 0: what is true for 0 is certain. Where the driver had
    // enough, the refusal itself shows the limit (boundCap).
    std::optional<uint64_t> usable =
        driver_had_it || !v_.driver_bytes ? v_.driver_bytes : v_.usableDriverBytes();
    uint64_t could_have = plus(v_.free_bytes, usable.value_or(0));
    bool bytes_were_there = could_have >= request;
    uint64_t driver = usable.value_or(0);
    bool pieces_were_enough = plus(v_.pieces.bytes, driver) >= request;
    bool is_open = !driver_had_it && fits == nullptr;
    if (v_.unflushed_bytes > 0) add(Verdict::kNoFlush, v_.unflushed_bytes, true);
    if (is_open && v_.held_bytes > 0) addHeld(request, driver, pieces_were_enough);
    bool is_explained =
        elsewhere_bytes_ > 0 || v_.unflushed_bytes > 0 || v_.find(Verdict::kHeldInPool) != nullptr;
    if (pieces_were_enough && is_open && (v_.pieces.count > 0 || !is_explained)) {
      add(Verdict::kFragmentation, v_.pieces.bytes,
          plus(minusOrZero(v_.pieces.bytes, v_.uncertain_bytes), driver) >= request);
    }
    if (!bytes_were_there && v_.driver_bytes) {
      // Without the waste inside blocks, and without rounding up the request.
      uint64_t saved = plus(v_.rounding_bytes, request - std::min(request, v_.least_request_bytes));
      bool waste = saved >= request - could_have;
      if (uint64_t most = mostEver(); v_.least_request_bytes > most) {
        add(Verdict::kNeverFits, request - most, true);
      } else if (waste) {
        add(Verdict::kWaste, saved, true);
      } else {
        add(Verdict::kCapacity, request - could_have, true);
      }
    }
    // The driver's bytes are unknown, but the device is too small in any case.
    if (!bytes_were_there && !v_.driver_bytes && v_.total_bytes) {
      if (v_.least_request_bytes > *v_.total_bytes)
        add(Verdict::kNeverFits, request - *v_.total_bytes, true);
      else if (uint64_t most = plus(v_.free_bytes, v_.most_driver_bytes.value_or(UINT64_MAX));
               most < request)
        add(Verdict::kCapacity, request - most, true);
    }
    if (v_.driver_bytes && !driver_had_it) addOthers(request, could_have);
  }

  // Private pools keep enough: their whole segments would do, or the free bytes do only with
  // theirs.
  void addHeld(uint64_t request, uint64_t driver, bool pieces_were_enough) {
    bool whole = v_.wanted_bytes && plus(driver, v_.held_whole_bytes) >= *v_.wanted_bytes;
    uint64_t with_held = plus(plus(v_.pieces.bytes, driver), v_.held_bytes);
    // Without a whole segment, what the pools keep may be in pieces.
    if (whole || (!pieces_were_enough && with_held >= request))
      add(Verdict::kHeldInPool, v_.held_bytes, whole && v_.uncertain_bytes == 0);
  }

  // The most that this process could have had: the limit, T; else the largest ceiling.
  uint64_t mostEver() const {
    if (v_.limit_bytes) return *v_.limit_bytes;
    if (v_.total_bytes) return *v_.total_bytes;
    return std::max(v_.least_total_bytes, v_.ceilingBytes().value_or(0));
  }

  // Nothing is free inside segments and nothing is rounded: only the driver's free bytes matter.
  void addDriverRows() {
    uint64_t request = *v_.request_bytes;
    std::optional<uint64_t> most = v_.driver_bytes ? v_.driver_bytes : v_.most_driver_bytes;
    if (!most || *most >= request) return;
    bool never_was = holdsAllOfReserved() && plus(v_.reserved_bytes, request) > *v_.total_bytes;
    bool is_sure = !v_.driver_free || never_was;
    if (request > mostEver()) return add(Verdict::kNeverFits, request - mostEver(), is_sure);
    add(Verdict::kCapacity, request - *most, is_sure);
    if (v_.driver_bytes && v_.total_bytes) {
      addOthers(request, *v_.driver_bytes);
      v_.rows.back().certain = is_sure;
    }
  }

  // Who else holds memory? If the device's size is known: everything outside this allocator. A
  // context and its libraries are not a reason, so at least a tenth of the device must be missing.
  // If not: what this process could have had at another time and cannot have now.
  void addOthers(uint64_t request, uint64_t could_have) {
    uint64_t ceiling = *v_.ceilingBytes();
    uint64_t total = v_.total_bytes.value_or(v_.least_total_bytes);
    uint64_t other = minusOrZero(total, ceiling);
    uint64_t lacking = could_have < request ? request - could_have : v_.missingBytes().value_or(0);
    bool fits = plus(plus(v_.live_bytes, v_.outside_bytes), request) <= total;
    bool large = v_.total_bytes ? other > total / 10 : other > 0;
    if (fits && large && other >= lacking) add(Verdict::kOthers, other, true);
  }

  void boundCap() {
    CapBounds cap;
    cap.most_reserved_bytes = cap.least_bytes = device_.totals.peakReserved().bytes;
    if (const auto& fraction = v_.free.rules.memory_fraction; fraction && *fraction < 1) {
      cap.fraction = fraction;
      cap.least_bytes = std::max(cap.least_bytes, v_.limit_bytes.value_or(0));
    }
    // The limit is tested against the size of a whole segment, even if pages would be mapped.
    cap.needed_bytes = plus(v_.reserved_bytes, v_.free.rules.segmentBytes(*v_.request_bytes));
    cap.below_bytes = std::min(cap.needed_bytes, least_refused_bytes_);
    uint64_t needed = plus(v_.live_bytes, *v_.request_bytes);
    if (cap.isFixed()) {
      if (plus(needed, v_.uncertain_bytes) <= cap.least_bytes) cap.would_fit = true;
      if (needed >= cap.below_bytes) cap.would_fit = false;
    }
    v_.cap = cap;
  }

  void add(Verdict verdict, uint64_t bytes, bool certain) {
    v_.rows.push_back({verdict, bytes, certain});
  }

  const AnalysedTrace& analysed_;
  const model::Trace& trace_;
  const DeviceAnalysis& device_;
  const OomReport& oom_;
  SegmentedLayout layout_;
  OomVerdict v_;
  uint64_t elsewhere_bytes_ = 0;
  uint64_t least_refused_bytes_;
};

}  // namespace

std::string_view name(Verdict verdict) {
  constexpr std::array<std::string_view, 10> kNames = {
      "fragmentation", "other_pool", "capacity",     "internal_waste", "others",
      "cap",           "flaw",       "held_in_pool", "no_flush",       "never_fits"};
  return kNames[static_cast<size_t>(verdict)];
}

std::optional<uint64_t> OomVerdict::ceilingBytes() const {
  if (!driver_bytes) return std::nullopt;
  return plus(reserved_bytes, *driver_bytes);
}

std::optional<uint64_t> OomVerdict::otherBytes() const {
  std::optional<uint64_t> ceiling = ceilingBytes();
  if (!total_bytes || !ceiling || *total_bytes < *ceiling) return std::nullopt;
  return *total_bytes - *ceiling;
}

std::optional<uint64_t> OomVerdict::missingBytes() const {
  if (!wanted_bytes || !driver_bytes || *driver_bytes >= *wanted_bytes) return std::nullopt;
  return *wanted_bytes - *driver_bytes;
}

int64_t OomVerdict::differenceBytes() const {
  return static_cast<int64_t>(reserved_bytes - (live_bytes + free_bytes));
}

const VerdictRow* OomVerdict::find(Verdict verdict) const {
  auto row = std::find_if(rows.begin(), rows.end(),
                          [&](const VerdictRow& r) { return r.verdict == verdict; });
  return row == rows.end() ? nullptr : &*row;
}

Unfit OomVerdict::whyUnfit(const model::Trace& trace, const FreeList& list,
                           const FreeBlock& block) const {
  if (list.key.pool != key.pool && list.key.pool != model::PoolId(0)) return Unfit::kHeld;
  if (unflushed_bytes > 0 && unflushedBytes(trace, free.rules, list, block) > 0)
    return Unfit::kUnflushed;
  if (!request_bytes || list.key == key || list.key.small != key.small) return Unfit::kPiece;
  bool skipped = block.expandable && !free.rules.expandable;
  bool serves =
      !skipped && free.rules.allows(free.rules.roundedBytes(*request_bytes), block.size_bytes);
  return serves ? Unfit::kElsewhere : Unfit::kPiece;
}

std::optional<uint64_t> OomVerdict::usableDriverBytes() const {
  std::optional<uint64_t> driver = driver_bytes ? driver_bytes : most_driver_bytes;
  if (!driver || !limit_bytes) return driver;
  return std::min(*driver, minusOrZero(*limit_bytes, reserved_bytes));
}

uint64_t OomVerdict::lackingBytes() const {
  bool had_it = driver_bytes && wanted_bytes && *driver_bytes >= *wanted_bytes;
  std::optional<uint64_t> driver = had_it ? driver_bytes : usableDriverBytes();
  if (!request_bytes || !driver) return 0;
  return minusOrZero(*request_bytes, plus(free_bytes, *driver));
}

bool OomVerdict::mayBeUnmapped(const model::Trace& trace, const PoolShare& share) const {
  bool is_short = find(Verdict::kCapacity) != nullptr || find(Verdict::kWaste) != nullptr;
  return is_short && share.live_bytes > 0 && mayHaveOwnAllocator(trace, share.pool);
}

uint64_t OomVerdict::unmappedBytes(const model::Trace& trace) const {
  uint64_t sum = 0;
  for (const PoolShare& share : pools)
    if (mayBeUnmapped(trace, share)) sum += share.live_bytes;
  return sum;
}

uint64_t unmappedBytes(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                       std::optional<uint64_t> total_bytes) {
  if (!mayHaveOwnAllocators(analysed.trace)) return 0;
  std::vector<OomReport> ooms = oomsOf(analysed, device, 1);
  if (ooms.empty()) return 0;
  VerdictOptions options = verdictOptions(analysed, device, ooms, total_bytes);
  return verdictOf(analysed, device, ooms[worstOf(ooms)], options).unmappedBytes(analysed.trace);
}

VerdictOptions verdictOptions(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                              const std::vector<OomReport>& ooms,
                              std::optional<uint64_t> total_bytes) {
  VerdictOptions options{.total_bytes = total_bytes};
  // What was reserved was on the device, unless a pool's own allocator unmapped it.
  uint64_t reserved_bytes = device.totals.peakReserved().bytes;
  if (total_bytes && *total_bytes < reserved_bytes && !mayHaveOwnAllocators(analysed.trace))
    options.total_bytes.reset();
  if (!options.total_bytes && device.device.total_bytes != model::kUnknownBytes) {
    options.total_bytes = device.device.total_bytes;
  }
  AllocatorRules rules = rulesOf(analysed.trace);
  for (const OomReport& oom : ooms) {
    options.seen_ceiling_bytes =
        std::max(options.seen_ceiling_bytes, oom.ceilingBytes().value_or(0));
    if (!oom.known()) continue;
    uint64_t segment_bytes = rules.segmentBytes(*oom.requested_bytes);
    if (*oom.device_free_bytes >= segment_bytes)
      options.least_refused_bytes =
          std::min(options.least_refused_bytes, plus(oom.totals.reserved_bytes, segment_bytes));
  }
  return options;
}

OomVerdict verdictOf(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                     const OomReport& oom, const VerdictOptions& options) {
  return Judge(analysed, device, oom, options).judge();
}

}  // namespace tidegauge::analysis
