// parameters [TIMES [WAIT]]: launches kernels whose code is in this file, as nvcc puts it there,
// TIMES with known arguments; and one without code. With WAIT, first that many milliseconds pass
// after the kernels were registered, as in a program that loads before it works.
#include <time.h>

#include "expect.h"

__asm__(
    ".section .nv_fatbin, \"a\"\n"
    ".balign 8\n"
    "fat_binary:\n"
    ".incbin \"" FATBIN
    "\"\n"
    ".text\n");

extern char fat_binary[];

void _Z4axpyifPf(void) {}
void bigone(void) {}
void none(void) {}
void elsewhere(void) {}  // its code is in no file

static void** module;
static void given(void* stub, const char* name) {
  __cudaRegisterFunction(module, stub, (char*)name, name, -1, 0, 0, 0, 0, 0);
}

int main(int count, char** words) {
  int times = count > 1 ? atoi(words[1]) : 1;
  long wait_ms = count > 2 ? atol(words[2]) : 0;
  module = __cudaRegisterFatBinary(fat_binary);
  given((void*)_Z4axpyifPf, "_Z4axpyifPf");
  given((void*)bigone, "bigone");
  given((void*)none, "none");
  given((void*)elsewhere, "elsewhere");
  void* memory;
  must(cudaMalloc(&memory, 1 << 20), 0), took(DEVICE, 1 << 20);
  struct timespec wait = {wait_ms / 1000, wait_ms % 1000 * 1000000};
  nanosleep(&wait, NULL);
  dim3 grid = {1, 1, 1}, block = {32, 1, 1};
  int n = 10;
  float a = 1.0f;
  uint64_t x = 0x7f0000001000;
  void* axpy[] = {&n, &a, &x};
  uint8_t c = 0xab, s[600], t[3000];
  uint16_t h = 0xbeef;
  for (int i = 0; i < 600; ++i) s[i] = (uint8_t)i;
  for (int i = 0; i < 3000; ++i) t[i] = (uint8_t)(i * 7);
  void* big[] = {&c, s, &h, t};
  for (int i = 0; i < times; ++i) {
    must(cudaLaunchKernel((void*)_Z4axpyifPf, grid, block, axpy, 0, NULL), 0);
    must(cudaLaunchKernel((void*)bigone, grid, block, big, 0, NULL), 0);
    must(cudaLaunchKernel((void*)none, grid, block, axpy, 0, NULL), 0);
    must(cudaLaunchKernel((void*)elsewhere, grid, block, axpy, 0, NULL), 0);
    expected.launches += 4;
  }
  return finish();
}
