// The interface between the reader of page tables and its BPF program.
//
//   wanted[i] ── program ──► kinds[i], tables[]
//   an address; it stands for the 2 MiB around it           entries of their page table
//
// For whole tables, tables[i] has the entries at their positions. For parts of 64, 32 or 16
// entries, they are packed, so that 512 parts of 16 take 64 KiB of the caches and not 2 MiB.
#pragma once

#include "page_entry.h"

#define PAGE_TABLES_BATCH 1024
#define PAGE_TABLE_ENTRIES 512
#define PAGE_TABLES_HELD 128  // whole ones at once, or 1,024 parts of at most 64 entries

struct page_table {
  __u64 entry[PAGE_TABLE_ENTRIES];
};

enum page_table_kind {
  PAGE_TABLE_NONE,       // nothing is mapped there
  PAGE_TABLE_OF_PAGES,   // 512 entries of 4 KiB
  PAGE_TABLE_HUGE,       // one page of 2 MiB: its entry is the first
  PAGE_TABLE_GIANT,      // a part of one of 1 GiB: likewise
  PAGE_TABLE_FAILED,     // could not be read
  PAGE_TABLE_NONE_NEAR,  // nothing is mapped in the whole 1 GiB around it
};

// How many are read: the entries around the wanted address. Half as many cause half as many cache
// misses.
enum page_table_part {
  PAGE_TABLE_ALL,
  PAGE_TABLE_64,
  PAGE_TABLE_32,
  PAGE_TABLE_16,
  PAGE_TABLE_KIND,  // none; for a large page, its entry
};

// Number of entries of tables[] for each wanted address.
static inline __u32 page_table_part_entries(__u32 part) {
  return part == PAGE_TABLE_64     ? 64
         : part == PAGE_TABLE_32   ? 32
         : part == PAGE_TABLE_16   ? 16
         : part == PAGE_TABLE_KIND ? 16
                                   : PAGE_TABLE_ENTRIES;
}

struct page_tables_request {
  __u64 direct_map;     // where the kernel maps all memory, by physical address
  __u32 pid;            // of a first thread
  __u32 count;          // of `wanted`
  __u16 levels;         // 4 or 5; on arm64 also 3
  __u16 part;           // enum page_table_part
  __u32 done;           // the program's answer: how many it processed
  __u64 top;            // and the address of the top table;
  __u32 mappings;       // number of mappings,
  __u32 changes;        // number of possible changes of them,
  __u32 knows_changes;  // 1: if that is known
};
