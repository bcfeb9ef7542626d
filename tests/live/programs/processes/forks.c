// A child that works and ends, a child that becomes another program (this one again), and the
// parent.
#include <sys/wait.h>

#include "expect.h"

static void wait_for(pid_t child) {
  int status = 0;
  must(waitpid(child, &status, 0) == child && status == 0, 1);
}

int main(int count, char** words) {
  void* p;
  if (count > 1) {  // after exec
    must(cudaMalloc(&p, 300000), 0), took(DEVICE, 300000);
    return finish();
  }
  pid_t child = fork();
  if (child == 0) {
    must(cudaMalloc(&p, 100000), 0), took(DEVICE, 100000);
    must(cudaFree(p), 0), gave(DEVICE, 100000);
    must(cudaMalloc(&p, 111), 0), took(DEVICE, 111);
    return finish();
  }
  wait_for(child);
  child = fork();
  if (child == 0) {
    execl(words[0], words[0], "again", NULL);
    _exit(96);
  }
  wait_for(child);
  must(cudaMalloc(&p, 200000), 0), took(DEVICE, 200000);
  return finish();
}
