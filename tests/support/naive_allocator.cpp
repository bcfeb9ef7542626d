#include "support/naive_allocator.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace tidegauge::testing {

using replay::kUnlimited;

void NaiveAllocator::write(const char* what, uint64_t address, uint64_t bytes, uint16_t stream) {
  entries.push_back(fmt::format("{} {:x} {} {}", what, address, bytes, stream));
}

uint64_t NaiveAllocator::usedBytes() const {
  uint64_t bytes = 0;
  for (const Segment& segment : segments_)
    for (const Block& block : segment.blocks)
      if (block.state != State::kHole) bytes += block.bytes;
  return bytes;
}

// A multiple of 512 B; or, above 512 B per part, a multiple of a part of the next lower power of
// two.
uint64_t NaiveAllocator::rounded(uint64_t bytes) const {
  if (bytes < 512) return 512;
  uint64_t power = 1;
  int exponent = 0;
  while (power * 2 <= bytes) {
    power *= 2;
    ++exponent;
  }
  uint64_t parts =
      settings_.roundup_divisions[static_cast<size_t>(exponent < 20   ? 0
                                                      : exponent > 35 ? 15
                                                                      : exponent - 20)];
  if (parts <= 1 || bytes <= 512 * parts) return (bytes + 511) / 512 * 512;
  if (power == bytes) return bytes;
  uint64_t step = power / parts;
  return (bytes + step - 1) / step * step;
}

uint64_t NaiveAllocator::ofTheDriver(uint64_t rounded_bytes) const {
  if (rounded_bytes <= 1 << 20) return 2 << 20;
  if (rounded_bytes < 10 << 20) return settings_.large_segment_bytes;
  return (rounded_bytes + (2 << 20) - 1) / (2 << 20) * (2 << 20);
}

uint64_t NaiveAllocator::capBytes() const {
  uint64_t most = settings_.limit_bytes ? *settings_.limit_bytes : kUnlimited;
  bool is_cap =
      settings_.fraction && (*settings_.fraction < 1 || !settings_.gc_needs_fraction_below_1);
  if (!is_cap) return most;
  auto of_device =
      static_cast<uint64_t>(*settings_.fraction * static_cast<double>(capacity_bytes_));
  return of_device < most ? of_device : most;
}

// The lowest address with that many bytes outside of segments.
uint64_t NaiveAllocator::place(uint64_t bytes) const {
  std::vector<std::pair<uint64_t, uint64_t>> taken;
  for (const Segment& segment : segments_) taken.emplace_back(segment.address, segment.bytes);
  std::ranges::sort(taken);
  uint64_t at = 0x700000000000;
  for (auto [address, length] : taken) {
    if (at + bytes <= address) break;
    at = address + length;
  }
  return at;
}

NaiveAllocator::Place NaiveAllocator::find(uint64_t address) const {
  for (size_t i = 0; i < segments_.size(); ++i)
    for (size_t j = 0; j < segments_[i].blocks.size(); ++j)
      if (segments_[i].blocks[j].address == address) return {i, j};
  return {SIZE_MAX, SIZE_MAX};
}

std::vector<NaiveAllocator::Place> NaiveAllocator::freeBlocks(uint32_t owner, bool is_small) const {
  std::vector<Place> found;
  for (size_t i = 0; i < segments_.size(); ++i)
    for (size_t j = 0; j < segments_[i].blocks.size(); ++j)
      if (segments_[i].owner == owner && segments_[i].is_small == is_small &&
          segments_[i].blocks[j].state == State::kFree)
        found.push_back({i, j});
  auto key = [&](const Place& it) {
    const Segment& segment = segments_[it.segment];
    const Block& block = segment.blocks[it.block];
    bool by_segment = settings_.tie == replay::TieBreak::kSegment;
    return std::tuple(segment.stream, block.bytes, by_segment ? segment.order : 0, block.address);
  };
  std::ranges::sort(found, {}, key);
  return found;
}

std::optional<NaiveAllocator::Place> NaiveAllocator::search(const Want& want) const {
  uint64_t bytes = want.bytes;
  std::vector<Place> fit;
  for (const Place& it : freeBlocks(want.owner, want.is_small))
    if (segments_[it.segment].stream == want.stream &&
        segments_[it.segment].blocks[it.block].bytes >= bytes)
      fit.push_back(it);
  auto grown = [&](const Place& it) {
    const std::vector<Block>& blocks = segments_[it.segment].blocks;
    bool has_hole = it.block + 1 < blocks.size() && blocks[it.block + 1].state == State::kHole;
    return blocks[it.block].bytes + (has_hole ? blocks[it.block + 1].bytes : 0);
  };
  size_t at = 0;
  if (settings_.expandable) {
    while (at + 1 < fit.size() && segments_[fit[at].segment].page_bytes > 0 &&
           grown(fit[at + 1]) < grown(fit[at]))
      ++at;
  } else {
    while (at < fit.size() && segments_[fit[at].segment].page_bytes > 0) ++at;
  }
  if (at >= fit.size()) return std::nullopt;
  uint64_t found = segments_[fit[at].segment].blocks[fit[at].block].bytes;
  uint64_t most = settings_.max_split_bytes;
  if (bytes < most && found >= most) return std::nullopt;
  if (bytes >= most && found >= bytes + settings_.max_non_split_rounding_bytes) return std::nullopt;
  return fit[at];
}

std::optional<uint64_t> NaiveAllocator::malloc(uint64_t request_bytes, uint16_t stream,
                                               uint32_t owner) {
  for (uint64_t address : std::vector<uint64_t>(std::move(done_))) complete(address);
  done_.clear();
  uint64_t bytes = rounded(request_bytes);
  bool is_small = bytes <= (1 << 20);
  Want want{owner, is_small, stream, bytes};
  released_.erase(owner);  // an owner that is allocated from is in use
  if (owner != 0 && std::ranges::find(private_pools_, owner) == private_pools_.end())
    private_pools_.push_back(owner);
  bool collects = settings_.gc_threshold > 0 && capBytes() != kUnlimited;
  if (collects) ++searches_[{owner, is_small}];
  auto place = search(want);
  if (!place && collects) collect();
  if (!place) place = getMemory(want);
  if (!place && releaseOversize(want)) place = getMemory(want);
  if (!place) {
    emptyCache();
    place = getMemory(want);
  }
  if (!place) {
    write("oom", capacity_bytes_ - usedBytes(), bytes, stream);
    return std::nullopt;
  }
  std::vector<Block>& blocks = segments_[place->segment].blocks;
  uint64_t rest = blocks[place->block].bytes - bytes;
  bool splits = is_small || (settings_.expandable && !hasOwnAllocator(owner))
                    ? rest >= 512
                    : bytes < settings_.max_split_bytes && rest > (1 << 20);
  uint64_t address = blocks[place->block].address;
  if (splits) {
    blocks[place->block].bytes = bytes;
    blocks.insert(blocks.begin() + static_cast<ptrdiff_t>(place->block) + 1,
                  {address + bytes, rest, 0, State::kFree, searches_[{owner, is_small}]});
  }
  blocks[place->block].state = State::kUsed;
  blocks[place->block].requested_bytes = request_bytes;
  write("alloc", address, request_bytes, stream);
  return address;
}

void NaiveAllocator::free(uint64_t address, bool is_shared) {
  auto [segment, block] = find(address);
  Block& it = segments_[segment].blocks[block];
  write("free_requested", address, it.requested_bytes, segments_[segment].stream);
  it.state = State::kWaiting;
  waiting_.push_back(address);
  if (!is_shared) complete(address);
}

void NaiveAllocator::complete(uint64_t address) {
  if (std::erase(waiting_, address) == 0) return;
  auto [segment, block] = find(address);
  Block& it = segments_[segment].blocks[block];
  write("free_completed", address, it.requested_bytes, segments_[segment].stream);
  it.state = State::kFree;
  it.since = searches_[{segments_[segment].owner, segments_[segment].is_small}];
  join(segments_[segment]);
}

// Neighbours that are equally free become one, as young as the younger.
void NaiveAllocator::join(Segment& segment) {
  std::vector<Block>& blocks = segment.blocks;
  for (size_t i = 1; i < blocks.size();) {
    bool same = blocks[i].state == blocks[i - 1].state &&
                (blocks[i].state == State::kFree || blocks[i].state == State::kHole);
    if (!same) {
      ++i;
      continue;
    }
    blocks[i - 1].bytes += blocks[i].bytes;
    blocks[i - 1].since = std::max(blocks[i - 1].since, blocks[i].since);
    blocks.erase(blocks.begin() + static_cast<ptrdiff_t>(i));
  }
}

std::optional<NaiveAllocator::Place> NaiveAllocator::getMemory(const Want& want) {
  uint64_t segment_bytes = ofTheDriver(want.bytes), cap = capBytes();
  if (cap != kUnlimited && usedBytes() + segment_bytes > cap) return std::nullopt;
  if (settings_.expandable && (want.owner == 0 || settings_.private_pools_expandable) &&
      !hasOwnAllocator(want.owner))
    return grow(want);
  if (usedBytes() + segment_bytes > capacity_bytes_) return std::nullopt;
  uint64_t address = place(segment_bytes);
  segments_.push_back(
      {address,
       segment_bytes,
       0,
       want.owner,
       want.stream,
       want.is_small,
       ++made_,
       {{address, segment_bytes, 0, State::kFree, searches_[{want.owner, want.is_small}]}}});
  write("segment_alloc", address, segment_bytes, want.stream);
  return Place{segments_.size() - 1, 0};
}

std::optional<NaiveAllocator::Place> NaiveAllocator::grow(const Want& want) {
  uint64_t bytes = want.bytes;
  std::vector<Place> holes;
  for (size_t i = 0; i < segments_.size(); ++i)
    for (size_t j = 0; j < segments_[i].blocks.size(); ++j)
      if (segments_[i].owner == want.owner && segments_[i].is_small == want.is_small &&
          segments_[i].stream == want.stream && segments_[i].blocks[j].state == State::kHole)
        holes.push_back({i, j});
  std::ranges::sort(
      holes, {}, [&](const Place& it) { return segments_[it.segment].blocks[it.block].address; });
  std::optional<Place> start;
  for (Place it : holes) {
    const std::vector<Block>& blocks = segments_[it.segment].blocks;
    if (it.block > 0 && blocks[it.block - 1].state == State::kFree) --it.block;
    uint64_t run = 0;
    for (size_t j = it.block; j < blocks.size() && run < bytes; ++j) {
      if (blocks[j].state != State::kFree && blocks[j].state != State::kHole) break;
      run += blocks[j].bytes;
    }
    if (run < bytes) continue;
    start = it;
    break;
  }
  if (!start) {
    uint64_t page = want.is_small ? 2 << 20 : settings_.large_segment_bytes;
    uint64_t range = (capacity_bytes_ * 9 / 8 + page - 1) / page * page;
    if (range < bytes) return std::nullopt;
    uint64_t address = place(range);
    segments_.push_back({address,
                         range,
                         page,
                         want.owner,
                         want.stream,
                         want.is_small,
                         ++made_,
                         {{address, range, 0, State::kHole, 0}}});
    start = Place{segments_.size() - 1, 0};
  }
  uint64_t address = segments_[start->segment].blocks[start->block].address;
  for (;;) {
    Place at = find(address);
    const std::vector<Block>& blocks = segments_[at.segment].blocks;
    bool is_hole = blocks[at.block].state == State::kHole;
    uint64_t have = is_hole ? 0 : blocks[at.block].bytes;
    if (have >= bytes) return at;
    size_t hole = is_hole ? at.block : at.block + 1;
    if (!map(at.segment, hole, std::min(bytes - have, blocks[hole].bytes))) return std::nullopt;
  }
}

bool NaiveAllocator::map(size_t index, size_t hole, uint64_t bytes) {
  Segment& segment = segments_[index];
  bytes = (bytes + segment.page_bytes - 1) / segment.page_bytes * segment.page_bytes;
  if (usedBytes() + bytes > capacity_bytes_) return false;
  Block& it = segment.blocks[hole];
  uint64_t address = it.address, rest = it.bytes - bytes;
  it.bytes = bytes;
  it.state = State::kFree;
  it.since = searches_[{segment.owner, segment.is_small}];
  if (rest > 0)
    segment.blocks.insert(segment.blocks.begin() + static_cast<ptrdiff_t>(hole) + 1,
                          {address + bytes, rest, 0, State::kHole, 0});
  join(segment);
  write("segment_map", address, bytes, segment.stream);
  return true;
}

void NaiveAllocator::collect() {
  auto limit = static_cast<uint64_t>(settings_.gc_threshold * static_cast<double>(capBytes()));
  uint64_t used = usedBytes(), reclaimed = 0;
  if (used <= limit) return;
  std::vector<uint64_t> candidates;
  for (const Place& it : freeBlocks(0, false))
    if (segments_[it.segment].blocks.size() == 1)
      candidates.push_back(segments_[it.segment].address);
  auto age = [&](uint64_t address) {
    Place it = find(address);
    return static_cast<double>(searches_[{0, false}] -
                               segments_[it.segment].blocks[it.block].since);
  };
  while (reclaimed < used - limit && !candidates.empty()) {
    double sum = 0;
    for (uint64_t address : candidates) sum += age(address);
    double average = sum / static_cast<double>(candidates.size());
    std::vector<uint64_t> victims, left;
    for (uint64_t address : candidates) {
      bool goes = age(address) >= average && segments_[find(address).segment].page_bytes == 0;
      (goes ? victims : left).push_back(address);
    }
    if (victims.empty()) return;
    for (uint64_t address : victims) {
      reclaimed += segments_[find(address).segment].bytes;
      release(address);
    }
    candidates = left;
  }
}

// The first large enough free block is released if allowed; if not, smaller ones, largest first.
bool NaiveAllocator::releaseOversize(const Want& want) {
  uint64_t least = settings_.max_split_bytes;
  if (least == kUnlimited) return false;
  uint64_t wanted = std::max(want.bytes, least);
  auto mayGo = [&](const Place& it) {
    return segments_[it.segment].page_bytes == 0 && segments_[it.segment].blocks.size() == 1;
  };
  std::vector<uint64_t> below;
  for (const Place& it : freeBlocks(want.owner, want.is_small)) {
    const Segment& segment = segments_[it.segment];
    const Block& block = segment.blocks[it.block];
    if (segment.stream != want.stream || block.bytes < least) continue;
    if (block.bytes >= wanted) {
      if (mayGo(it)) {
        release(block.address);
        return true;
      }
      break;
    }
    if (mayGo(it)) below.push_back(block.address);
  }
  uint64_t released = 0;
  for (size_t i = below.size(); i-- > 0 && released < wanted;) {
    released += segments_[find(below[i]).segment].bytes;
    release(below[i]);
  }
  return released >= wanted;
}

void NaiveAllocator::release(uint64_t address) {
  size_t index = find(address).segment;
  Segment segment = segments_[index];
  segments_.erase(segments_.begin() + static_cast<ptrdiff_t>(index));
  write("segment_free", segment.address, segment.bytes, segment.stream);
}

void NaiveAllocator::emptyCache() {
  done_.clear();
  for (uint64_t address : std::vector<uint64_t>(waiting_)) complete(address);
  flush(0, false);
  flush(0, true);
  std::vector<uint32_t> left;
  for (uint32_t owner : private_pools_) {
    if (released_.contains(owner)) {
      flush(owner, true);
      flush(owner, false);
    }
    bool has_segments =
        std::ranges::any_of(segments_, [&](const Segment& it) { return it.owner == owner; });
    bool is_gone = released_.contains(owner) && !has_segments;
    if (is_gone) {
      released_.erase(owner);
      searches_.erase({owner, false});
      searches_.erase({owner, true});
    } else {
      left.push_back(owner);
    }
  }
  private_pools_ = left;
}

// Releases whole segments, and whole free pages.
void NaiveAllocator::flush(uint32_t owner, bool is_small) {
  std::vector<uint64_t> whole, mapped;
  for (const Place& it : freeBlocks(owner, is_small)) {
    const Segment& segment = segments_[it.segment];
    uint64_t address = segment.blocks[it.block].address;
    if (segment.page_bytes > 0) {
      mapped.push_back(address);
    } else if (segment.blocks.size() == 1) {
      whole.push_back(address);
    }
  }
  for (uint64_t address : whole) release(address);
  for (uint64_t address : mapped) unmap(find(address));
}

void NaiveAllocator::unmap(Place place) {
  Segment& segment = segments_[place.segment];
  Block it = segment.blocks[place.block];
  uint64_t page = segment.page_bytes, before = it.address - segment.address;
  uint64_t begin = segment.address + (before + page - 1) / page * page;
  uint64_t end = segment.address + (before + it.bytes) / page * page;
  if (end <= begin) return;
  std::vector<Block> parts;
  uint64_t now = searches_[{segment.owner, segment.is_small}];
  if (begin > it.address) parts.push_back({it.address, begin - it.address, 0, State::kFree, now});
  parts.push_back({begin, end - begin, 0, State::kHole, 0});
  if (it.address + it.bytes > end)
    parts.push_back({end, it.address + it.bytes - end, 0, State::kFree, now});
  auto at = segment.blocks.erase(segment.blocks.begin() + static_cast<ptrdiff_t>(place.block));
  segment.blocks.insert(at, parts.begin(), parts.end());
  join(segment);
  write("segment_unmap", begin, end - begin, segment.stream);
  if (segment.blocks.size() == 1)
    segments_.erase(segments_.begin() + static_cast<ptrdiff_t>(place.segment));
}

}  // namespace tidegauge::testing
