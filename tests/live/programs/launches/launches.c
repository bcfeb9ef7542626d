// Launches by every name, one of which only jumps to another, and copies in both directions.
#include "expect.h"

static void kernelOne(void) {}
static void kernelTwo(void) {}

int main(void) {
  __cudaRegisterFunction(NULL, (const char*)kernelOne, "_Z3onePf", "_Z3onePf", -1, 0, 0, 0, 0, 0);
  __cudaRegisterFunction(NULL, (const char*)kernelTwo, "_Z3twoPf", "_Z3twoPf", -1, 0, 0, 0, 0, 0);
  dim3 grid = {2, 3, 4}, block = {32, 2, 1};
  char host[4096];
  void* p;
  must(cudaMalloc(&p, 1 << 20), 0), took(DEVICE, 1 << 20);
  for (int i = 0; i < 100; ++i) {
    must(cudaLaunchKernel((void*)kernelOne, grid, block, NULL, 0, NULL), 0), expected.launches += 1;
    must(__cudaLaunchKernel((void*)kernelTwo, grid, block, NULL, 64, NULL), 0);
    expected.launches += 1;
  }
  cudaLaunchConfig_t config = {grid, block, 128, NULL, NULL, 0};
  must(cudaLaunchKernelExC(&config, (void*)kernelOne, NULL), 0), expected.launches += 1;
  must(cudaLaunchCooperativeKernel((void*)kernelOne, grid, block, NULL, 0, NULL), 0);
  expected.launches += 1;
  must(cuLaunchKernel((void*)kernelTwo, 1, 2, 3, 4, 5, 6, 7, NULL, NULL, NULL), 0);
  expected.launches += 1;
  must(cudaGraphLaunch((void*)0x3200, NULL), 0), expected.launches += 1;

  must(cudaMemcpy(p, host, 4096, 1), 0), expected.to_device += 4096;
  must(cudaMemcpyAsync(p, host, 1000, 1, NULL), 0), expected.to_device += 1000;
  must(cudaMemcpy(host, p, 96, 2), 0), expected.to_host += 96;
  must(cudaMemcpy2D(host, 64, p, 512, 50, 3, 2), 0), expected.to_host += 150;  // three driver calls
  must(cuMemcpyHtoD_v2((CUdeviceptr)(uintptr_t)p, host, 7), 0), expected.to_device += 7;
  return finish();
}
