// Stream-ordered pools: freed memory returns to the pool, which keeps it reserved on the device.
#include "expect.h"

static uint64_t attribute(CUmemoryPool pool, int which) {
  uint64_t value = 0;
  must(cuMemPoolGetAttribute(pool, which, &value), 0);
  return value;
}

int main(void) {
  void *a, *b, *c, *d;
  must(cudaMallocAsync(&a, 1 << 20, NULL), 0), took(POOL, 1 << 20);
  must(cudaMallocAsync_ptsz(&b, 3000, NULL), 0), took(POOL, 3000);
  must(cudaFreeAsync(a, NULL), 0), gave(POOL, 1 << 20);
  CUmemPoolProps props = {.type = 1, .location = {1, 0}};
  cudaMemPool_t pool;
  must(cudaMemPoolCreate(&pool, &props), 0);
  must(cudaMallocFromPoolAsync(&c, 6 << 20, pool, NULL), 0), took(POOL, 6 << 20);
  must(cudaMallocFromPoolAsync_ptsz(&d, 5000, pool, NULL), 0), took(POOL, 5000);
  must(cudaFreeAsync_ptsz(c, NULL), 0), gave(POOL, 6 << 20);
  if (attribute(pool, 5) != 8 << 20 || attribute(pool, 7) != 5000) return 97;
  must(cudaMallocFromPoolAsync(&c, 5 << 20, pool, NULL), 0), took(POOL, 5 << 20);
  if (attribute(pool, 5) != 8 << 20) return 97;  // from the pool's reserve
  must(cudaFreeAsync(c, NULL), 0), gave(POOL, 5 << 20);
  must(cudaMemPoolTrimTo(pool, 0), 0);
  if (attribute(pool, 5) != 2 << 20) return 97;
  failed(cudaFreeAsync(c, NULL), 1, 2);
  must(cudaFree(d), 0), gave(POOL, 5000);  // by the plain function: allowed
  must(cudaMemPoolDestroy(pool), 0);
  must(cudaFreeAsync(b, NULL), 0), gave(POOL, 3000);
  must(cudaMallocAsync(&a, 12345, NULL), 0), took(POOL, 12345);
  return finish();
}
