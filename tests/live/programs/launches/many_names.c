// many_names N GO: registers N kernels while the recorder, its parent, is stopped, so that their
// names find no room in its ring; then launches each of them once, and ends when the file GO is
// there.
#include <signal.h>

#include "expect.h"

int main(int count, char** words) {
  if (count != 3) return 2;
  int kernels = atoi(words[1]);
  char(*names)[16] = calloc((size_t)kernels, sizeof(*names));
  char* stubs = malloc((size_t)kernels);
  void* memory;
  must(cudaMalloc(&memory, 4096), 0), took(DEVICE, 4096);
  usleep(200000);  // until the recorder has seen this program
  if (kill(getppid(), SIGSTOP) != 0) return 3;
  for (int i = 0; i < kernels; ++i) {
    snprintf(names[i], sizeof(names[i]), "kernel_%d", i);
    __cudaRegisterFunction(NULL, &stubs[i], names[i], names[i], -1, 0, 0, 0, 0, 0);
  }
  if (kill(getppid(), SIGCONT) != 0) return 3;
  dim3 one = {1, 1, 1};
  for (int i = 0; i < kernels; ++i) {
    must(cudaLaunchKernel(&stubs[i], one, one, NULL, 0, NULL), 0);
    expected.launches += 1;
  }
  for (int i = 0; i < 6000 && access(words[2], F_OK) != 0; ++i) usleep(10000);
  return finish();
}
