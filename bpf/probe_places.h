// Where a static probe (USDT) keeps its arguments: what the recorder reads in the ELF note of the
// probe, in the form that a BPF program can follow (bpf/framework.bpf.h).
//
//   8@%rdi         the register                       base = rdi
//   -1@-24(%rbp)   a signed byte in memory            base = rbp, number = -24, in_memory
//   4@$5           a constant                         number = 5
#pragma once

#include <linux/types.h>

#define PROBE_ARGUMENTS 4
#define PROBE_NO_REGISTER (-1)

struct probe_argument {
  __s64 number;  // added
  __s16 base;    // position in struct pt_regs; PROBE_NO_REGISTER: none
  __s16 index;   // the same, times `scale`
  __u8 scale;    //
  __u8 bytes;    // 1, 2, 4 or 8
  __u8 is_signed;
  __u8 in_memory;  // the sum is an address
};
struct probe_place {
  struct probe_argument argument[PROBE_ARGUMENTS];
  __u32 arguments;
  __u32 reserved;
};
