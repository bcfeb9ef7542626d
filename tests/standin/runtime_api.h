// The part of CUDA's runtime API that the stand-in and the live programs use, written
// independently.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int cudaError_t;
typedef void* cudaStream_t;
typedef void* cudaMemPool_t;
typedef void* cudaArray_t;
typedef struct {
  unsigned x, y, z;
} dim3;
typedef struct {
  size_t width, height, depth;
} cudaExtent;
typedef struct {
  void* ptr;
  size_t pitch, xsize, ysize;
} cudaPitchedPtr;
typedef struct {
  int x, y, z, w, kind;  // bits of each channel
} cudaChannelFormatDesc;
typedef struct {
  char bytes[64];
} cudaIpcMemHandle_t;
typedef struct {
  dim3 grid, block;
  size_t shared_bytes;
  cudaStream_t stream;
  void* attributes;
  unsigned attribute_count;
} cudaLaunchConfig_t;

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes);

cudaError_t cudaMalloc(void** out, size_t bytes);
cudaError_t cudaMallocPitch(void** out, size_t* pitch, size_t width, size_t height);
cudaError_t cudaMalloc3D(cudaPitchedPtr* out, cudaExtent extent);
cudaError_t cudaMallocManaged(void** out, size_t bytes, unsigned flags);
cudaError_t cudaMallocHost(void** out, size_t bytes);
cudaError_t cudaHostAlloc(void** out, size_t bytes, unsigned flags);
cudaError_t cudaHostRegister(void* address, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void* address);
cudaError_t cudaFree(void* address);
cudaError_t cudaFreeHost(void* address);
cudaError_t cudaMallocAsync(void** out, size_t bytes, cudaStream_t stream);
cudaError_t cudaMallocAsync_ptsz(void** out, size_t bytes, cudaStream_t stream);
cudaError_t cudaMallocFromPoolAsync(void** out, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream);
cudaError_t cudaMallocFromPoolAsync_ptsz(void** out, size_t bytes, cudaMemPool_t pool,
                                         cudaStream_t stream);
cudaError_t cudaFreeAsync(void* address, cudaStream_t stream);
cudaError_t cudaFreeAsync_ptsz(void* address, cudaStream_t stream);
cudaError_t cudaMemPoolCreate(cudaMemPool_t* out, const void* props);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep_bytes);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* out, int device);
cudaError_t cudaMemPoolImportPointer(void** out, cudaMemPool_t pool, void* data);
cudaError_t cudaMallocArray(cudaArray_t* out, const cudaChannelFormatDesc* format, size_t width,
                            size_t height, unsigned flags);
cudaError_t cudaMalloc3DArray(cudaArray_t* out, const cudaChannelFormatDesc* format,
                              cudaExtent extent, unsigned flags);
cudaError_t cudaMallocMipmappedArray(cudaArray_t* out, const cudaChannelFormatDesc* format,
                                     cudaExtent extent, unsigned levels, unsigned flags);
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaFreeMipmappedArray(cudaArray_t array);
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* out, void* address);
cudaError_t cudaIpcOpenMemHandle(void** out, cudaIpcMemHandle_t handle, unsigned flags);
cudaError_t cudaIpcCloseMemHandle(void* address);
cudaError_t cudaImportExternalMemory(void** out, const void* what);
cudaError_t cudaExternalMemoryGetMappedBuffer(void** out, void* memory, const void* buffer);
cudaError_t cudaDestroyExternalMemory(void* memory);
cudaError_t cudaDeviceGraphMemTrim(int device);

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, int kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind,
                            cudaStream_t stream);
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                         size_t width, size_t height, int kind);
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, int kind, cudaStream_t stream);
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                           size_t bytes);
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                size_t bytes, cudaStream_t stream);
cudaError_t cudaMemset(void* to, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream);

cudaError_t cudaLaunchKernel(const void* f, dim3 grid, dim3 block, void** params,
                             size_t shared_bytes, cudaStream_t stream);
cudaError_t __cudaLaunchKernel(const void* f, dim3 grid, dim3 block, void** params,
                               size_t shared_bytes, cudaStream_t stream);  // jumps to it
cudaError_t cudaLaunchCooperativeKernel(const void* f, dim3 grid, dim3 block, void** params,
                                        size_t shared_bytes, cudaStream_t stream);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* f, void** params);
cudaError_t cudaGraphLaunch(void* graph, cudaStream_t stream);
void** __cudaRegisterFatBinary(void* image);
void __cudaRegisterFunction(void** module, const char* stub, char* device_name, const char* name,
                            int limit, void* thread, void* block, void* block_dim, void* grid_dim,
                            int* warp);

// Only in the stand-in: work items so far, after adding `more`.
uint64_t fake_gpu_work(uint64_t more);

#ifdef __cplusplus
}
#endif
