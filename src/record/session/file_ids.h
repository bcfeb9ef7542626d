// FileIds: the numbers of a session's rows in the file that is being written. In a recording of one
// file they are the session's own; a part of a ring has only the rows it needs, numbered from 0.
//
//   FileIds stacks(true); stacks.add(70) → 0; stacks.add(12) → 1;
//   stacks.find(70) → 0; stacks.find(5) → none
//
// Cost: nothing for one file; for a ring a hash table of the part's rows.
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

 private:
  bool of_parts_;
  boost::unordered_flat_map<uint32_t, uint32_t> ids_;
};

// One per table that other rows name.
struct FileNumbers {
  explicit FileNumbers(bool of_parts)
      : processes(of_parts),
        modules(of_parts),
        frames(of_parts),
        stacks(of_parts),
        kernels(of_parts) {}
  FileIds processes, modules, frames, stacks, kernels;
};

}  // namespace tidegauge::record
