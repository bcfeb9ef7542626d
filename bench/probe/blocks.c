// libc10_cuda.so of the bench: PyTorch's two probes as in its own library (notes and semaphores),
// and 300 functions to attach to.
unsigned short pytorch_malloc_semaphore __attribute__((section(".probes")));
unsigned short pytorch_free_semaphore __attribute__((section(".probes")));

#define PROBE(name, arguments)                                               \
  "990: nop\n.pushsection .note.stapsdt, \"\", \"note\"\n.balign 4\n"        \
  ".4byte 992f - 991f, 994f - 993f, 3\n991: .asciz \"stapsdt\"\n"            \
  "992: .balign 4\n993: .8byte 990b\n.8byte 0\n.8byte pytorch_" name         \
  "_semaphore\n.asciz \"pytorch\"\n.asciz \"" name "\"\n.asciz \"" arguments \
  "\"\n994: .balign 4\n.popsection\n"

__asm__(".text\n.globl block_taken\n.type block_taken, @function\nblock_taken:\n"
        "push %rbp\nmov %rsp, %rbp\n" PROBE("malloc", "8@%rdi -1@%sil 8@%rdx 8@%rcx")
        "pop %rbp\nret\n.size block_taken, . - block_taken\n"
        ".globl block_given\n.type block_given, @function\nblock_given:\n"
        "push %rbp\nmov %rsp, %rbp\n" PROBE("free", "8@%rdi")
        "pop %rbp\nret\n.size block_given, . - block_given\n"
        ".altmacro\n.macro some_function number\n.globl many_\\number\n"
        ".type many_\\number, @function\nmany_\\number: push %rbp\nmov %rsp, %rbp\npop %rbp\nret\n"
        ".size many_\\number, . - many_\\number\n.endm\n"
        ".set next, 0\n.rept 300\nsome_function %next\n.set next, next + 1\n.endr\n");
