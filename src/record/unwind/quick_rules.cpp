#include "record/unwind/quick_rules.h"

#include <sys/mman.h>

namespace tidegauge::record {
namespace {

constexpr size_t kBytes = sizeof(quick_rule) << QUICK_BITS;

void store(__u64& word, uint64_t value) { __atomic_store_n(&word, value, __ATOMIC_RELEASE); }
uint64_t keyOf(const unwind_key& key) { return key.place ^ quickSalt(key.code); }

}  // namespace

bool packRule(const unwind_rule& rule, uint64_t& packed) {
  auto fits = [](int32_t offset) { return offset >= -(1 << 23) && offset < 1 << 23; };
  if (rule.cfa_more != 0 || !fits(rule.cfa_offset) || !fits(rule.bp_offset)) return false;
  auto bits = [](int32_t offset) { return static_cast<uint64_t>(offset) & 0xffffff; };
  packed =
      rule.cfa | uint64_t{rule.bp} << 8 | bits(rule.cfa_offset) << 16 | bits(rule.bp_offset) << 40;
  return true;
}

QuickRules::QuickRules(int map) {
  void* slots = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
  if (slots != MAP_FAILED) slots_ = static_cast<quick_rule*>(slots);
}

QuickRules::~QuickRules() {
  if (slots_ != nullptr) munmap(slots_, kBytes);
}

void QuickRules::set(const unwind_key& key, const unwind_rule& rule) {
  drop(key);
  uint64_t packed = 0;
  if (slots_ == nullptr || !packRule(rule, packed)) return;
  quick_rule& slot = slots_[quickSlot(keyOf(key))];
  store(slot.key, 0);
  store(slot.rule, packed);
  store(slot.key, keyOf(key));
}

void QuickRules::drop(const unwind_key& key) {
  if (slots_ == nullptr) return;
  quick_rule& slot = slots_[quickSlot(keyOf(key))];
  if (slot.key == keyOf(key)) store(slot.key, 0);
}

}  // namespace tidegauge::record
