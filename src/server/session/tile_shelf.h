// The last tiles of a file, by the text of the question. A picture that is shown again (in another
// tab, after a reload, after zooming out and back) is not computed again, and two requests for the
// same tile share the work.
//
//   request 1 ─► computes ──────────► keeps, answers
//   request 2 ─► waits for request 1 ──────► answers    and computes itself if 1 was stopped
//
// Cost: a list of some hundred tiles; at most kMostBytes. Thread-safe.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

namespace tidegauge::server {

class TileShelf {
 public:
  using Tile = std::shared_ptr<const std::string>;
  static constexpr size_t kMostBytes = 16 << 20;

  // `compute` returns nullptr if it was stopped; so does get() then, or once `stop` is requested.
  Tile get(const std::string& key, const std::stop_token& stop,
           const std::function<Tile()>& compute);
  size_t bytes() const;

 private:
  struct Entry {
    std::string key;
    Tile tile;  // nullptr: being computed
  };
  static size_t bytesOf(const Entry& entry) {
    return entry.key.size() + (entry.tile == nullptr ? 0 : entry.tile->size());
  }
  std::list<Entry>::iterator find(const std::string& key);
  void dropOldest();

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::list<Entry> entries_;  // newest first
  size_t bytes_ = 0;
};

}  // namespace tidegauge::server
