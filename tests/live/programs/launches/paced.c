// paced TIMES MS: launches a kernel every MS milliseconds and does nothing else.
#include <stdlib.h>
#include <unistd.h>

#include "expect.h"

static void kernel(void) {}

int main(int count, char** words) {
  if (count != 3) return 2;
  dim3 one = {1, 1, 1};
  for (int left = atoi(words[1]); left > 0; --left) {
    must(cudaLaunchKernel((void*)kernel, one, one, NULL, 0, NULL), 0), expected.launches += 1;
    usleep((useconds_t)atoi(words[2]) * 1000);
  }
  return finish();
}
