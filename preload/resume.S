// tidegauge_resume(registers, walk, argument): calls walk(argument) so that the unwinder in it
// continues above this function, in the frame of the registers: rsp, rip, rbp, rbx, r12 to r15.
//
//   walk ─► this function ─┄┄► the frame of the registers ─► its callers
//             └─► its caller: where it really returns
  .text
  .p2align 4
  .globl tidegauge_resume
  .hidden tidegauge_resume
  .type tidegauge_resume, @function
tidegauge_resume:
  .cfi_startproc
  push %rbx
  .cfi_def_cfa_offset 16
  .cfi_offset %rbx, -16
  mov %rdi, %rbx
  mov %rdx, %rdi
  .cfi_remember_state
  // DW_CFA_def_cfa_expression: the word at rbx. DW_CFA_expression: the others follow it.
  .cfi_escape 0x0f, 3, 0x73, 0, 0x06
  .cfi_escape 0x10, 16, 2, 0x73, 8   // where it returns
  .cfi_escape 0x10, 6, 2, 0x73, 16   // rbp
  .cfi_escape 0x10, 3, 2, 0x73, 24   // rbx
  .cfi_escape 0x10, 12, 2, 0x73, 32
  .cfi_escape 0x10, 13, 2, 0x73, 40
  .cfi_escape 0x10, 14, 2, 0x73, 48
  .cfi_escape 0x10, 15, 2, 0x73, 56
  call *%rsi
  .cfi_restore_state
  pop %rbx
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
  .size tidegauge_resume, . - tidegauge_resume
  .section .note.GNU-stack,"",@progbits
