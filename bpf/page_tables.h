// What the reader of page tables and the program that reads them say to each other.
//
//   wanted[i] ── program ──► kinds[i], tables[]
//   an address, of which the 2 MiB around it are meant      entries of their page table
//
// Of whole tables tables[i] has the entries at their places; of parts of 64, 32 or 16 entries they
// follow each other there, so that 512 parts of 16 take 64 KiB of the caches and not 2 MiB.
#pragma once

#include "page_entry.h"

#define PAGE_TABLES_BATCH 1024
#define PAGE_TABLE_ENTRIES 512

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

// How many are read: the entries around the wanted address. Half as many take half as many misses
// of the cache.
enum page_table_part {
  PAGE_TABLE_ALL,
  PAGE_TABLE_64,
  PAGE_TABLE_32,
  PAGE_TABLE_16,
  PAGE_TABLE_KIND,  // none
};

// How many entries of tables[] each wanted address has for itself.
static inline __u32 page_table_part_entries(__u32 part) {
  return part == PAGE_TABLE_64   ? 64
         : part == PAGE_TABLE_32 ? 32
         : part == PAGE_TABLE_16 ? 16
                                 : PAGE_TABLE_ENTRIES;
}

struct page_tables_request {
  __u64 direct_map;     // where the kernel has all memory mapped, by physical address
  __u32 pid;            // of a first thread
  __u32 count;          // of `wanted`
  __u16 levels;         // 4 or 5; of arm64 3 too
  __u16 part;           // enum page_table_part
  __u32 done;           // the program's answer: how many it looked at
  __u64 top;            // and where the tables begin;
  __u32 mappings;       // how many it has,
  __u32 changes;        // and how many times they may have been changed,
  __u32 knows_changes;  // 1: if that is known
};
