// A library that is linked against the runtime and loaded for itself alone (RTLD_LOCAL), as Python
// loads PyTorch: its runtime is not in the global scope.
#include "runtime_api.h"

__attribute__((visibility("default"))) int plugin_run(unsigned long bytes) {
  void *kept = 0, *freed = 0;
  if (cudaMalloc(&kept, bytes) != 0 || cudaMalloc(&freed, 2 * bytes) != 0) return 1;
  return cudaFree(freed);
}
