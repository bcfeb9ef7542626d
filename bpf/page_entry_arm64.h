// Entries of an arm64 page table (granule of 4 KiB) in the form of x86-64 (page_entry.h). Pure, for
// the BPF program and its tests.
//
//   0x00e8000012345f43 → 0x12345061: there, touched, written
//
//   56  SPECIAL   55 DIRTY   52 CONTIGUOUS   51 DBM   49 to 12 place   11 NG   10 AF   7 RDONLY
//   1 TABLE   0 VALID
//   1 TABLE   0 VALID
//   9 and 8: shareability. With LPA2, these contain bits 51 and 50 of the place.
// Sources: Arm ARM (DDI 0487) D8.3; Linux 5.17 to 6.12,
// arch/arm64/include/asm/pgtable{,-hwdef,-prot}.h.
#pragma once

#include "page_entry.h"

#define ARM64_VALID (1ULL << 0)
#define ARM64_TABLE (1ULL << 1)   // a table; in the last level a page; 0: a block (2 MiB, 1 GiB)
#define ARM64_RDONLY (1ULL << 7)  // AP[2]
#define ARM64_AF (1ULL << 10)
#define ARM64_NG (1ULL << 11)
#define ARM64_DBM (1ULL << 51)  // writable: the processor clears RDONLY on the first write
#define ARM64_CONTIGUOUS (1ULL << 52)
#define ARM64_DIRTY (1ULL << 55)  // Linux's own, as SPECIAL
#define ARM64_SPECIAL (1ULL << 56)
#define ARM64_GROUP 16  // entries that CONTIGUOUS joins

// The differences between kernels and tables.
struct arm64_form {
  __u64 hidden;     // without VALID, each of these means: resident, but inaccessible
  __u32 swap_file;  // the bit where the number of a swap file begins; of 5 bits
  __u32 is_wide;    // places of 52 bits (LPA2)
};

// Linux 6.10 changed the layout of entries without VALID; 5.19 put a mark before the number of the
// swap file. Five levels only exist with LPA2 (a kernel for 52 bits has four on a processor without
// it).
static inline struct arm64_form arm64FormOf(__u32 linux_version, __u32 levels) {
  struct arm64_form form;
  int is_new = linux_version >= (6 << 16 | 10 << 8);
  form.hidden = is_new ? ARM64_NG : 1ULL << 58 | 1ULL << 59;
  form.swap_file = is_new ? 6 : linux_version >= (5 << 16 | 19 << 8) ? 3 : 2;
  form.is_wide = levels == 5;
  return form;
}

// Without branches, since the kernel's verifier would follow each in both directions, entry by
// entry.
static inline __u64 marksOfArm64(__u64 entry) {
  __u64 touched = (entry & ARM64_AF) >> 5;
  __u64 written = entry >> 49 | (entry >> 45 & ~(entry >> 1));  // DIRTY; DBM without RDONLY
  __u64 special = (entry & ARM64_SPECIAL) >> 47;
  __u64 leaf = (~entry & ARM64_TABLE) << 6;
  return touched | (written & PAGE_ENTRY_DIRTY) | special | leaf;
}

// All ones for an entry that CONTIGUOUS joins to others, else 0.
static inline __u64 joinedOfArm64(__u64 entry) { return -(entry & entry >> 52 & ARM64_VALID); }

static inline __u64 pageEntryOfArm64(__u64 entry, const struct arm64_form* form) {
  __u64 place = form->is_wide ? (entry & 0x0003fffffffff000ULL) | (entry & 0x300) << 42
                              : entry & 0x0000fffffffff000ULL;
  __u64 marks = marksOfArm64(entry);
  if (entry & ARM64_VALID) return place | marks | PAGE_ENTRY_PRESENT;
  if (entry & form->hidden) return (~place & PAGE_ENTRY_PLACE) | marks | PAGE_ENTRY_HIDDEN;
  if (entry == 0) return 0;
  return (entry >> form->swap_file & 31) << PAGE_ENTRY_SWAP_FILE | 2;  // file 0 must not look empty
}

// ARM64_GROUP entries of the last level, each in its place. The processor stores those joined by
// CONTIGUOUS in one entry of its TLB and may mark any of them for all, so a mark of one applies to
// each.
static inline void pageEntriesOfArm64(__u64* group, const struct arm64_form* form) {
  __u64 of_all = 0;
  for (int i = 0; i < ARM64_GROUP; ++i) of_all |= marksOfArm64(group[i]) & joinedOfArm64(group[i]);
  of_all &= PAGE_ENTRY_ACCESSED | PAGE_ENTRY_DIRTY;
  for (int i = 0; i < ARM64_GROUP; ++i) {
    __u64 joined = of_all & joinedOfArm64(group[i]);
    group[i] = pageEntryOfArm64(group[i], form) | joined;
  }
}
