// first_launch ROUNDS: launches at once, then execs another program that does the same: each run
// counts its own launches. Each has a kernel with another name.
#include "expect.h"

static void kernel(void) {}

int main(int argc, char** argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 1;
  char name[32], left[16];
  snprintf(name, sizeof(name), "round_%d", rounds);
  __cudaRegisterFunction(NULL, (const char*)kernel, name, name, -1, 0, 0, 0, 0, 0);
  dim3 grid = {(unsigned)rounds, 1, 1}, block = {32, 1, 1};
  for (int i = 0; i < 3 + rounds; ++i)
    must(cudaLaunchKernel((void*)kernel, grid, block, NULL, 0, NULL), 0), expected.launches += 1;
  if (finish() != 0) return 98;
  if (rounds <= 1) return 0;
  snprintf(left, sizeof(left), "%d", rounds - 1);
  execl(argv[0], argv[0], left, NULL);
  return 96;
}
