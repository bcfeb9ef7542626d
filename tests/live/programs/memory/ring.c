// Allocates and frees for long enough to fill many parts of a recording, and holds memory of all
// kinds from its beginning to its end: blocks, mapped physical memory, a pool's memory, an array,
// pinned memory. Then it prints what it holds. ring ROUNDS
#include "expect.h"

enum { HELD = 40, SLOTS = 200, PAGE = 2 << 20 };

static __attribute__((noinline)) void* oldOne(size_t bytes) {
  void* p = NULL;
  must(cudaMalloc(&p, bytes), 0), took(DEVICE, bytes);
  return p;
}

static void* held[HELD];
static void holdMore(int i) { held[i] = oldOne(1000 * ((size_t)i + 1)); }

int main(int count, char** words) {
  long rounds = count > 1 ? atol(words[1]) : 100;
  void* slots[SLOTS] = {0};
  must(cudaFree(NULL), 0);
  for (int i = 0; i < HELD; ++i) holdMore(i);

  // An expandable segment of three pages; all handles but one are released.
  CUdeviceptr range = 0;
  CUmemAllocationProp prop = {.type = 1, .location = {1, 0}};
  CUmemGenericAllocationHandle pages[3];
  must(cuMemAddressReserve(&range, 16 * PAGE, 0, 0, 0), 0);
  for (int i = 0; i < 3; ++i) {
    must(cuMemCreate(&pages[i], PAGE, &prop, 0), 0), took(PHYSICAL, PAGE);
    must(cuMemMap(range + (CUdeviceptr)i * PAGE, PAGE, 0, pages[i], 0), 0);
    if (i > 0) must(cuMemRelease(pages[i]), 0);
  }
  void *pooled, *pinned;
  must(cudaMallocAsync(&pooled, 12345, NULL), 0), took(POOL, 12345);
  must(cudaMallocHost(&pinned, 5000), 0), took(PINNED, 5000);

  for (long round = 0; round < rounds; ++round) {
    for (int i = 0; i < SLOTS; ++i) {
      size_t bytes = 4096 * (1 + (size_t)(i + round) % 7);
      size_t old = 4096 * (1 + (size_t)(i + round - 1) % 7);
      if (slots[i] != NULL) must(cudaFree(slots[i]), 0), gave(DEVICE, old);
      must(cudaMalloc(&slots[i], bytes), 0), took(DEVICE, bytes);
    }
    usleep(2000);
  }
  // Frees memory that is older than any remaining part.
  for (int i = 0; i < HELD; i += 2)
    must(cudaFree(held[i]), 0), gave(DEVICE, 1000 * ((size_t)i + 1));
  must(cuMemUnmap(range + PAGE, PAGE), 0), gave(PHYSICAL, PAGE);
  must(cuMemUnmap(range, PAGE), 0);
  must(cuMemRelease(pages[0]), 0), gave(PHYSICAL, PAGE);
  return finish();
}
