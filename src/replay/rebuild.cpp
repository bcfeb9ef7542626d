#include "replay/rebuild.h"

#include <algorithm>
#include <map>

namespace tidegauge::replay {
namespace {

using model::Step;

class Rebuild {
 public:
  Rebuild(const Tape& tape, Step events, Allocator& allocator)
      : tape_(tape),
        trace_(tape.trace()),
        device_(tape.device()),
        events_(events),
        allocator_(allocator) {}

  void segments(const Allocator* before);
  uint64_t blocks(std::vector<BlockId>& blocks);

 private:
  bool livesThen(bool is_older, Step first, Step last) const {
    return (is_older || first < events_) && last >= events_;
  }
  struct Found {
    uint64_t address = 0, bytes = 0, page_bytes = 0;
    size_t row = 0;  // in model::Segments
    uint32_t order = 0;
    std::vector<size_t> pieces;
  };
  std::vector<Found> find() const;
  // Step 0 may mean before the recording, or its first event.
  bool isMappedByTheFirstEvent(size_t piece) const {
    return tape_.steps() > 0 && tape_.action(0) == model::Action::kSegmentMap &&
           trace_.pieces.address[piece] == tape_.address(0) &&
           trace_.pieces.size_bytes[piece] == tape_.bytes(0);
  }
  bool waitsThen(size_t row) const;

  const Tape& tape_;
  const model::Trace& trace_;
  const model::Device& device_;
  Step events_;
  Allocator& allocator_;
};

std::vector<Rebuild::Found> Rebuild::find() const {
  const model::Segments& segments = trace_.segments;
  const model::Pieces& pieces = trace_.pieces;
  std::map<size_t, Found> by_row;
  for (size_t i = device_.piece_begin; i < device_.piece_end; ++i) {
    size_t row = pieces.segment[i].index();
    bool is_older = model::isOlder(segments.provenance[row]) && pieces.first_step[i] == 0 &&
                    !isMappedByTheFirstEvent(i);
    if (!livesThen(is_older, pieces.first_step[i], pieces.last_step[i])) continue;
    by_row[row].pieces.push_back(i);
  }
  std::vector<Found> found;
  for (auto& [row, it] : by_row) {
    it.row = row;
    bool is_small = segments.small_pool[row];
    if (segments.kind[row] == model::SegmentKind::kExpandable) {
      // The recording's size, whatever settings are tried.
      it.page_bytes = is_small ? kSmallSegmentBytes : tape_.largeSegmentBytes();
      it.address = segments.address[row];
    } else {
      it.address = pieces.address[it.pieces.front()];
      it.bytes = pieces.size_bytes[it.pieces.front()];
    }
    found.push_back(std::move(it));
  }
  std::ranges::sort(found, {}, &Found::address);
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].page_bytes == 0) continue;
    // All mapped memory exists, however small the tried device is.
    uint64_t most_bytes = allocator_.rangeBytes(found[i].page_bytes);
    for (size_t piece : found[i].pieces)
      most_bytes = std::max(
          most_bytes,
          replay::roundUp(pieces.address[piece] + pieces.size_bytes[piece] - found[i].address,
                          found[i].page_bytes));
    uint64_t room_bytes =
        i + 1 < found.size() ? found[i + 1].address - found[i].address : UINT64_MAX;
    found[i].bytes = std::min(most_bytes, room_bytes);
  }
  return found;
}

void Rebuild::segments(const Allocator* before) {
  std::vector<Found> found = find();
  for (Found& it : found) {
    it.order = UINT32_MAX;
    if (before == nullptr) continue;
    auto known = before->byAddress().find(it.address);
    if (known != before->byAddress().end()) it.order = before->segment(known->second).order;
  }
  std::ranges::stable_sort(found, {}, &Found::order);
  const model::Segments& segments = trace_.segments;
  for (const Found& it : found) {
    if (it.bytes == 0) continue;
    allocator_.adopt(it.address, it.bytes, it.page_bytes, tape_.rankOf(segments.stream[it.row]),
                     Tape::ownerOf(segments.pool[it.row]), segments.small_pool[it.row]);
    if (it.page_bytes == 0) continue;
    std::vector<size_t> pieces = it.pieces;
    std::ranges::sort(pieces, {}, [&](size_t piece) { return trace_.pieces.address[piece]; });
    BlockId at{};  // addresses ascend: a chain is walked once
    for (size_t piece : pieces) {
      uint64_t address = trace_.pieces.address[piece], bytes = trace_.pieces.size_bytes[piece];
      auto hole = allocator_.blockFrom(at, address);
      at = hole.value_or(BlockId());
      if (!hole || allocator_.block(*hole).is_mapped) continue;
      const Block& there = allocator_.block(*hole);
      if (address < there.address || bytes > there.bytes - (address - there.address)) continue;
      at = allocator_.carve(*hole, address, bytes);
      allocator_.mapPages(at, bytes);
    }
  }
}

// Freed, but not by all streams. Step 0 may mean the first event, or before the recording; the same
// for a free request without an event whose completion has one.
bool Rebuild::waitsThen(size_t row) const {
  const model::Allocations& all = trace_.allocations;
  Step requested = all.free_requested_step[row];
  if (requested == model::kNoStep || (requested == 0 && events_ == 0))
    return waitsAtStart(tape_, row);
  return requested < events_;
}

uint64_t Rebuild::blocks(std::vector<BlockId>& blocks) {
  const model::Allocations& all = trace_.allocations;
  std::vector<size_t> rows;
  for (size_t i = device_.allocation_begin; i < device_.allocation_end; ++i)
    if (livesThen(model::isOlder(all.provenance[i]), all.first_step[i], all.last_step[i]))
      rows.push_back(i);
  std::ranges::sort(rows, {}, [&](size_t row) { return all.address[row]; });
  uint64_t left_out = 0;
  BlockId at{};  // addresses ascend: a chain is walked once
  for (size_t row : rows) {
    uint64_t address = all.address[row], bytes = all.block_bytes[row];
    at = allocator_.blockFrom(at, address).value_or(BlockId());
    bool fits = at.valid() && bytes > 0;
    if (fits) {
      const Block& there = allocator_.block(at);
      fits = there.isFree() && there.is_mapped && address >= there.address &&
             bytes <= there.bytes - (address - there.address);
    }
    if (!fits) {
      ++left_out;
      continue;
    }
    BlockId mine = allocator_.carve(at, address, bytes);
    auto name = static_cast<uint32_t>(row - device_.allocation_begin);
    mine = allocator_.take(mine, bytes, all.requested_bytes[row], name);
    blocks[name] = mine;
    if (waitsThen(row)) allocator_.free(mine, true);
    at = mine;
  }
  return left_out;
}

}  // namespace

bool waitsAtStart(const Tape& tape, size_t row) {
  const model::Allocations& all = tape.trace().allocations;
  Step requested = all.free_requested_step[row];
  if (requested == model::kNoStep)
    return model::isOlder(all.provenance[row]) && all.has(row, model::kFreeCompletedSeen) &&
           tape.action(all.last_step[row]) == model::Action::kFreeCompleted;
  if (requested != 0) return false;
  bool is_first = tape.steps() > 0 && tape.action(0) == model::Action::kFreeRequested &&
                  tape.name(0) == row - tape.device().allocation_begin;
  return !is_first;
}

uint64_t rebuild(const Tape& tape, Step events, const Allocator* before, Allocator& allocator,
                 std::vector<BlockId>& blocks) {
  blocks.assign(tape.names(), BlockId());
  Rebuild work(tape, events, allocator);
  work.segments(before);
  uint64_t left_out = work.blocks(blocks);
  allocator.beginCounting();
  return left_out;
}

}  // namespace tidegauge::replay
