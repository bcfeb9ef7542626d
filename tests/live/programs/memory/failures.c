// Out of memory, and failures of every sort at a chosen call. Run with
//   FAKE_GPU_BYTES=64m
//   FAKE_GPU_FAIL='cuMemCreate@2=2;cuMemHostAlloc@1=999;cuDevicePrimaryCtxRetain@1=46'
#include "expect.h"

int main(void) {
  void *p, *q;
  failed(cudaMalloc(&p, 4096), 46, 1);  // no context: the driver's function is not reached
  must(cudaMalloc(&p, 40 << 20), 0), took(DEVICE, 40 << 20);
  failed(cudaMalloc(&q, 40 << 20), 2, 2);
  failed(cudaMalloc(&q, 0), 1, 2);
  failed(cudaMallocManaged(&q, 1ull << 40, 1), 2, 2);
  failed(cudaHostAlloc(&q, 4096, 0), 999, 2);
  CUmemAllocationProp props = {1, 0, {1, 0}, NULL, {0}};
  CUmemGenericAllocationHandle one, two;
  must(cuMemCreate(&one, 2 << 20, &props, 0), 0), took(PHYSICAL, 2 << 20);
  failed(cuMemCreate(&two, 2 << 20, &props, 0), 2, 1);
  failed(cuMemCreate(&two, 1ull << 40, &props, 0), 2, 1);
  must(cudaFree(p), 0), gave(DEVICE, 40 << 20);
  must(cuMemRelease(one), 0), gave(PHYSICAL, 2 << 20);
  return finish();
}
