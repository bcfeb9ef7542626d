// SortedChunks: a sorted sequence in chunks of at most 512 items. As fast as one sorted vector
// while it is small; an insertion never moves more than one chunk, so a hostile file with a million
// live ranges does not cost a million times a million.
//
//   [ 3 | 7 | 9 ] [ 12 | 15 ] [ 20 | 21 | 30 ]      lowerBound(13) → 15
//
// Cost: lookup O(log n); insert and erase O(log n + 512), plus a new chunk now and then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tidegauge::base {

// `KeyOf` is a function object: item → its sort key.
template <class Item, class KeyOf>
class SortedChunks {
 public:
  using Key = decltype(KeyOf()(std::declval<const Item&>()));

  struct Position {
    size_t chunk = 0;
    size_t index = 0;
    bool operator==(const Position&) const = default;
  };

  size_t size() const { return size_; }
  Position end() const { return {chunks_.size(), 0}; }
  const Item& at(Position position) const { return chunks_[position.chunk][position.index]; }

  // The first item whose key is not less than `key`, or end().
  Position lowerBound(Key key) const {
    auto chunk = std::partition_point(chunks_.begin(), chunks_.end(),
                                      [&](const Chunk& c) { return KeyOf()(c.back()) < key; });
    if (chunk == chunks_.end()) return end();
    // Without branches, since which half has it cannot be predicted.
    const Item* items = chunk->data();
    size_t left = chunk->size();
    while (left > 1) {
      size_t half = left / 2;
      items += KeyOf()(items[half - 1]) < key ? half : 0;
      left -= half;
    }
    items += KeyOf()(*items) < key ? 1 : 0;
    return {static_cast<size_t>(chunk - chunks_.begin()),
            static_cast<size_t>(items - chunk->data())};
  }

  Position next(Position position) const {
    ++position.index;
    if (position.index < chunks_[position.chunk].size()) return position;
    return {position.chunk + 1, 0};
  }

  // The item before `position`, or end() if there is none.
  Position previous(Position position) const {
    if (position.index > 0) return {position.chunk, position.index - 1};
    if (position.chunk == 0) return end();
    return {position.chunk - 1, chunks_[position.chunk - 1].size() - 1};
  }

  // Inserts before items with an equal key.
  void insert(const Item& item) { insert(lowerBound(KeyOf()(item)), item); }
  // `position`: lowerBound() of its key.
  void insert(Position position, const Item& item) {
    ++size_;
    if (position == end()) {  // at the end: the last chunk grows
      if (chunks_.empty()) chunks_.emplace_back();
      position = {chunks_.size() - 1, chunks_.back().size()};
    }
    Chunk& chunk = chunks_[position.chunk];
    chunk.insert(chunk.begin() + static_cast<std::ptrdiff_t>(position.index), item);
    if (chunk.size() > kMaxItems) split(position.chunk);
  }

  void erase(Position position) {
    --size_;
    Chunk& chunk = chunks_[position.chunk];
    chunk.erase(chunk.begin() + static_cast<std::ptrdiff_t>(position.index));
    if (chunk.empty()) chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(position.chunk));
  }

 private:
  using Chunk = std::vector<Item>;
  static constexpr size_t kMaxItems = 512;

  void split(size_t index) {
    Chunk& full = chunks_[index];
    auto middle = full.begin() + static_cast<std::ptrdiff_t>(full.size() / 2);
    Chunk upper(middle, full.end());
    full.erase(middle, full.end());
    chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(index) + 1, std::move(upper));
  }

  std::vector<Chunk> chunks_;  // none is empty
  size_t size_ = 0;
};

}  // namespace tidegauge::base
