// Two devices; contexts and device resets that take their memory with them. FAKE_GPU_COUNT=2.
#include "expect.h"

int main(void) {
  void* p;
  CUcontext own, popped;
  CUdeviceptr a;
  must(cudaMalloc(&p, 1000), 0), took(DEVICE, 1000);  // device 0
  must(cuCtxCreate_v2(&own, 0, 1), 0);                // current from here on
  must(cuMemAlloc_v2(&a, 2000), 0), took(DEVICE, 2000);
  must(cuMemAlloc_v2(&a, 3000), 0), took(DEVICE, 3000);
  must(cuMemFree_v2(a), 0), gave(DEVICE, 3000);
  must(cuCtxPopCurrent_v2(&popped), 0);
  must(cuCtxDestroy_v2(own), 0), lost(DEVICE, 2000);
  must(cudaSetDevice(1), 0);
  must(cudaMalloc(&p, 4000), 0), took(DEVICE, 4000);
  must(cudaMalloc(&p, 5000), 0), took(DEVICE, 5000);
  must(cudaDeviceReset(), 0), lost(DEVICE, 9000);
  must(cudaMalloc(&p, 6000), 0), took(DEVICE, 6000);
  return finish();  // 1000 on device 0, 6000 on device 1
}
