// Reads the page tables of one process, as the processor does, and writes nothing: the accessed and
// dirty bits of each page, which no file of /proc tells per page.
//
//   pgd[47..39] → pud[38..30] → pmd[29..21] → table of 512 entries (5 levels: p4d between the first two)
//
// Without locks: what is unmapped in this moment reads as nothing or fails, never faults. x86-64.
// Source: Intel SDM volume 3, 4.5 (format of the tables).
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "page_tables.h"

#define CORE __attribute__((preserve_access_index))
struct mm_struct {
  void* pgd;
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
ARRAY(tables, struct page_table, PAGE_TABLES_BATCH);

#define PRESENT 1ULL
#define LEAF 0x80ULL
#define HIDDEN 0x100ULL
#define NO_GIANT (~0ULL)
#define PHYSICAL 0x000ffffffffff000ULL

struct walk {
  __u64 top, direct_map;
  __u32 levels, part;
  // Neighbours have all but the last step in common: of the last GiB the entry that tells of it; 0: none.
  __u64 giant, giant_entry;
};

// The entry for `address` in the table at `table`; 0: none. A large page that NUMA balancing hides keeps
// its place without PRESENT.
static __always_inline __u64 entryOf(__u64 table, __u64 address, int shift) {
  __u64 entry = 0;
  if (bpf_probe_read_kernel(&entry, 8, (void*)(table + ((address >> shift) & 511) * 8))) return 0;
  if (entry & PRESENT) return entry;
  return (entry & (LEAF | HIDDEN)) == (LEAF | HIDDEN) ? entry : 0;
}

// The entry that tells of the GiB in which `address` lies; 0: none.
static __always_inline __u64 giantEntryOf(struct walk* walk, __u64 address) {
  __u64 at = walk->top, entry;
  if (walk->levels == 5) {
    if (!(entry = entryOf(at, address, 48))) return 0;
    at = walk->direct_map + (entry & PHYSICAL);
  }
  if (!(entry = entryOf(at, address, 39))) return 0;
  return entryOf(walk->direct_map + (entry & PHYSICAL), address, 30);
}

static long lookAt(__u32 i, struct walk* walk) {
  __u64* address = bpf_map_lookup_elem(&wanted, &i);
  __u64* kind = bpf_map_lookup_elem(&kinds, &i);
  struct page_table* table = bpf_map_lookup_elem(&tables, &i);
  if (!address || !kind || !table) return 1;
  *kind = PAGE_TABLE_NONE_NEAR;
  if (walk->giant != *address >> 30) {
    walk->giant_entry = giantEntryOf(walk, *address);
    walk->giant = *address >> 30;
  }
  __u64 entry = walk->giant_entry;
  if (!entry) return 0;
  if (entry & LEAF) {
    table->entry[0] = entry;
    *kind = PAGE_TABLE_GIANT;
    return 0;
  }
  *kind = PAGE_TABLE_NONE;
  if (!(entry = entryOf(walk->direct_map + (entry & PHYSICAL), *address, 21))) return 0;
  if (entry & LEAF) {
    table->entry[0] = entry;
    *kind = PAGE_TABLE_HUGE;
    return 0;
  }
  __u64 from = walk->direct_map + (entry & PHYSICAL);
  long failed = 0;
  if (walk->part == PAGE_TABLE_ALL) {
    failed = bpf_probe_read_kernel(table, sizeof(*table), (void*)from);
  } else if (walk->part == PAGE_TABLE_SOME) {
    __u64 first = (*address >> 12) & (PAGE_TABLE_ENTRIES - PAGE_TABLE_FEW);
    failed = bpf_probe_read_kernel(&table->entry[first], 8 * PAGE_TABLE_FEW, (void*)(from + 8 * first));
  }
  *kind = failed ? PAGE_TABLE_FAILED : PAGE_TABLE_OF_PAGES;
  return 0;
}

SEC("iter/task")
int readPageTables(struct bpf_iter__task* context) {
  __u32 first = 0;
  struct page_tables_request* asked = bpf_map_lookup_elem(&request, &first);
  struct task_struct* task = context->task;
  if (!asked || !task || (__u32)task->pid != asked->pid) return 0;
  struct mm_struct* memory = task->mm;
  if (!memory) return 0;
  struct walk walk = {(__u64)BPF_CORE_READ(memory, pgd), asked->direct_map, asked->levels,
                      asked->part, NO_GIANT, 0};
  asked->top = walk.top;
  __u32 count = asked->count;
  if (count > PAGE_TABLES_BATCH) count = PAGE_TABLES_BATCH;
  bpf_loop(count, lookAt, &walk, 0);
  asked->done = count;
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
