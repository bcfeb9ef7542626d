// The last answers to expensive questions about a file (filters, sort orders, indexes), by the text
// of the question. Thread-safe; a concurrent caller with the same question waits.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tidegauge::server {

template <class T>
class Kept {
 public:
  explicit Kept(size_t most) : most_(most) {}

  std::shared_ptr<const T> get(const std::string& key,
                               const std::function<std::shared_ptr<const T>()>& compute) {
    std::shared_ptr<Entry> entry = find(key);
    std::call_once(entry->once, [&] { entry->value = compute(); });
    return entry->value;
  }

  // All answers, by the question; nobody may ask any more.
  std::vector<std::pair<std::string, std::shared_ptr<const T>>> takeAll() {
    std::lock_guard lock(mutex_);
    std::vector<std::pair<std::string, std::shared_ptr<const T>>> all;
    for (const std::shared_ptr<Entry>& entry : entries_)
      if (entry->value) all.emplace_back(entry->key, std::move(entry->value));
    entries_.clear();
    return all;
  }

  size_t size() const {
    std::lock_guard lock(mutex_);
    return entries_.size();
  }

 private:
  struct Entry {
    std::string key;
    std::once_flag once;
    std::shared_ptr<const T> value;
  };

  // The entry of the key, now the newest; created if there is none.
  std::shared_ptr<Entry> find(const std::string& key) {
    std::lock_guard lock(mutex_);
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if ((*it)->key != key) continue;
      entries_.splice(entries_.begin(), entries_, it);
      return entries_.front();
    }
    entries_.push_front(std::make_shared<Entry>());
    entries_.front()->key = key;
    if (entries_.size() > most_) entries_.pop_back();
    return entries_.front();
  }

  mutable std::mutex mutex_;
  size_t most_;
  std::list<std::shared_ptr<Entry>> entries_;
};

}  // namespace tidegauge::server
