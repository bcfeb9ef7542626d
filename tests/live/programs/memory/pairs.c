// pairs N: N pairs of cudaMalloc() and cudaFree() as fast as possible; prints when it begins.
#include "expect.h"

int main(int count, char** words) {
  long pairs = count > 1 ? atol(words[1]) : 1000;
  void* p;
  for (long i = 0; i < pairs; ++i) {
    must(cudaMalloc(&p, 4096), 0), took(DEVICE, 4096);
    must(cudaFree(p), 0), gave(DEVICE, 4096);
    if (i == 0 && count > 2) printf("started\n"), fflush(stdout);
  }
  return finish();
}
