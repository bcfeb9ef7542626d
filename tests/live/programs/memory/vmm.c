// Addresses and memory are separate, as in PyTorch's expandable segments: memory lives until its
// last handle and its last mapping are gone.
#include "expect.h"

#define M (2ull << 20)

int main(void) {
  CUcontext context;
  must(cuInit(0), 0);
  must(cuDevicePrimaryCtxRetain(&context, 0), 0);
  must(cuCtxSetCurrent(context), 0);
  CUmemAllocationProp props = {1, 0, {1, 0}, NULL, {0}};
  CUdeviceptr range;
  CUmemGenericAllocationHandle h[4], again;
  must(cuMemAddressReserve(&range, 64 * M, 0, 0, 0), 0);  // addresses alone: no memory
  for (int i = 0; i < 4; ++i) {
    must(cuMemCreate(&h[i], (size_t)(i + 1) * M, &props, 0), 0),
        took(PHYSICAL, (uint64_t)(i + 1) * M);
  }
  must(cuMemMap(range, M, 0, h[0], 0), 0);
  must(cuMemMap(range + M, 2 * M, 0, h[1], 0), 0);
  must(cuMemMap(range + 3 * M, 3 * M, 0, h[2], 0), 0);
  must(cuMemMap(range + 6 * M, 3 * M, 0, h[2], 0), 0);  // twice
  failed(cuMemMap(range, M, 0, h[3], 0), 1, 1);         // taken
  must(cuMemRelease(h[0]), 0);                          // mapped: it stays
  must(cuMemRelease(h[2]), 0);
  failed(cuMemUnmap(range + 4 * M, M), 1, 1);  // a part of a mapping
  must(cuMemUnmap(range, 3 * M), 0);           // two mappings in one call; h[1] has its handle
  gave(PHYSICAL, M);
  must(cuMemUnmap(range + 3 * M, 3 * M), 0);  // one of two
  must(cuMemRetainAllocationHandle(&again, (void*)(uintptr_t)(range + 7 * M)), 0);
  must(cuMemUnmap(range + 6 * M, 3 * M), 0);  // a handle is left
  must(cuMemRelease(again), 0), gave(PHYSICAL, 3 * M);
  must(cuMemMap(range + 3 * M, 2 * M, 0, h[1], 0), 0);  // mapped again elsewhere
  must(cuMemRelease(h[3]), 0), gave(PHYSICAL, 4 * M);   // never mapped
  failed(cuMemAddressFree(range, 64 * M), 1, 1);        // something is mapped
  must(cuMemUnmap(range + 3 * M, 2 * M), 0);
  must(cuMemAddressFree(range, 64 * M), 0);
  return finish();  // h[1] is never released
}
