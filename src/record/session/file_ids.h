// FileIds: the numbers of a session's rows in the file that is being written. A recording of one
// file has the session's own; each part of a ring has only what it needs, numbered from 0.
//
//   FileIds stacks(true); stacks.add(70) → 0; stacks.add(12) → 1;
//   stacks.find(70) → 0; stacks.find(5) → none
//   stacks.begin();       another file: it has none yet
//
// Cost: nothing for one file; for a ring a hash table of what the part has.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>

namespace tidegauge::record {

class FileIds {
 public:
  explicit FileIds(bool of_parts = false) : of_parts_(of_parts) {}
  std::optional<uint32_t> find(uint32_t id) const {
    if (!of_parts_) return id;
    auto found = ids_.find(id);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  uint32_t add(uint32_t id) {
    if (!of_parts_) return id;
    return ids_.try_emplace(id, static_cast<uint32_t>(ids_.size())).first->second;
  }
  void begin() { ids_.clear(); }

 private:
  bool of_parts_;
  boost::unordered_flat_map<uint32_t, uint32_t> ids_;
};

}  // namespace tidegauge::record
