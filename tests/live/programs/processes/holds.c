// Allocates, launches and copies once for each line that it reads, and confirms it; ends with its
// input. For tests that examine a running program.
#include "expect.h"

static void kernelOne(void) {}

int main(void) {
  __cudaRegisterFunction(NULL, (const char*)kernelOne, "_Z3onePf", "_Z3onePf", -1, 0, 0, 0, 0, 0);
  dim3 one = {1, 1, 1};
  static char host[1 << 20];
  char line[64];
  void* p;
  must(cudaFree(NULL), 0);
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof(line), stdin) != NULL) {
    must(cudaMalloc(&p, 2 << 20), 0), took(DEVICE, 2 << 20);
    must(cudaMemcpy(p, host, sizeof(host), 1), 0), expected.to_device += sizeof(host);
    for (int i = 0; i < 10; ++i) {
      must(cudaLaunchKernel((void*)kernelOne, one, one, NULL, 0, NULL), 0), expected.launches += 1;
    }
    puts("done");
    fflush(stdout);
  }
  return finish();
}
