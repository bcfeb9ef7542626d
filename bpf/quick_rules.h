// The most frequently used rules of walks, in 16 bytes each, in an array that both sides map: a
// look-up is a multiplication and a read, where the hash table of all rules costs a call and some
// misses.
//
//   slot = top bits of (place, code) × constant     {key, rule}: 65,536 of them, one rule each
//
// Only the recorder writes: key 0, rule, key, in this order; a program reads key, rule, key. If two
// places need one slot, the later one has it, and the other is found in `rules`. Only speed depends
// on it.
#pragma once

#include "records.h"

struct quick_rule {
  __u64 key;   // 0: none
  __u64 rule;  // cfa | bp << 8 | cfa_offset << 16 | bp_offset << 40, the last two of 24 bits
};
TIDEGAUGE_CHECK_SIZE(quick_rule, 16);
#define QUICK_BITS 16
#define QUICK_FACTOR 0x9e3779b97f4a7c15ULL

// Distinct for the places of one code; for two codes equal with a probability of 2^-64.
static inline __u64 quickSalt(__u32 code) { return code * QUICK_FACTOR; }
static inline __u32 quickSlot(__u64 key) {
  return (__u32)((key * QUICK_FACTOR) >> (64 - QUICK_BITS));
}

static inline void unpackRule(__u64 packed, struct unwind_rule* rule) {
  rule->cfa = (__u8)packed;
  rule->bp = (__u8)(packed >> 8);
  rule->cfa_offset = (__s32)((__s64)(packed << 24) >> 40);
  rule->bp_offset = (__s32)((__s64)packed >> 40);
  rule->cfa_more = 0;
}
