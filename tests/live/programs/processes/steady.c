/* Allocates and frees memory some thousand times a second, for SECONDS: enough to fill a part of a
 * recording every few seconds. Every second, a child starts, allocates some memory and ends. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime_api.h"

int main(int count, char** words) {
  int rounds = (count > 1 ? atoi(words[1]) : 10) * 1000;
  if (count > 2) {  /* the child */
    void* block = NULL;
    cudaMalloc(&block, 3 << 20);
    return 0;
  }
  for (int i = 0; i < rounds; ++i) {
    for (int k = 0; k < 4; ++k) {
      void* block = NULL;
      cudaMalloc(&block, (size_t)(1 + (i + k) % 5) << 12);
      if (i % 500 != 0 || k != 0) cudaFree(block);
    }
    if (i % 1000 == 0 && fork() == 0) {
      execl(words[0], words[0], "1", "child", (char*)NULL);
      _exit(1);
    }
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
    usleep(1000);
  }
  return 0;
}
