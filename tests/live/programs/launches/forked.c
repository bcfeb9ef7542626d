// A parent that registers a kernel; a child that launches it, and one that registers another first.
#include <sys/wait.h>

#include "expect.h"

static void kernelOne(void) {}
static void kernelTwo(void) {}

static void registerKernel(void (*kernel)(void), const char* name) {
  __cudaRegisterFunction(NULL, (const char*)kernel, name, name, -1, 0, 0, 0, 0, 0);
}

int main(void) {
  registerKernel(kernelOne, "_Z3onePf");
  dim3 grid = {2, 1, 1}, block = {32, 1, 1};
  for (int child = 0; child < 2; ++child) {
    if (fork() == 0) {
      if (child == 1) registerKernel(kernelTwo, "_Z3twoPf");
      must(cudaLaunchKernel((void*)kernelOne, grid, block, NULL, 0, NULL), 0);
      must(cudaLaunchKernel((void*)kernelTwo, grid, block, NULL, 0, NULL), 0);
      _exit(0);
    }
    wait(NULL);
  }
  return finish();
}
