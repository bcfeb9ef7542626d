// WhatIfBoard: answers to what-if questions of a file, and how far the running ones are.
//
//   get(key, stop, compute)   computes once; a concurrent caller with the same key waits
//   progressOf(key)           {done 4, of 12} while it runs
//
// Unlike Kept, a computation may be stopped by its client: then the next caller begins anew.
// Thread-safe. Cost: one lookup.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

namespace tidegauge::server {

class WhatIfBoard {
 public:
  struct Progress {
    bool is_running = false;
    size_t done = 0, of = 0;  // of candidates; 0 of 0: the recording is being verified
  };
  using Report = std::function<void(size_t done, size_t of)>;
  // Nothing: stopped.
  using Compute = std::function<std::optional<std::string>(const Report& report)>;

  // Nothing: `stop` was requested.
  std::optional<std::string> get(const std::string& key, const std::stop_token& stop,
                                 const Compute& compute) {
    std::unique_lock lock(mutex_);
    std::shared_ptr<Entry>& kept = entries_[key];
    if (kept == nullptr) kept = std::make_shared<Entry>();
    std::shared_ptr<Entry> entry = kept;
    changed_.wait(lock, stop, [&] { return !entry->progress.is_running; });
    if (entry->progress.is_running) return std::nullopt;
    if (entry->text) return entry->text;
    entry->progress = {.is_running = true};
    dropOthers(entry);
    lock.unlock();
    std::optional<std::string> text;
    std::exception_ptr failure;  // out of memory: the next caller tries again
    try {
      text = compute([&](size_t done, size_t of) {
        std::lock_guard report_lock(mutex_);
        entry->progress = {.is_running = true, .done = done, .of = of};
      });
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    entry->progress = {};
    entry->text = text;
    changed_.notify_all();
    if (failure) std::rethrow_exception(failure);
    return text;
  }

  Progress progressOf(const std::string& key) const {
    std::lock_guard lock(mutex_);
    auto entry = entries_.find(key);
    return entry == entries_.end() ? Progress() : entry->second->progress;
  }

 private:
  struct Entry {
    std::optional<std::string> text;
    Progress progress;
  };
  static constexpr size_t kMost = 64;

  // Questions have texts of a client, and each text is another key.
  void dropOthers(const std::shared_ptr<Entry>& entry) {
    if (entries_.size() <= kMost) return;
    std::erase_if(entries_, [&](const auto& it) {
      return it.second != entry && !it.second->progress.is_running;
    });
  }

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;
};

}  // namespace tidegauge::server
