// The recorder's side of bpf/quick_rules.h: puts rules where walks find them soonest.
//
//   QuickRules quick(programs.mapDescriptor("quick_rules")); quick.set({place, code, 0}, rule);
#pragma once

#include <cstddef>
#include <cstdint>

#include "bpf/quick_rules.h"

namespace tidegauge::record {

class QuickRules {
 public:
  explicit QuickRules(int map);  // where it cannot be mapped, nothing is set
  ~QuickRules();
  QuickRules(const QuickRules&) = delete;
  QuickRules& operator=(const QuickRules&) = delete;

  void set(const unwind_key& key, const unwind_rule& rule);
  void drop(const unwind_key& key);

 private:
  quick_rule* slots_ = nullptr;
};

// Nothing where the rule does not fit: large frames, stacks that are aligned anew.
bool packRule(const unwind_rule& rule, uint64_t& packed);

}  // namespace tidegauge::record
