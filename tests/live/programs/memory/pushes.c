// Contexts pushed seven deep, on two devices, and memory at each level on the way back.
// FAKE_GPU_COUNT=2.
#include "expect.h"

int main(void) {
  CUcontext of[2], popped;
  CUdeviceptr a;
  must(cuInit(0), 0);
  for (int device = 0; device < 2; ++device)
    must(cuDevicePrimaryCtxRetain(&of[device], device), 0);
  for (int level = 0; level < 7; ++level) must(cuCtxPushCurrent_v2(of[level % 3 == 0]), 0);
  for (int level = 6; level >= 0; --level) {
    size_t bytes = 1000 * (size_t)(level + 1);
    must(cuMemAlloc_v2(&a, bytes), 0), took(DEVICE, bytes);
    must(cuCtxPopCurrent_v2(&popped), 0);
  }
  return finish();
}
