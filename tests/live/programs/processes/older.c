// Holds memory before it is watched: 8 MiB and 4 MiB. For each line "p" it allocates and frees a
// little, to show whether it is watched. After another line it frees the first, allocates 2 MiB, is
// refused more than there is, and waits for its input to end.
#include "expect.h"

int main(void) {
  char line[64];
  void *first, *second, *third;
  must(cudaMalloc(&first, 8 << 20), 0);
  must(cudaMalloc(&second, 4 << 20), 0);
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof(line), stdin) != NULL && line[0] == 'p') {
    must(cudaMalloc(&third, 256), 0);
    must(cudaFree(third), 0);
  }
  must(cudaFree(first), 0);
  must(cudaMalloc(&third, 2 << 20), 0);
  must(cudaMalloc(&first, (size_t)1 << 50), 2);
  puts("done");
  fflush(stdout);
  while (fgets(line, sizeof(line), stdin) != NULL) continue;
  return 0;
}
