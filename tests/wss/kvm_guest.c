/* A guest of KVM that writes to each page of its own TOUCHED MiB, again and again. The memory of
   ALL MiB is this process's, which has written to it once.

     kvm_guest ALL TOUCHED  →  "ADDRESS", once the guest has written to all of it; 77: no KVM here

   The guest runs in protected mode with flat segments and without paging:
     again: mov ecx, 1 MiB
     next:  inc byte [ecx]    add ecx, 4096    cmp ecx, END    jb next
            out 1, al         jmp again */
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MIB = 1 << 20, NO_KVM = 77 };

static int no_kvm(const char* what) {
  perror(what);
  return NO_KVM;
}

int main(int count, char** words) {
  if (count != 3) return 2;
  size_t all = (size_t)atoi(words[1]) * MIB;
  uint32_t end = (uint32_t)(atoi(words[2]) + 1) * MIB; /* from 1 MiB on */
  uint8_t* memory = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || end > all) return 2;
  madvise(memory, all, MADV_NOHUGEPAGE);
  memset(memory, 1, all);
  int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
  if (kvm < 0) return no_kvm("/dev/kvm");
  int vm = ioctl(kvm, KVM_CREATE_VM, 0);
  if (vm < 0) return no_kvm("KVM_CREATE_VM");
  struct kvm_userspace_memory_region region = {.memory_size = all,
                                               .userspace_addr = (uintptr_t)memory};
  if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region) != 0)
    return no_kvm("KVM_SET_USER_MEMORY_REGION");
  int cpu = ioctl(vm, KVM_CREATE_VCPU, 0);
  if (cpu < 0) return no_kvm("KVM_CREATE_VCPU");
  int size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
  struct kvm_run* run = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, cpu, 0);
  if (run == MAP_FAILED) return no_kvm("mmap of the vcpu");

  uint8_t code[] = {0xb9, 0,    0, 0x10, 0,    /* again: mov ecx, 0x100000 */
                    0xfe, 0x01,                /* next: inc byte [ecx] */
                    0x81, 0xc1, 0, 0x10, 0, 0, /* add ecx, 4096 */
                    0x81, 0xf9, 0, 0,    0, 0, /* cmp ecx, end */
                    0x72, 0xf0,                /* jb next */
                    0xe6, 0x01,                /* out 1, al */
                    0xeb, 0xe7};               /* jmp again */
  memcpy(code + 15, &end, 4);
  memcpy(memory, code, sizeof code);
  struct kvm_sregs sregs;
  if (ioctl(cpu, KVM_GET_SREGS, &sregs) != 0) return no_kvm("KVM_GET_SREGS");
  struct kvm_segment flat = {
      .limit = 0xffffffff, .selector = 8, .type = 11, .present = 1, .s = 1, .db = 1, .g = 1};
  sregs.cs = flat;
  flat.type = 3, flat.selector = 16;
  sregs.ds = sregs.es = sregs.fs = sregs.gs = sregs.ss = flat;
  sregs.cr0 |= 1;
  struct kvm_regs regs = {.rip = 0, .rflags = 2};
  if (ioctl(cpu, KVM_SET_SREGS, &sregs) != 0 || ioctl(cpu, KVM_SET_REGS, &regs) != 0)
    return no_kvm("registers");
  for (long rounds = 0;; ++rounds) {
    if (ioctl(cpu, KVM_RUN, 0) != 0) return no_kvm("KVM_RUN");
    if (run->exit_reason != KVM_EXIT_IO) {
      fprintf(stderr, "the guest ended with %u\n", run->exit_reason);
      return 1;
    }
    if (rounds == 0) printf("%p\n", (void*)memory), fflush(stdout);
    if (getppid() == 1) return 0;
  }
}
