/* A program that takes memory, launches and copies a little ten times a second, for SECONDS: what a
 * page is shown while it runs. */
#include <stdlib.h>
#include <unistd.h>

#include "runtime_api.h"

static void kernel(void) {}

int main(int count, char** words) {
  dim3 grid = {4, 1, 1}, threads = {32, 1, 1};
  int rounds = count > 1 ? atoi(words[1]) * 10 : 50;
  static char host[4096];
  for (int i = 0; i < rounds; ++i) {
    void* block = NULL;
    cudaMalloc(&block, (size_t)(1 + i % 4) << 20);
    cudaMemcpy(block, host, sizeof host, 1);
    cudaLaunchKernel((void*)kernel, grid, threads, NULL, 0, NULL);
    if (i % 4 != 0) cudaFree(block);
    usleep(100000);
  }
  return 0;
}
