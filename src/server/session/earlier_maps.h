// Address maps of the reading that a file continues, until the first question for each: then it is
// continued. Thread-safe.
//
//   reading 5 ── its maps ──► reading 7      5 is no longer shown; 6 is, while 7 is made
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "model/lives/continuation.h"
#include "view/map/address_map.h"

namespace tidegauge::server {

// By the question.
using Maps = std::map<std::string, std::shared_ptr<view::AddressMap>>;

class EarlierMaps {
 public:
  // Before the file is shown.
  void set(Maps maps, model::Continuation continuation) {
    maps_ = std::move(maps);
    continuation_ = std::move(continuation);
  }
  // nullptr: there is none, or none any more.
  std::shared_ptr<view::AddressMap> take(const std::string& key) {
    std::lock_guard lock(mutex_);
    auto found = maps_.find(key);
    return found == maps_.end() ? nullptr : std::move(found->second);
  }
  const model::Continuation& continuation() const { return continuation_; }

 private:
  std::mutex mutex_;
  Maps maps_;
  model::Continuation continuation_;
};

}  // namespace tidegauge::server
