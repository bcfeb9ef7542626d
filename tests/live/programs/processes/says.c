// Allocates, prints that it did, and ends: says NUMBER. For tests of what is printed, and in which
// order.
#include <stdio.h>

#include "runtime_api.h"

int main(int count, char** words) {
  void* p;
  if (cudaMalloc(&p, 1 << 20) != 0) return 1;
  printf("held, %s\n", count > 1 ? words[1] : "no number");
  return cudaFree(p);
}
