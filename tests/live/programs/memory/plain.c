// Plain memory of every sort, through the runtime; a second free and a free of nothing.
#include "expect.h"

int main(void) {
  void *a, *b, *c, *host, *host2, *managed, *pitched;
  size_t pitch;
  must(cudaMalloc(&a, 1), 0), took(DEVICE, 1);
  must(cudaMalloc(&b, 5 << 20), 0), took(DEVICE, 5 << 20);
  must(cudaMalloc(&c, 123457), 0), took(DEVICE, 123457);
  must(cudaMallocManaged(&managed, 1 << 20, 1), 0), took(MANAGED, 1 << 20);
  must(cudaMallocHost(&host, 4096), 0), took(PINNED, 4096);
  must(cudaHostAlloc(&host2, 8192, 0), 0), took(PINNED, 8192);
  static char own[65536];
  must(cudaHostRegister(own, sizeof(own), 0), 0), took(REGISTERED, sizeof(own));
  must(cudaMallocPitch(&pitched, &pitch, 1000, 20), 0), took(DEVICE, pitch * 20);
  cudaPitchedPtr cube;
  cudaExtent extent = {1000, 10, 3};
  must(cudaMalloc3D(&cube, extent), 0), took(DEVICE, cube.pitch * 30);

  must(cudaFree(b), 0), gave(DEVICE, 5 << 20);
  must(cudaFree(NULL), 0);
  failed(cudaFree(b), 1, 2);  // the runtime's call and the driver's
  must(cudaFree(managed), 0), gave(MANAGED, 1 << 20);
  must(cudaFreeHost(host), 0), gave(PINNED, 4096);
  must(cudaHostUnregister(own), 0), gave(REGISTERED, sizeof(own));
  must(cudaMalloc(&b, 7 << 20), 0), took(DEVICE, 7 << 20);  // the address is used again
  must(cudaFree(b), 0), gave(DEVICE, 7 << 20);
  must(cudaFree(cube.ptr), 0), gave(DEVICE, cube.pitch * 30);
  return finish();
}
