// late LIBRARY: opens a runtime of any name long after it began, as programs from wheels do.
#include <dlfcn.h>

#include "expect.h"

int main(int count, char** words) {
  if (count < 2) return 96;
  usleep(20000);
  void* library = dlopen(words[1], RTLD_NOW);
  if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 96;
  cudaError_t (*allocate)(void**, size_t) =
      (cudaError_t(*)(void**, size_t))dlsym(library, "cudaMalloc");
  cudaError_t (*release)(void*) = (cudaError_t(*)(void*))dlsym(library, "cudaFree");
  void *p, *q;
  must(allocate(&p, 777), 0), took(DEVICE, 777);  // the first call after dlopen()
  must(allocate(&q, 888), 0), took(DEVICE, 888);
  must(release(q), 0), gave(DEVICE, 888);
  return finish();
}
