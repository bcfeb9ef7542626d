#include "server/session/tile_shelf.h"

#include <algorithm>

namespace tidegauge::server {

std::list<TileShelf::Entry>::iterator TileShelf::find(const std::string& key) {
  return std::find_if(entries_.begin(), entries_.end(),
                      [&](const Entry& entry) { return entry.key == key; });
}

size_t TileShelf::bytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

// Tiles that are being computed stay: their computers have iterators to them.
void TileShelf::dropOldest() {
  for (auto it = entries_.end(); it != entries_.begin() && bytes_ > kMostBytes;) {
    --it;
    if (it->tile == nullptr) continue;
    bytes_ -= bytesOf(*it);
    it = entries_.erase(it);
  }
}

TileShelf::Tile TileShelf::get(const std::string& key, const std::stop_token& stop,
                               const std::function<Tile()>& compute) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (stop.stop_requested()) return nullptr;
    auto found = find(key);
    if (found == entries_.end()) break;
    if (found->tile != nullptr) {
      entries_.splice(entries_.begin(), entries_, found);
      return found->tile;
    }
    changed_.wait(lock, stop, [&] {
      auto now = find(key);
      return now == entries_.end() || now->tile != nullptr;
    });
  }
  entries_.push_front({key, nullptr});
  auto entry = entries_.begin();
  lock.unlock();
  Tile tile;
  try {
    tile = compute();
  } catch (...) {  // out of memory: the next request tries again
    lock.lock();
    entries_.erase(entry);
    changed_.notify_all();
    throw;
  }
  lock.lock();
  if (tile == nullptr) {
    entries_.erase(entry);
  } else {
    entry->tile = tile;
    bytes_ += bytesOf(*entry);
    dropOldest();
  }
  changed_.notify_all();
  return tile;
}

}  // namespace tidegauge::server
