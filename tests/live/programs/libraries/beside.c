// What takes driver memory beside PyTorch: a library whose functions are known by name, as a
// communication library's or a solver's are. Loaded by joins.py, when libcuda and libcudart are
// there.
#include "driver_api.h"
#include "runtime_api.h"

// Each call has its own frame: nothing after it may be left out.
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

// Charged as soon as it is made, although no address leads to it.
unsigned long long take_pages(unsigned long long bytes) {
  CUmemAllocationProp prop = {1, 0, {1, 0}, 0, {0}};  // pinned, on device 0
  CUmemGenericAllocationHandle handle = 0;
  last_code = cuMemCreate(&handle, bytes, &prop, 0);
  return last_code == 0 ? handle : 0;
}
