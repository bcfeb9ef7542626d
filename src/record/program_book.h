// ProgramBook: maps a program of the kernel to its process in the session, and keeps what arrived
// for a program before it was known.
//
//   name of a kernel for program 7     waits
//   counts for program 7               wait
//   program 7 is first seen            → process 2; its names are passed on
//   program 7 ends                     known until its last counts are taken
//
// Cost: a map lookup per question.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "bpf/records.h"
#include "record/kernel/kernel_counts.h"

namespace tidegauge::record {

class ProgramBook {
 public:
  // No process: it is excluded by its name. Returns the names that arrived before.
  std::vector<name_record> add(uint32_t program, std::optional<uint32_t> process) {
    processes_[program] = process;
    auto early = early_names_.extract(program);
    return early.empty() ? std::vector<name_record>() : std::move(early.mapped());
  }
  bool contains(uint32_t program) const { return processes_.contains(program); }
  std::optional<uint32_t> processOf(uint32_t program) const {
    auto found = processes_.find(program);
    return found == processes_.end() ? std::nullopt : found->second;
  }
  void keepName(const name_record& name) { early_names_[name.program].push_back(name); }

  void end(uint32_t program) { ended_.push_back(program); }
  // Programs that ended before the counts were last taken, so nothing more follows for them.
  std::vector<uint32_t> forgetEnded() {
    for (uint32_t program : ended_) {
      processes_.erase(program);
      early_names_.erase(program);
    }
    return std::exchange(ended_, {});
  }

  // Counts of unknown programs wait here for the next time.
  TakenCounts& waitingCounts() { return waiting_counts_; }
  // Calls give(process, key, value) for the rows of known programs and drops them.
  template <class Key, class Value, class Give>
  void giveRows(std::vector<std::pair<Key, Value>>& rows, const Give& give) const {
    std::erase_if(rows, [&](const auto& row) {
      auto found = processes_.find(row.first.program);
      if (found == processes_.end()) return false;
      if (found->second) give(*found->second, row.first, row.second);
      return true;
    });
  }

 private:
  std::map<uint32_t, std::optional<uint32_t>> processes_;  // by program
  std::map<uint32_t, std::vector<name_record>> early_names_;
  std::vector<uint32_t> ended_;  // their last counts have not been taken yet
  TakenCounts waiting_counts_;
};

}  // namespace tidegauge::record
