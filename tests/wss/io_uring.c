/* Reads a file into memory by io_uring, again and again: the kernel writes, not this process.

     io_uring registered MIB  →  "ADDRESS", after the first read; its buffers are registered
     io_uring plain MIB       →  the same with an ordinary read         77: no io_uring here */
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MIB = 1 << 20, NO_RING = 77 };

static int no_ring(const char* what) {
  perror(what);
  return NO_RING;
}

int main(int count, char** words) {
  if (count != 3) return 2;
  int is_registered = strcmp(words[1], "registered") == 0;
  size_t bytes = (size_t)atoi(words[2]) * MIB;
  char* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int file = memfd_create("read", 0);
  if (memory == MAP_FAILED || ftruncate(file, (off_t)bytes) != 0) return 2;
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  memset(memory, 1, bytes);
  struct io_uring_params params = {0};
  int ring = (int)syscall(SYS_io_uring_setup, 8, &params);
  if (ring < 0) return no_ring("io_uring_setup");
  struct iovec buffer = {memory, bytes};
  if (is_registered &&
      syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &buffer, 1) != 0)
    return no_ring("IORING_REGISTER_BUFFERS");
  size_t size = params.sq_off.array + params.sq_entries * sizeof(uint32_t);
  size_t answers_size = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
  char* asks = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
  char* answers =
      mmap(NULL, answers_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
  struct io_uring_sqe* entries = mmap(NULL, params.sq_entries * sizeof *entries,
                                      PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
  if (asks == MAP_FAILED || answers == MAP_FAILED || entries == MAP_FAILED) return no_ring("mmap");
  _Atomic uint32_t* tail = (_Atomic uint32_t*)(asks + params.sq_off.tail);
  _Atomic uint32_t* head = (_Atomic uint32_t*)(answers + params.cq_off.head);
  struct io_uring_cqe* results = (struct io_uring_cqe*)(answers + params.cq_off.cqes);
  for (long rounds = 0;; ++rounds) {
    uint32_t at = *tail & (params.sq_entries - 1), seen = *head & (params.cq_entries - 1);
    entries[at] =
        (struct io_uring_sqe){.opcode = is_registered ? IORING_OP_READ_FIXED : IORING_OP_READ,
                              .fd = file,
                              .addr = (uintptr_t)memory,
                              .len = (uint32_t)bytes};
    ((uint32_t*)(asks + params.sq_off.array))[at] = at;
    *tail += 1;
    if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
      return no_ring("io_uring_enter");
    if (results[seen].res != (int)bytes) {
      fprintf(stderr, "read %d of %zu bytes\n", results[seen].res, bytes);
      return 1;
    }
    *head += 1;
    if (rounds == 0) printf("%p\n", (void*)memory), fflush(stdout);
    usleep(1000);
    if (getppid() == 1) return 0;
  }
}
