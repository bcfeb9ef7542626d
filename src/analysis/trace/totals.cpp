#include "analysis/trace/totals.h"

#include <algorithm>
#include <array>

#include "analysis/trace/live_set.h"
#include "base/threads/parallel.h"
#include "model/columns/fetch.h"

namespace tidegauge::analysis {
namespace {

using model::Action;
using model::Allocations;

// A loss is added as 2^64 − bytes: unsigned sums wrap around, so the result is exact.
void add(Totals& totals, const Totals& change) {
  totals.requested_bytes += change.requested_bytes;
  totals.active_bytes += change.active_bytes;
  totals.allocated_bytes += change.allocated_bytes;
  totals.reserved_bytes += change.reserved_bytes;
}
uint64_t minus(uint64_t bytes) { return uint64_t{0} - bytes; }

void widenReserved(Span& span, Step step, uint64_t reserved, bool first) {
  if (first || reserved > span.reserved_max) {
    span.reserved_max = reserved;
    span.reserved_max_step = step;
  }
  if (first || reserved < span.reserved_min) span.reserved_min = reserved;
}

void widen(Span& span, Step step, const Totals& totals, bool first) {
  if (first || totals.active_bytes > span.active_max) {
    span.active_max = totals.active_bytes;
    span.active_max_step = step;
  }
  if (first || totals.requested_bytes > span.requested_max) {
    span.requested_max = totals.requested_bytes;
    span.requested_max_step = step;
  }
  if (first || totals.allocated_bytes > span.allocated_max) {
    span.allocated_max = totals.allocated_bytes;
  }
  if (first || totals.active_bytes < span.active_min) span.active_min = totals.active_bytes;
  widenReserved(span, step, totals.reserved_bytes, first);
}

void join(Span& span, const Span& later, bool first) {
  if (first) {
    span = later;
    return;
  }
  if (later.active_max > span.active_max) {
    span.active_max = later.active_max;
    span.active_max_step = later.active_max_step;
  }
  if (later.reserved_max > span.reserved_max) {
    span.reserved_max = later.reserved_max;
    span.reserved_max_step = later.reserved_max_step;
  }
  if (later.requested_max > span.requested_max) {
    span.requested_max = later.requested_max;
    span.requested_max_step = later.requested_max_step;
  }
  span.allocated_max = std::max(span.allocated_max, later.allocated_max);
  span.active_min = std::min(span.active_min, later.active_min);
  span.reserved_min = std::min(span.reserved_min, later.reserved_min);
}

// Whether a part of `other` could change `span`: by exceeding one of its extremes, or by reaching a
// maximum earlier.
bool mayWiden(const Span& span, const Span& other, bool earlier) {
  auto reaches = [&](uint64_t most, uint64_t others) {
    return others > most || (earlier && others == most);
  };
  return reaches(span.active_max, other.active_max) ||
         reaches(span.reserved_max, other.reserved_max) ||
         reaches(span.requested_max, other.requested_max) ||
         other.allocated_max > span.allocated_max || other.active_min < span.active_min ||
         other.reserved_min < span.reserved_min;
}

// True if the event of step `step` requests to free or frees the row, so that the cursor finds the
// change in the events. An allocation is not asked: it changes nothing else, even if its block ends
// at once.
bool eventNames(const model::Trace& trace, const model::Device& device, Step step, uint64_t row) {
  if (step >= device.steps()) return false;
  uint64_t event = device.event_begin + step;
  return model::kFrees.has(trace.events.action[event]) && trace.events.subject[event] == row;
}

// A segment that the first event allocates did not exist before it.
bool isGivenFirst(const model::Trace& trace, const model::Device& device, uint64_t row) {
  if (device.steps() == 0) return false;
  const model::Events& events = trace.events;
  uint64_t event = device.event_begin;
  if (events.action[event] != Action::kSegmentAlloc && events.action[event] != Action::kSegmentMap)
    return false;
  uint64_t begin = trace.pieces.address[row];
  return begin >= events.address[event] && begin - events.address[event] < events.size_bytes[event];
}

// Whether a piece was held before the first event. A lost segment that begins at step 0 does so
// with the block that proves it.
bool isHeldBefore(const model::Trace& trace, const model::Device& device, uint64_t row) {
  bool lost =
      device.missing.has(Action::kSegmentAlloc) &&
      trace.segments.provenance[trace.pieces.segment[row].index()] == model::Provenance::kLost;
  return trace.pieces.first_step[row] == 0 && !lost && !isGivenFirst(trace, device, row);
}

}  // namespace

bool isPieceAt(const model::Trace& trace, const model::Device& device, uint64_t row,
               const Peak& place) {
  if (place.at_start) return isHeldBefore(trace, device, row);
  return trace.pieces.first_step[row] <= place.step && place.step < trace.pieces.last_step[row];
}

TotalsIndex::TotalsIndex(const model::Trace& trace, const model::Device& device)
    : trace_(trace), device_(device), steps_(device.steps()) {
  buildAnew();
}

void TotalsIndex::buildAnew() {
  constexpr size_t kMaxParts = 4;
  parts_ = base::partsFor(steps_, kMaxParts);
  blocks_.resize((steps_ + kBlock - 1) / kBlock);
  collectEdges();
  buildAll();
}

TotalsIndex::TotalsIndex(const model::Trace& trace, const model::Device& device,
                         TotalsIndex&& before, const model::Continuation& continuation)
    : trace_(trace), device_(device), steps_(device.steps()) {
  // The last block of those that are as they were is built again, for the state after it. (A piece
  // of a segment may begin a step after its event.)
  Step kept = (continuation.steps - std::min<Step>(continuation.steps, 2)) / kBlock;
  if (kept < 2) {
    buildAnew();
    return;
  }
  Step begin = kept - 1;
  initial_ = before.initial_;
  edges_ = std::move(before.edges_);
  blocks_ = std::move(before.blocks_);
  active_marks_ = std::move(before.active_marks_);
  continueEdges(kept * kBlock);
  size_t count = (steps_ + kBlock - 1) / kBlock;
  blocks_.resize(count);
  active_marks_.resize(count);
  resize(continuation, kept);
  Totals totals = blocks_[begin].before;
  uint32_t edge = blocks_[begin].edge;
  for (Step number = begin; number < count; ++number) totals = buildBlock(number, totals, edge);
  findPeaks();
}

// Those from step `begin` on, which pieces of segments have alone.
void TotalsIndex::continueEdges(Step begin) {
  auto by_step = [](const Edge& x, const Edge& y) { return x.step < y.step; };
  edges_.erase(std::lower_bound(edges_.begin(), edges_.end(), Edge{begin, {}}, by_step),
               edges_.end());
  size_t kept = edges_.size();
  const model::Pieces& pieces = trace_.pieces;
  for (uint64_t row = device_.piece_begin; row < device_.piece_end; ++row) {
    Step first = pieces.first_step[row], last = pieces.last_step[row];
    uint64_t bytes = pieces.size_bytes[row];
    if (first >= begin) edges_.push_back({first, {0, 0, 0, bytes}});
    if (last >= begin && last < steps_) edges_.push_back({last, {0, 0, 0, minus(bytes)}});
  }
  std::stable_sort(edges_.begin() + static_cast<ptrdiff_t>(kept), edges_.end(), by_step);
}

// Adds to the blocks before `end_block` what live blocks of memory have become larger or smaller.
void TotalsIndex::resize(const model::Continuation& continuation, Step end_block) {
  const Allocations& a = trace_.allocations;
  uint64_t more = 0;  // of rows that began before the block
  Step number = 0;
  auto addUntil = [&](Step end) {
    for (; number < end; ++number) {
      Block& block = blocks_[number];
      block.before.active_bytes += more;
      block.before.allocated_bytes += more;
      block.span.active_min += more;
      block.span.active_max += more;
      block.span.allocated_max += more;
    }
  };
  std::vector<Step> begins_in;  // blocks in which such a row begins
  for (const model::Continuation::Resized& it : continuation.resized) {
    Step block = a.first_step[it.row] / kBlock;
    if (block >= end_block) break;
    if (begins_in.empty()) number = block + 1;
    addUntil(block + 1);
    if (begins_in.empty() || begins_in.back() != block) begins_in.push_back(block);
    more += a.block_bytes[it.row] - it.bytes_before;
  }
  if (begins_in.empty()) return;
  addUntil(end_block);
  for (Step block : begins_in) {
    uint32_t edge = blocks_[block].edge;
    buildBlock(block, blocks_[block].before, edge);
  }
}

// Adds the row's edges, and to named[p] what events before begins[p] change by this row. Returns
// what the row adds to the state before the first event.
Totals TotalsIndex::collectEdgesOf(uint64_t row, const std::vector<uint64_t>& begins,
                                   std::vector<Edge>& edges, std::vector<Totals>& named) const {
  const Allocations& a = trace_.allocations;
  Totals initial;
  // Three events name most rows: they need no edge, and change nothing once they are over.
  constexpr uint8_t kBothEnds = model::kAllocSeen | model::kFreeCompletedSeen;
  if ((a.flags[row] & kBothEnds) == kBothEnds) {
    for (size_t part = 1; part < parts_; ++part) {
      uint64_t begin = begins[part];
      if (a.first_step[row] >= begin || a.last_step[row] < begin) continue;
      uint64_t block = a.block_bytes[row];
      bool is_freed = a.free_requested_step[row] < begin;
      add(named[part], {a.requested_bytes[row], block, is_freed ? 0 : block, 0});
    }
    return initial;
  }
  uint64_t requested = a.requested_bytes[row];
  uint64_t block = a.block_bytes[row];
  Step first = a.first_step[row];
  Step last = a.last_step[row];
  Step freed = std::min(a.free_requested_step[row], last);
  bool free_named = eventNames(trace_, device_, freed, row);
  bool end_named = eventNames(trace_, device_, last, row);
  bool free_unseen = !free_named;
  if (!a.has(row, model::kAllocSeen)) {
    // Freed before its allocation became known: active, but never allocated.
    bool allocated = a.free_requested_step[row] > first || !free_unseen;
    Totals birth{requested, block, allocated ? block : 0, 0};
    free_unseen &= allocated;
    // A lost block that begins at step 0 does so when its place becomes free.
    if (liveBefore(trace_, static_cast<uint32_t>(row))) {
      initial = birth;
    } else {
      edges.push_back({first, birth});
    }
  }
  if (freed < steps_ && free_unseen) edges.push_back({freed, {0, 0, minus(block), 0}});
  if (last < steps_ && !end_named) edges.push_back({last, {minus(requested), minus(block), 0, 0}});
  for (size_t part = 1; part < parts_; ++part) {
    uint64_t begin = begins[part];
    if (first < begin && a.has(row, model::kAllocSeen))
      add(named[part], {requested, block, block, 0});
    if (freed < begin && free_named) add(named[part], {0, 0, minus(block), 0});
    if (last < begin && end_named) add(named[part], {minus(requested), minus(block), 0, 0});
  }
  return initial;
}

void TotalsIndex::collectEdges() {
  struct Share {  // of the rows
    std::vector<Edge> edges;
    std::vector<Totals> named;
    Totals initial;
  };
  std::vector<Share> shares(parts_);
  std::vector<uint64_t> begins(parts_);  // steps
  for (size_t part = 0; part < parts_; ++part) begins[part] = firstBlock(part) * uint64_t{kBlock};
  uint64_t rows = device_.allocation_end - device_.allocation_begin;
  base::eachAtOnce(parts_, parts_, [&](size_t i) {
    Share& share = shares[i];
    share.named.resize(parts_);
    uint64_t end = device_.allocation_begin + rows * (i + 1) / parts_;
    for (uint64_t row = device_.allocation_begin + rows * i / parts_; row < end; ++row)
      add(share.initial, collectEdgesOf(row, begins, share.edges, share.named));
  });
  std::vector<Totals> named(parts_);
  for (const Share& share : shares) {
    edges_.insert(edges_.end(), share.edges.begin(), share.edges.end());
    add(initial_, share.initial);
    for (size_t part = 0; part < parts_; ++part) add(named[part], share.named[part]);
  }
  for (uint64_t row = device_.piece_begin; row < device_.piece_end; ++row) {
    uint64_t bytes = trace_.pieces.size_bytes[row];
    Step first = trace_.pieces.first_step[row];
    Step last = trace_.pieces.last_step[row];
    if (isHeldBefore(trace_, device_, row)) {
      add(initial_, {0, 0, 0, bytes});
    } else {
      edges_.push_back({first, {0, 0, 0, bytes}});
    }
    if (last < steps_) edges_.push_back({last, {0, 0, 0, minus(bytes)}});
  }
  std::stable_sort(edges_.begin(), edges_.end(),
                   [](const Edge& x, const Edge& y) { return x.step < y.step; });
  beginParts(named);
}

// The state before each part, and its first edge.
void TotalsIndex::beginParts(const std::vector<Totals>& named) {
  if (blocks_.empty()) return;
  Totals of_edges;
  uint32_t edge = 0;
  for (size_t part = 0; part < parts_; ++part) {
    Block& block = blocks_[firstBlock(part)];
    uint64_t begin = firstBlock(part) * uint64_t{kBlock};
    for (; edge < edges_.size() && edges_[edge].step < begin; ++edge)
      add(of_edges, edges_[edge].change);
    block.before = initial_;
    add(block.before, named[part]);
    add(block.before, of_edges);
    block.edge = edge;
  }
}

// What the event of a step does. Without branches on the action: which of the three an event is
// cannot be predicted, and millions are walked.
[[gnu::always_inline]] inline TotalsIndex::Deed TotalsIndex::deedOf(Step step) const {
  size_t event = device_.event_begin + step;
  const Action* action = trace_.events.action.data() + event;
  const uint32_t* subject = trace_.events.subject.data() + event;
  const Allocations& a = trace_.allocations;
  auto is = [](bool so) { return static_cast<unsigned>(so); };
  unsigned concerns_row = is(*action <= Action::kFree) & is(*subject != UINT32_MAX);
  // Any row, if none is concerned.
  auto row = static_cast<uint32_t>(device_.allocation_begin);
  row += (*subject - row) & (0U - concerns_row);
  unsigned begins = concerns_row & is(*action == Action::kAlloc);
  unsigned is_freed = concerns_row & is(*action == Action::kFreeRequested);
  unsigned ends = concerns_row & is(*action == Action::kFreeCompleted);
  // The two events of a free mostly stand side by side. Then nothing else need be known of the row.
  ptrdiff_t before = step > 0 ? -1 : 0, after = step + 1 < steps_ ? 1 : 0;
  unsigned is_second =
      ends & is(subject[before] == *subject) & is(action[before] == Action::kFreeRequested);
  unsigned is_first =
      is_freed & is(subject[after] == *subject) & is(action[after] == Action::kFreeCompleted);
  if ((concerns_row & ~(begins | is_first | is_second)) != 0) [[unlikely]] {
    begins = is(a.first_step[row] == step && a.has(row, model::kAllocSeen));
    is_freed = is(std::min(a.free_requested_step[row], a.last_step[row]) == step);
    ends = is(a.last_step[row] == step);
  }
  return {.row = row,
          .active = static_cast<int8_t>(begins - ends),
          .allocated = static_cast<int8_t>(begins - is_freed)};
}

inline Totals TotalsIndex::changeOf(const Deed& deed) const {
  uint64_t requested = trace_.allocations.requested_bytes[deed.row];
  uint64_t block = trace_.allocations.block_bytes[deed.row];
  auto active = static_cast<uint64_t>(int64_t{deed.active});
  auto allocated = static_cast<uint64_t>(int64_t{deed.allocated});
  return {.requested_bytes = requested * active,
          .active_bytes = block * active,
          .allocated_bytes = block * allocated};
}

Totals TotalsIndex::buildBlocks(size_t part, size_t end_part) {
  auto first = static_cast<Step>(firstBlock(part));
  auto end = static_cast<Step>(firstBlock(end_part));
  Totals totals = blocks_[first].before;
  uint32_t edge = blocks_[first].edge;
  for (Step number = first; number < end; ++number) totals = buildBlock(number, totals, edge);
  return totals;
}

// First what each event does, then the sums: two loops whose values fit into registers. `edge`
// becomes the first one after the block.
Totals TotalsIndex::buildBlock(Step number, const Totals& before, uint32_t& edge) {
  Block& block = blocks_[number];
  block.before = before;
  block.edge = edge;
  Step begin = number * kBlock, steps = std::min(kBlock, steps_ - begin);
  bool has_rows = device_.allocation_begin < device_.allocation_end;
  std::array<Deed, kBlock> deeds;
  for (Step i = 0; i < steps && has_rows; ++i) {
    deeds[i] = deedOf(begin + i);
    model::fetch(&trace_.allocations.requested_bytes[deeds[i].row]);  // rows are at random places
    model::fetch(&trace_.allocations.block_bytes[deeds[i].row]);
  }
  Totals totals = before;
  // What was active before the first event counts as a change of the first step, as rows do.
  uint64_t mark = begin == 0 ? before.active_bytes * markWeight(0) : 0;
  // Extremes first, without branches, since a new one cannot be predicted; then where they are.
  std::array<uint64_t, kBlock> active, requested;
  uint64_t active_min = UINT64_MAX, active_max = 0, requested_max = 0, allocated_max = 0;
  Span span;
  widenReserved(span, begin, before.reserved_bytes, true);
  for (Step i = 0; i < steps; ++i) {
    Totals change;
    if (has_rows) change = changeOf(deeds[i]);
    if (edge < edges_.size() && edges_[edge].step == begin + i) [[unlikely]] {
      for (; edge < edges_.size() && edges_[edge].step == begin + i; ++edge)
        add(change, edges_[edge].change);
      widenReserved(span, begin + i, totals.reserved_bytes + change.reserved_bytes, i == 0);
    }
    add(totals, change);
    mark += change.active_bytes * kMarkWeights[i];
    active[i] = totals.active_bytes;
    requested[i] = totals.requested_bytes;
    active_max = std::max(active_max, totals.active_bytes);
    active_min = std::min(active_min, totals.active_bytes);
    requested_max = std::max(requested_max, totals.requested_bytes);
    allocated_max = std::max(allocated_max, totals.allocated_bytes);
  }
  auto firstWith = [&](const auto& values, uint64_t most) {
    return begin + static_cast<Step>(std::find(values.begin(), values.begin() + steps, most) -
                                     values.begin());
  };
  span.active_min = active_min;
  span.active_max = active_max;
  span.active_max_step = firstWith(active, active_max);
  span.requested_max = requested_max;
  span.requested_max_step = firstWith(requested, requested_max);
  span.allocated_max = allocated_max;
  block.span = span;
  active_marks_[number] = mark;
  return totals;
}

void TotalsIndex::buildAll() {
  if (steps_ == 0) {  // only the final state exists
    peak_requested_ = {initial_.requested_bytes, 0};
    peak_active_ = {initial_.active_bytes, 0};
    peak_allocated_ = {initial_.allocated_bytes, 0};
    peak_reserved_ = {initial_.reserved_bytes, 0};
    return;
  }
  active_marks_.resize(blocks_.size());
  std::vector<Totals> after(parts_);
  base::eachAtOnce(parts_, parts_, [&](size_t part) { after[part] = buildBlocks(part, part + 1); });
  // Where parts do not meet, a row is not as its events say. Then the events count, in their order.
  for (size_t part = 1; part < parts_; ++part) {
    if (after[part - 1] == blocks_[firstBlock(part)].before) continue;
    blocks_.assign(blocks_.size(), Block());
    blocks_[0].before = initial_;
    buildBlocks(0, parts_);
    break;
  }
  findPeaks();
}

// The first states with the most bytes, from the highest of each block.
void TotalsIndex::findPeaks() {
  auto raise = [](Peak& peak, uint64_t bytes, Step step) {
    if (bytes > peak.bytes) peak = {bytes, step};
  };
  for (size_t number = 0; number < blocks_.size(); ++number) {
    const Span& span = blocks_[number].span;
    raise(peak_requested_, span.requested_max, span.requested_max_step);
    raise(peak_active_, span.active_max, span.active_max_step);
    raise(peak_allocated_, span.allocated_max, static_cast<Step>(number) * kBlock);
    raise(peak_reserved_, span.reserved_max, span.reserved_max_step);
  }
  // Blocks do not keep where allocated bytes are highest.
  Step begin = peak_allocated_.step;
  bool is_found = peak_allocated_.bytes == 0;
  forEach(begin, begin + std::min(kBlock, steps_ - begin), [&](Step step, const Totals& totals) {
    if (!is_found && totals.allocated_bytes == peak_allocated_.bytes) {
      peak_allocated_.step = step;
      is_found = true;
    }
  });
  auto raiseToStart = [](Peak& peak, uint64_t bytes) {
    if (bytes > peak.bytes) peak = {bytes, 0, true};
  };
  raiseToStart(peak_requested_, initial_.requested_bytes);
  raiseToStart(peak_active_, initial_.active_bytes);
  raiseToStart(peak_allocated_, initial_.allocated_bytes);
  raiseToStart(peak_reserved_, initial_.reserved_bytes);
}

TotalsIndex::Cursor::Cursor(const TotalsIndex& index, Step block)
    : index_(index),
      step_(block * kBlock),
      totals_(index.blocks_[block].before),
      edge_(index.blocks_[block].edge) {
  apply();
}

void TotalsIndex::Cursor::advance() {
  ++step_;
  apply();
}

// Adds the changes of step_ to the totals.
void TotalsIndex::Cursor::apply() {
  if (step_ >= index_.steps_) return;
  while (edge_ < index_.edges_.size() && index_.edges_[edge_].step == step_) {
    add(totals_, index_.edges_[edge_++].change);
  }
  if (index_.device_.allocation_begin < index_.device_.allocation_end)
    add(totals_, index_.changeOf(index_.deedOf(step_)));
}

Totals TotalsIndex::at(Step step) const {
  if (steps_ == 0) return initial_;
  step = std::min(step, steps_ - 1);
  Cursor cursor(*this, step / kBlock);
  while (cursor.step() < step) cursor.advance();
  return cursor.totals();
}

// The whole blocks first: a partial block rarely contains an extreme, so few need a walk.
Span TotalsIndex::span(Step begin, Step end) const {
  Span span;
  end = std::min(end, steps_);
  if (begin >= end) return span;
  auto walk = [&](Step from, Step to) {
    Span walked;
    forEach(from, to,
            [&](Step step, const Totals& totals) { widen(walked, step, totals, step == from); });
    return walked;
  };
  Step first_whole = (begin + kBlock - 1) / kBlock;
  Step last_whole = end / kBlock;
  if (first_whole >= last_whole) return walk(begin, end);
  for (Step block = first_whole; block < last_whole; ++block) {
    join(span, blocks_[block].span, block == first_whole);
  }
  if (Step from = last_whole * kBlock; from < end) {
    if (mayWiden(span, blocks_[last_whole].span, false)) join(span, walk(from, end), false);
  }
  if (Step to = first_whole * kBlock; begin < to) {
    Span cut = blocks_[first_whole - 1].span;
    // Reserved bytes rarely change: then they are known without a walk.
    if (cut.reserved_min == cut.reserved_max) {
      if (cut.reserved_max >= span.reserved_max) {
        span.reserved_max = cut.reserved_max;
        span.reserved_max_step = begin;
      }
      span.reserved_min = std::min(span.reserved_min, cut.reserved_min);
      cut.reserved_max = 0;
    }
    if (mayWiden(span, cut, true)) {
      Span earlier = walk(begin, to);
      join(earlier, span, false);
      span = earlier;
    }
  }
  return span;
}

// As span(). A block that is cut knows where its own highest state is: only if that lies outside of
// the range, and could be exceeded by what is inside, is there a walk.
ActivePeak TotalsIndex::highestActive(Step begin, Step end) const {
  end = std::min(end, steps_);
  if (begin >= end) return {};
  auto walk = [&](Step from, Step to) {
    ActivePeak walked;
    forEach(from, to, [&](Step step, const Totals& totals) {
      if (step == from || totals.active_bytes > walked.bytes) {
        walked = {totals.active_bytes, step};
      }
    });
    return walked;
  };
  auto highestOf = [&](Step block, Step from, Step to) {
    const Span& whole = blocks_[block].span;
    bool inside = from <= whole.active_max_step && whole.active_max_step < to;
    return inside ? ActivePeak{whole.active_max, whole.active_max_step} : walk(from, to);
  };
  Step first_whole = (begin + kBlock - 1) / kBlock;
  Step last_whole = end / kBlock;
  if (first_whole > last_whole) return highestOf(last_whole, begin, end);  // within one block
  ActivePeak peak;
  bool is_known = false;
  for (Step block = first_whole; block < last_whole; ++block) {
    const Span& span = blocks_[block].span;
    if (is_known && span.active_max <= peak.bytes) continue;
    peak = {span.active_max, span.active_max_step};
    is_known = true;
  }
  if (Step from = last_whole * kBlock; from < end) {
    if (!is_known || blocks_[last_whole].span.active_max > peak.bytes) {
      ActivePeak later = highestOf(last_whole, from, end);
      if (!is_known || later.bytes > peak.bytes) peak = later;
      is_known = true;
    }
  }
  if (Step to = first_whole * kBlock; begin < to) {
    if (!is_known || blocks_[first_whole - 1].span.active_max >= peak.bytes) {
      ActivePeak earlier = highestOf(first_whole - 1, begin, to);
      if (!is_known || earlier.bytes >= peak.bytes) peak = earlier;
    }
  }
  return peak;
}

}  // namespace tidegauge::analysis
