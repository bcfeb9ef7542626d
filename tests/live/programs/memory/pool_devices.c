// Two devices: the thread stays on device 0, and what it asks for is on the one that it names, by
// location, by pool or by stream. The sizes say which: 1,000s are on device 0, 1,000,000s on 1.
#include "expect.h"

int main(void) {
  CUcontext zero, one;
  CUmemoryPool made, given, at;
  CUstream stream, first;
  CUdeviceptr p;
  CUmemGenericAllocationHandle physical;
  must(cuInit(0), 0);
  must(cuDevicePrimaryCtxRetain(&zero, 0), 0);
  must(cuDevicePrimaryCtxRetain(&one, 1), 0);
  must(cuCtxSetCurrent(one), 0);
  must(cuStreamCreate(&stream, 0), 0);
  must(cuCtxSetCurrent(zero), 0);
  must(cuStreamCreateWithPriority(&first, 0, 0), 0);

  CUmemPoolProps props = {.type = 1, .location = {1, 1}};
  must(cuMemPoolCreate(&made, &props), 0);
  must(cuDeviceGetDefaultMemPool(&given, 1), 0);
  CUmemLocation where = {1, 1};
  must(cuMemGetMemPool(&at, &where, 1), 0);
  must(cuMemAllocFromPoolAsync(&p, 1000000, made, NULL), 0), took(POOL, 1000000);
  must(cuMemAllocFromPoolAsync(&p, 2000000, given, first), 0), took(POOL, 2000000);
  must(cuMemAllocFromPoolAsync_ptsz(&p, 3000000, at, NULL), 0), took(POOL, 3000000);
  must(cuMemAllocAsync(&p, 4000000, stream), 0), took(POOL, 4000000);
  must(cuMemAllocAsync(&p, 5000, first), 0), took(POOL, 5000);
  must(cuMemAllocAsync(&p, 6000, NULL), 0), took(POOL, 6000);
  must(cuMemAllocAsync(&p, 7000000, stream), 0), took(POOL, 7000000);
  must(cuMemFreeAsync(p, stream), 0), gave(POOL, 7000000);
  must(cuStreamDestroy_v2(stream), 0);

  CUmemAllocationProp properties = {.type = 1, .location = {1, 1}};
  must(cuMemCreate(&physical, 2 << 20, &properties, 0), 0), took(PHYSICAL, 2 << 20);
  must(cuMemAlloc_v2(&p, 8000), 0), took(DEVICE, 8000);
  if (fake_gpu_dump(getenv("DUMP")) != 0) return 97;
  return finish();
}
