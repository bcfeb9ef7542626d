// older_kernels: registers kernels, writes what it expects, and launches them at each SIGUSR1.
// `hidden` is a function that no symbol names (static; the file is stripped of those).
#include <signal.h>

#include "expect.h"

void _Z4axpyifPf(void) {}
static void hidden(void) {}

int main(void) {
  __cudaRegisterFunction(NULL, (const char*)_Z4axpyifPf, "_Z4axpyifPf", "_Z4axpyifPf", -1, 0, 0, 0,
                         0, 0);
  __cudaRegisterFunction(NULL, (const char*)hidden, "secret", "secret", -1, 0, 0, 0, 0, 0);
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGUSR1);
  sigprocmask(SIG_BLOCK, &wanted, NULL);
  int code = finish();
  dim3 one = {1, 1, 1};
  for (int signal; code == 0 && sigwait(&wanted, &signal) == 0;) {
    must(cudaLaunchKernel((void*)_Z4axpyifPf, one, one, NULL, 0, NULL), 0);
    must(cudaLaunchKernel((void*)hidden, one, one, NULL, 0, NULL), 0);
  }
  return code;
}
