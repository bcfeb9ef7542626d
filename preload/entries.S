// The wrappers. Each loads the id of its function and jumps to the one body, which saves registers,
// calls before(), the real function with the same registers and stack words, and after().
#include "bpf/functions.h"

  .text
  .set frame_bytes, 256

  .p2align 4
  .type body, @function
body:  // eax: bank << 16 | function
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register %rbp
  sub $frame_bytes, %rsp
  mov %rdi, 0(%rsp)
  mov %rsi, 8(%rsp)
  mov %rdx, 16(%rsp)
  mov %rcx, 24(%rsp)
  mov %r8, 32(%rsp)
  mov %r9, 40(%rsp)
  mov %eax, %eax
  mov %rax, 48(%rsp)
  mov %rsp, %rdi
  call tidegauge_before
  mov %rsp, %r10  // the frame
  cmpq $0, 56(%r10)
  je 2f
  mov 72(%r10), %r11  // words, enough to keep the stack aligned
  lea 1(%r11), %rax
  and $-2, %rax
  shl $3, %rax
  sub %rax, %rsp
1:
  test %r11, %r11
  jz 3f
  mov 8(%rbp,%r11,8), %rax  // 16(%rbp) is the first
  mov %rax, -8(%rsp,%r11,8)
  dec %r11
  jmp 1b
3:
  mov 0(%r10), %rdi
  mov 8(%r10), %rsi
  mov 16(%r10), %rdx
  mov 24(%r10), %rcx
  mov 32(%r10), %r8
  mov 40(%r10), %r9
  xor %eax, %eax
  call *56(%r10)
  mov %rax, -(256-64)(%rbp)
2:
  lea -256(%rbp), %rsp
  mov %rsp, %rdi
  call tidegauge_after
  mov 64(%rsp), %rax
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size body, . - body

// ---- bank 0: exported under the functions' own names --------------------------------------------
  .set next, 0
.macro exported name
  .p2align 4
  .globl \name
  .type \name, @function
\name:
  .cfi_startproc
  mov $next, %eax
  jmp body
  .cfi_endproc
  .size \name, . - \name
  .set next, next + 1
.endm

#define ENTRY(symbol, ...) exported symbol;
TIDEGAUGE_DRIVER_MEMORY(ENTRY)
TIDEGAUGE_DRIVER_CONTEXT(ENTRY)
TIDEGAUGE_RUNTIME_MEMORY(ENTRY)
TIDEGAUGE_RUNTIME_CONTEXT(ENTRY)
TIDEGAUGE_DRIVER_COPIES(ENTRY)
TIDEGAUGE_RUNTIME_COPIES(ENTRY)
TIDEGAUGE_LAUNCHES(ENTRY)
TIDEGAUGE_NAMES(ENTRY)
  exported cuGetProcAddress
  exported cuGetProcAddress_v2
  exported cudaGetDriverEntryPoint
  exported cudaGetDriverEntryPoint_ptsz
  exported cudaGetDriverEntryPointByVersion
  exported cudaGetDriverEntryPointByVersion_ptsz

// ---- banks 1 … 7: handed out by dlsym() and its like; 16 bytes each -----------------------------
  .set functions, next
  .p2align 4
  .globl tidegauge_banks
  .hidden tidegauge_banks
  .type tidegauge_banks, @function
tidegauge_banks:
  .cfi_startproc
  .set bank, 1
  .rept 7
    .set next, 0
    .rept functions
      .p2align 4
      mov $(bank << 16 | next), %eax
      jmp body
      .set next, next + 1
    .endr
    .set bank, bank + 1
  .endr
  .cfi_endproc
  .size tidegauge_banks, . - tidegauge_banks

  .globl tidegauge_bank_size
  .hidden tidegauge_bank_size
  .set tidegauge_bank_size, functions

// ---- dlsym(): answered here for watched functions, else by the real one, which checks its caller
  .p2align 4
  .globl dlsym
  .type dlsym, @function
dlsym:
  .cfi_startproc
  push %rdi
  .cfi_adjust_cfa_offset 8
  push %rsi
  .cfi_adjust_cfa_offset 8
  sub $8, %rsp
  .cfi_adjust_cfa_offset 8
  call tidegauge_dlsym  // rax: the answer, rdx: whether there is one
  add $8, %rsp
  .cfi_adjust_cfa_offset -8
  pop %rsi
  .cfi_adjust_cfa_offset -8
  pop %rdi
  .cfi_adjust_cfa_offset -8
  test %rdx, %rdx
  jnz 1f
  jmp *tidegauge_real_dlsym(%rip)
1:
  ret
  .cfi_endproc
  .size dlsym, . - dlsym

  .section .note.GNU-stack,"",@progbits
