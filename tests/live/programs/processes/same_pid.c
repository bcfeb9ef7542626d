// Two processes, one after the other, under the same pid.
#define _GNU_SOURCE
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "expect.h"

static pid_t forkAs(pid_t pid) {
  struct clone_args args = {.exit_signal = SIGCHLD};
  args.set_tid = (uint64_t)(uintptr_t)&pid;
  args.set_tid_size = 1;
  return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

int main(void) {
  void *p, *q;
  int status = 0;
  pid_t first = fork();
  if (first == 0) {
    must(cudaMalloc(&p, 1111), 0), took(DEVICE, 1111);
    return finish();
  }
  waitpid(first, &status, 0);
  pid_t second = forkAs(first);
  if (second < 0) return 77;  // not allowed here
  if (second == 0) {
    must(cudaMalloc(&p, 2222), 0), took(DEVICE, 2222);  // at the address of the first one's block
    must(cudaMalloc(&q, 3333), 0), took(DEVICE, 3333);
    must(cudaFree(p), 0), gave(DEVICE, 2222);
    return finish();
  }
  waitpid(second, &status, 0);
  return status;
}
