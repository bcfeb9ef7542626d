// Reads the page tables of one process, as the processor does, and writes nothing: the accessed and
// dirty bits of each page, which no file in /proc contains per page.
//
//   pgd[47..39] → pud[38..30] → pmd[29..21] → table of 512 entries
//   (5 levels: p4d between the first two; 3, of arm64 with 39 bits of addresses: pud is the first)
//
// Without locks: a page that is unmapped at that moment reads as nothing or fails, and never
// faults. x86-64; on arm64 tested in QEMU, not on hardware: its entries are translated as they are
// read, so that all readers see those of x86-64. Sources: page_entry.h, page_entry_arm64.h.
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "page_entry.h"
#include "page_tables.h"

#define CORE __attribute__((preserve_access_index))
struct seqcount {
  unsigned sequence;
} CORE;
struct mm_struct {
  void* pgd;
  int map_count;
  struct seqcount mm_lock_seq;
} CORE;
struct mm_struct___6_4 {
  int mm_lock_seq;
} CORE;
struct task_struct {
  int pid;
  struct mm_struct* mm;
} CORE;
struct bpf_iter_meta;
struct bpf_iter__task {
  struct bpf_iter_meta* meta;
  struct task_struct* task;
} CORE;

#define ARRAY(name, value_type, entries)             \
  struct {                                           \
    __uint(type, BPF_MAP_TYPE_ARRAY);                \
    __uint(map_flags, BPF_F_MMAPABLE);               \
    __uint(max_entries, entries);                    \
    __type(key, __u32);                              \
    __type(value, value_type);                       \
  } name SEC(".maps")
ARRAY(request, struct page_tables_request, 1);
ARRAY(wanted, __u64, PAGE_TABLES_BATCH);
ARRAY(kinds, __u64, PAGE_TABLES_BATCH);
ARRAY(tables, struct page_table, PAGE_TABLES_HELD);

#define NO_GIANT (~0ULL)
// Bits in which arm64 may tag a kernel pointer (MTE); all set in a pointer without a tag.
#define POINTER_MARKS (0xffULL << 56)
#define LARGE_HIDDEN (PAGE_ENTRY_LEAF | PAGE_ENTRY_HIDDEN)

// How this machine's entries are read; those of x86-64 need no translation.
#ifdef __TARGET_ARCH_arm64
#include "page_entry_arm64.h"
// Filled in by libbpf. (Names with CONFIG_ would need the kernel's .config, which not every machine
// has: without it, libbpf refuses the whole program.)
extern int LINUX_KERNEL_VERSION __kconfig;
struct entry_form {
  struct arm64_form arm64;
};
static __always_inline struct entry_form formOf(__u32 levels) {
  return (struct entry_form){arm64FormOf(LINUX_KERNEL_VERSION, levels)};
}
static __always_inline __u64 translated(__u64 entry, const struct entry_form* form) {
  return pageEntryOfArm64(entry, &form->arm64);
}
struct groups {
  struct page_table* table;
  __u32 first;
  struct arm64_form form;
};
static long translateGroup(__u32 i, struct groups* groups) {
  __u32 at = (groups->first + i * ARM64_GROUP) & (PAGE_TABLE_ENTRIES - ARM64_GROUP);
  pageEntriesOfArm64(&groups->table->entry[at], &groups->form);
  return 0;
}
static __always_inline void translate(struct page_table* table, __u32 first, __u32 count,
                                      const struct entry_form* form) {
  struct groups groups = {table, first, form->arm64};
  bpf_loop(count / ARM64_GROUP, translateGroup, &groups, 0);
}
#else
struct entry_form {};
static __always_inline struct entry_form formOf(__u32 levels) { return (struct entry_form){}; }
static __always_inline __u64 translated(__u64 entry, const struct entry_form* form) {
  return entry;
}
static __always_inline void translate(struct page_table* table, __u32 first, __u32 count,
                                      const struct entry_form* form) {}
#endif

struct walk {
  __u64 top, direct_map;
  __u32 levels, part;
  // Neighbours share all steps but the last: the entry of the last GiB; 0: none.
  __u64 giant, giant_entry;
  struct entry_form form;
};

// The entry for `address` in the table at `table`; 0: none. A large page that NUMA balancing hides
// keeps its place without PRESENT.
static __always_inline __u64 entryOf(struct walk* walk, __u64 table, __u64 address, int shift) {
  __u64 entry = 0;
  if (bpf_probe_read_kernel(&entry, 8, (void*)(table + ((address >> shift) & 511) * 8))) return 0;
  entry = translated(entry, &walk->form);
  if (entry & PAGE_ENTRY_PRESENT) return entry;
  return (entry & LARGE_HIDDEN) == LARGE_HIDDEN ? entry : 0;
}

// The address of the next table, from `entry`.
static __always_inline __u64 below(struct walk* walk, __u64 entry) {
  return walk->direct_map + (entry & PAGE_ENTRY_PLACE);
}

// The entry of the GiB that contains `address`; 0: none.
static __always_inline __u64 giantEntryOf(struct walk* walk, __u64 address) {
  __u64 at = walk->top, entry;
  if (walk->levels == 5) {
    if (!(entry = entryOf(walk, at, address, 48))) return 0;
    at = below(walk, entry);
  }
  if (walk->levels >= 4) {
    if (!(entry = entryOf(walk, at, address, 39))) return 0;
    at = below(walk, entry);
  }
  return entryOf(walk, at, address, 30);
}

// Copies `count` (a power of two) entries of the table at `from`, including that of `address`, to
// `at` of `table`.
static __always_inline long readSome(struct page_table* table, __u32 at, __u64 from,
                                     __u64 address, __u32 count,
                                     const struct entry_form* form) {
  __u64 first = (address >> 12) & (PAGE_TABLE_ENTRIES - count);
  at &= PAGE_TABLE_ENTRIES - count;
  long failed = bpf_probe_read_kernel(&table->entry[at], 8 * count, (void*)(from + 8 * first));
  translate(table, at, count, form);
  return failed;
}

static long lookAt(__u32 i, struct walk* walk) {
  __u64* address = bpf_map_lookup_elem(&wanted, &i);
  __u64* kind = bpf_map_lookup_elem(&kinds, &i);
  __u32 at = i * page_table_part_entries(walk->part), place = at / PAGE_TABLE_ENTRIES;
  at %= PAGE_TABLE_ENTRIES;
  struct page_table* table = bpf_map_lookup_elem(&tables, &place);
  if (!address || !kind || !table) return 1;
  *kind = PAGE_TABLE_NONE_NEAR;
  if (walk->giant != *address >> 30) {
    walk->giant_entry = giantEntryOf(walk, *address);
    walk->giant = *address >> 30;
  }
  __u64 entry = walk->giant_entry;
  if (!entry) return 0;
  if (entry & PAGE_ENTRY_LEAF) {
    table->entry[at] = entry;
    *kind = PAGE_TABLE_GIANT;
    return 0;
  }
  *kind = PAGE_TABLE_NONE;
  if (!(entry = entryOf(walk, below(walk, entry), *address, 21))) return 0;
  if (entry & PAGE_ENTRY_LEAF) {
    table->entry[at] = entry;
    *kind = PAGE_TABLE_HUGE;
    return 0;
  }
  __u64 from = below(walk, entry);
  long failed = 0;
  if (walk->part == PAGE_TABLE_ALL) {
    failed = bpf_probe_read_kernel(table, sizeof(*table), (void*)from);
    translate(table, 0, PAGE_TABLE_ENTRIES, &walk->form);
  } else if (walk->part == PAGE_TABLE_64) {
    failed = readSome(table, at, from, *address, 64, &walk->form);
  } else if (walk->part == PAGE_TABLE_32) {
    failed = readSome(table, at, from, *address, 32, &walk->form);
  } else if (walk->part == PAGE_TABLE_16) {
    failed = readSome(table, at, from, *address, 16, &walk->form);
  }
  *kind = failed ? PAGE_TABLE_FAILED : PAGE_TABLE_OF_PAGES;
  return 0;
}

// The number of times it was locked to change its mappings. Until Linux 6.13, that is counted at
// the end; since then, it is odd meanwhile.
static __always_inline void countChanges(struct mm_struct* memory,
                                         struct page_tables_request* asked) {
  asked->knows_changes = 0;
  if (bpf_core_field_exists(memory->mm_lock_seq.sequence)) {
    __u32 sequence = BPF_CORE_READ(memory, mm_lock_seq.sequence);
    asked->changes = sequence / 2;
    asked->knows_changes = sequence % 2 == 0;
  } else if (bpf_core_field_exists(((struct mm_struct___6_4*)memory)->mm_lock_seq)) {
    asked->changes = BPF_CORE_READ((struct mm_struct___6_4*)memory, mm_lock_seq);
    asked->knows_changes = 1;
  }
}

SEC("iter/task")
int readPageTables(struct bpf_iter__task* context) {
  __u32 first = 0;
  struct page_tables_request* asked = bpf_map_lookup_elem(&request, &first);
  struct task_struct* task = context->task;
  // Copied, not read through the pointer: the kernel proves each of those by all of its types,
  // which takes it a millisecond.
  if (!asked || !task || (__u32)BPF_CORE_READ(task, pid) != asked->pid) return 0;
  struct mm_struct* memory = BPF_CORE_READ(task, mm);
  if (!memory) return 0;
  struct walk walk = {(__u64)BPF_CORE_READ(memory, pgd) | POINTER_MARKS,
                      asked->direct_map,
                      asked->levels,
                      asked->part,
                      NO_GIANT,
                      0,
                      formOf(asked->levels)};
  asked->top = walk.top;
  asked->mappings = BPF_CORE_READ(memory, map_count);
  countChanges(memory, asked);
  __u32 count = asked->count;
  if (count > PAGE_TABLES_BATCH) count = PAGE_TABLES_BATCH;
  bpf_loop(count, lookAt, &walk, 0);
  asked->done = count;
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
