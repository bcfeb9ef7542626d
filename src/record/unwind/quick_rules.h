// The recorder's side of bpf/quick_rules.h: stores rules where stack walks find them fastest.
//
//   QuickRules quick(programs.mapDescriptor("quick_rules")); quick.set({place, code, 0}, rule);
#pragma once

#include <cstddef>
#include <cstdint>

#include "bpf/quick_rules.h"

namespace tidegauge::record {

class QuickRules {
 public:
  explicit QuickRules(int map);  // if it cannot be mapped, nothing is set
  ~QuickRules();
  QuickRules(const QuickRules&) = delete;
  QuickRules& operator=(const QuickRules&) = delete;

  void set(const unwind_key& key, const unwind_rule& rule);
  void drop(const unwind_key& key);

 private:
  quick_rule* slots_ = nullptr;
};

// False if the rule does not fit: large frames, realigned stacks.
bool packRule(const unwind_rule& rule, uint64_t& packed);

}  // namespace tidegauge::record
