// Allocates driver memory beside PyTorch: a library with named functions, like a communication
// library or a solver. Loaded by joins.py if libcuda and libcudart exist.
#include "driver_api.h"
#include "runtime_api.h"

// Each call needs its own frame: code after it prevents a tail call.
static volatile int last_code;

unsigned long long take_buffers(unsigned long long bytes) {  // driver
  CUdeviceptr at = 0;
  last_code = cuMemAlloc_v2(&at, bytes);
  return last_code == 0 ? at : 0;
}

void give_buffers(unsigned long long at) { last_code = cuMemFree_v2(at); }

void* take_workspace(unsigned long long bytes) {  // runtime
  void* at = 0;
  last_code = cudaMalloc(&at, bytes);
  return last_code == 0 ? at : 0;
}

void give_workspace(void* at) { last_code = cudaFree(at); }

void* take_managed(unsigned long long bytes) {
  void* at = 0;
  last_code = cudaMallocManaged(&at, bytes, 1);
  return last_code == 0 ? at : 0;
}

// Charged as soon as it is created, although it has no address.
unsigned long long take_pages(unsigned long long bytes) {
  CUmemAllocationProp prop = {1, 0, {1, 0}, 0, {0}};  // pinned, on device 0
  CUmemGenericAllocationHandle handle = 0;
  last_code = cuMemCreate(&handle, bytes, &prop, 0);
  return last_code == 0 ? handle : 0;
}
