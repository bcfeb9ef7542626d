// Tables in which calls are summed: pairs that are switched. Programs count in the table that the
// outer map contains, while the recorder reads and empties the other
// (src/record/kernel/kernel_counts.h).
//
//   COUNTED_TABLE(copies, struct copy_key, struct copy_sum, COPY_ROWS, 0);
//       makes copies, copies_a and copies_b
//   struct copy_sum* sum = countedRow(&copies, &key, &zero, COUNTED_COPIES);
//       its row; 0: there is no room
#pragma once

#include "common.bpf.h"

#define COUNTED_TABLE(name, keys, sums, rows, flags) \
  struct name##_table {                              \
    __uint(type, BPF_MAP_TYPE_HASH);                 \
    __uint(max_entries, rows);                       \
    __uint(map_flags, flags);                        \
    __type(key, keys);                               \
    __type(value, sums);                             \
  } name##_a SEC(".maps"), name##_b SEC(".maps");    \
  struct {                                           \
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);        \
    __uint(max_entries, 1);                          \
    __type(key, __u32);                              \
    __array(values, struct name##_table);            \
  } name SEC(".maps") = {.values = {&name##_a}}

// Rows added to the tables in use: the recorder takes them before they are full.
TABLE(rows_added, ARRAY, __u32, __u64, COUNTED_KINDS);

static __always_inline void* countedRow(void* tables, const void* key, const void* zero,
                                        __u32 what) {
  __u32 first = 0;
  void* table = bpf_map_lookup_elem(tables, &first);
  if (!table) return 0;
  void* row = bpf_map_lookup_elem(table, key);
  if (row) return row;
  if (!bpf_map_update_elem(table, key, zero, BPF_NOEXIST)) {
    __u64* rows = bpf_map_lookup_elem(&rows_added, &what);
    if (rows) __sync_fetch_and_add(rows, 1);
  }
  return bpf_map_lookup_elem(table, key);  // another processor may have been first
}
