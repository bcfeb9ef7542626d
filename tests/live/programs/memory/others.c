// Arrays, aliases of memory that is charged elsewhere, memory of graphs.
#include "expect.h"

int main(void) {
  void *p, *alias, *external, *mapped;
  cudaArray_t flat, cube, mips;
  cudaChannelFormatDesc floats = {32, 32, 0, 0, 2};
  must(cudaMallocArray(&flat, &floats, 100, 10, 0), 0), took(ARRAY, 100 * 10 * 8);
  cudaExtent extent = {16, 16, 4};
  must(cudaMalloc3DArray(&cube, &floats, extent, 0), 0), took(ARRAY, 16 * 16 * 4 * 8);
  must(cudaFreeArray(flat), 0), gave(ARRAY, 100 * 10 * 8);
  CUDA_ARRAY3D_DESCRIPTOR shape = {64, 0, 0, 0x20, 1, 0};
  must(cuMipmappedArrayCreate(&mips, &shape, 1), 0), took(ARRAY, 64 * 4);
  must(cuMipmappedArrayDestroy(mips), 0), gave(ARRAY, 64 * 4);

  must(cudaMalloc(&p, 2 << 20), 0), took(DEVICE, 2 << 20);
  cudaIpcMemHandle_t handle;
  must(cudaIpcGetMemHandle(&handle, p), 0);
  must(cudaIpcOpenMemHandle(&alias, handle, 1), 0), expected.aliases += 1;
  must(cudaIpcCloseMemHandle(alias), 0);
  must(cudaImportExternalMemory(&external, &handle), 0), expected.aliases += 1;
  uint64_t buffer[3] = {0, 1 << 20, 0};
  must(cudaExternalMemoryGetMappedBuffer(&mapped, external, buffer), 0), expected.aliases += 1;
  must(cudaDestroyExternalMemory(external), 0);
  CUmemGenericAllocationHandle team;
  must(cuMulticastCreate(&team, &shape), 0), expected.aliases += 1;

  CUDA_MEM_ALLOC_NODE_PARAMS node = {.bytesize = 3 << 20};
  CUgraphNode made;
  must(cuGraphAddMemAllocNode(&made, &shape, NULL, 0, &node), 0);  // promised, not charged
  if (node.dptr == 0) return 97;
  must(cudaDeviceGraphMemTrim(0), 0);
  return finish();
}
