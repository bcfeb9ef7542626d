// The same through the driver alone, without the runtime.
#include "expect.h"

int main(void) {
  CUcontext context;
  CUdeviceptr a, b, managed, pitched;
  void *host, *host2;
  size_t pitch;
  failed(cuMemAlloc_v2(&a, 4096), 3, 1);  // before cuInit()
  must(cuInit(0), 0);
  failed(cuMemAlloc_v2(&a, 4096), 201, 1);  // without a context
  must(cuDevicePrimaryCtxRetain(&context, 0), 0);
  must(cuCtxSetCurrent(context), 0);
  must(cuMemAlloc_v2(&a, 4096), 0), took(DEVICE, 4096);
  must(cuMemAlloc_v2(&b, 3 << 20), 0), took(DEVICE, 3 << 20);
  must(cuMemAllocPitch_v2(&pitched, &pitch, 100, 7, 4), 0), took(DEVICE, pitch * 7);
  must(cuMemAllocManaged(&managed, 999, 1), 0), took(MANAGED, 999);
  must(cuMemAllocHost_v2(&host, 100), 0), took(PINNED, 100);
  must(cuMemHostAlloc(&host2, 200, 0), 0), took(PINNED, 200);
  must(cuMemFreeHost(host), 0), gave(PINNED, 100);
  must(cuMemFree_v2(b), 0), gave(DEVICE, 3 << 20);
  failed(cuMemFree_v2(0x1234), 1, 1);
  failed(cuMemAlloc_v2(&b, 0), 1, 1);
  return finish();
}
