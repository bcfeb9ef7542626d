#include "replay/allocator/free_shelf.h"

namespace tidegauge::replay {

void FreeShelf::insert(const FreeKey& key) {
  Position at = find([&](const FreeKey& other) { return other < key; });
  if (at == end()) {  // at the end: the last chunk grows
    if (chunks_.empty()) {
      chunks_.emplace_back();
      last_.emplace_back();
    }
    at.chunk = static_cast<uint32_t>(chunks_.size()) - 1;
    at.index = static_cast<uint32_t>(chunks_[at.chunk].size());
    last_[at.chunk] = key;
  } else if (!(key < (*this)[at])) {
    return;
  }
  Chunk& chunk = chunks_[at.chunk];
  chunk.insert(chunk.begin() + at.index, key);
  if (chunk.size() > kMaxKeys) split(at.chunk);
}

void FreeShelf::erase(const FreeKey& key) {
  Position at = find([&](const FreeKey& other) { return other < key; });
  if (at != end() && !(key < (*this)[at])) erase(at);
}

void FreeShelf::erase(Position at) {
  Chunk& chunk = chunks_[at.chunk];
  chunk.erase(chunk.begin() + at.index);
  if (!chunk.empty()) {
    last_[at.chunk] = chunk.back();
    return;
  }
  chunks_.erase(chunks_.begin() + at.chunk);
  last_.erase(last_.begin() + at.chunk);
}

void FreeShelf::split(uint32_t chunk) {
  Chunk& full = chunks_[chunk];
  auto middle = full.begin() + static_cast<std::ptrdiff_t>(full.size() / 2);
  Chunk upper(middle, full.end());
  full.erase(middle, full.end());
  last_.insert(last_.begin() + chunk, full.back());
  chunks_.insert(chunks_.begin() + chunk + 1, std::move(upper));
}

}  // namespace tidegauge::replay
