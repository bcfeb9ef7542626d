// Every watched function, and where its arguments are (see COOKIE_PLACE in records.h). The recorder
// makes the cookies of the probes from this table; the BPF programs know no function by name. An id
// is a row's index, and recordings contain the name, so rows may be added anywhere.
//
//   X(symbol, verb, kind, out, address, bytes, times, handle, stream, shape)
//   cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) → out 1, bytes 2
//
// A `_v2` or `_ptsz` variant with the same arguments has its own row: libcuda exports each.
// Source: cuda.h and cuda_runtime_api.h of CUDA 11.8, 12.4 and 13.0; docs/formats/recording.md.
#pragma once

// ---- driver: what is charged --------------------------------------------------------------------
#define TIDEGAUGE_DRIVER_MEMORY(X)                                               \
  X(cuMemAlloc_v2, Allocate, Device, 1, 0, 2, 0, 0, 0, PLAIN)                    \
  X(cuMemAllocPitch_v2, Allocate, Device, 1, 0, 0, 4, 0, 0, PITCH)               \
  X(cuMemAllocManaged, Allocate, Managed, 1, 0, 2, 0, 0, 0, PLAIN)               \
  X(cuMemAllocHost_v2, Allocate, PinnedHost, 1, 0, 2, 0, 0, 0, PLAIN)            \
  X(cuMemHostAlloc, Allocate, PinnedHost, 1, 0, 2, 0, 0, 0, PLAIN)               \
  X(cuMemHostRegister_v2, Allocate, RegisteredHost, 0, 1, 2, 0, 0, 0, PLAIN)     \
  X(cuMemHostUnregister, Free, RegisteredHost, 0, 1, 0, 0, 0, 0, PLAIN)          \
  X(cuMemFree_v2, Free, Device, 0, 1, 0, 0, 0, 0, PLAIN)                         \
  X(cuMemFreeHost, Free, PinnedHost, 0, 1, 0, 0, 0, 0, PLAIN)                    \
  X(cuMemAllocAsync, Allocate, Pool, 1, 0, 2, 0, 0, 3, PLAIN)                    \
  X(cuMemAllocAsync_ptsz, Allocate, Pool, 1, 0, 2, 0, 0, 3, PLAIN)               \
  X(cuMemAllocFromPoolAsync, Allocate, Pool, 1, 0, 2, 0, 3, 4, PLAIN)            \
  X(cuMemAllocFromPoolAsync_ptsz, Allocate, Pool, 1, 0, 2, 0, 3, 4, PLAIN)       \
  X(cuMemFreeAsync, Free, Pool, 0, 1, 0, 0, 0, 2, PLAIN)                         \
  X(cuMemFreeAsync_ptsz, Free, Pool, 0, 1, 0, 0, 0, 2, PLAIN)                    \
  X(cuMemPoolCreate, Create, PoolItself, 1, 0, 0, 0, 0, 0, POOL_CREATE)          \
  X(cuMemPoolDestroy, Destroy, PoolItself, 0, 0, 0, 0, 1, 0, PLAIN)              \
  X(cuMemPoolTrimTo, Trim, PoolItself, 0, 0, 2, 0, 1, 0, PLAIN)                  \
  X(cuDeviceGetDefaultMemPool, Retain, PoolItself, 1, 0, 0, 0, 2, 0, POOL_OF)    \
  X(cuDeviceGetMemPool, Retain, PoolItself, 1, 0, 0, 0, 2, 0, POOL_OF)           \
  X(cuMemGetDefaultMemPool, Retain, PoolItself, 1, 2, 0, 0, 0, 0, POOL_AT)       \
  X(cuMemGetMemPool, Retain, PoolItself, 1, 2, 0, 0, 0, 0, POOL_AT)              \
  X(cuStreamCreate, Create, Stream, 1, 0, 0, 0, 0, 0, HANDLE_OUT)                \
  X(cuStreamCreateWithPriority, Create, Stream, 1, 0, 0, 0, 0, 0, HANDLE_OUT)    \
  X(cuStreamDestroy_v2, Destroy, Stream, 0, 0, 0, 0, 1, 0, PLAIN)                \
  X(cuMemPoolImportPointer, Allocate, Alias, 1, 0, 0, 0, 2, 0, PLAIN)            \
  X(cuMemCreate, Allocate, Physical, 1, 0, 2, 0, 0, 0, CREATE)                   \
  X(cuMemRelease, Free, Physical, 0, 0, 0, 0, 1, 0, PLAIN)                       \
  X(cuMemRetainAllocationHandle, Retain, Physical, 1, 2, 0, 0, 0, 0, HANDLE_OUT) \
  X(cuMemImportFromShareableHandle, Retain, Alias, 1, 0, 0, 0, 0, 0, HANDLE_OUT) \
  X(cuMemAddressReserve, Allocate, AddressRange, 1, 0, 2, 0, 0, 0, PLAIN)        \
  X(cuMemAddressFree, Free, AddressRange, 0, 1, 2, 0, 0, 0, PLAIN)               \
  X(cuMemMap, Map, Physical, 0, 1, 2, 3, 4, 0, MAP)                              \
  X(cuMemUnmap, Unmap, Physical, 0, 1, 2, 0, 0, 0, PLAIN)                        \
  X(cuMulticastCreate, Allocate, Alias, 1, 0, 0, 0, 0, 0, HANDLE_OUT)            \
  X(cuArrayCreate_v2, Allocate, Array, 1, 0, 0, 0, 0, 0, ARRAY)                  \
  X(cuArray3DCreate_v2, Allocate, Array, 1, 0, 0, 0, 0, 0, ARRAY_3D)             \
  X(cuMipmappedArrayCreate, Allocate, Array, 1, 0, 0, 3, 0, 0, ARRAY_3D)         \
  X(cuArrayDestroy, Free, Array, 0, 0, 0, 0, 1, 0, PLAIN)                        \
  X(cuMipmappedArrayDestroy, Free, Array, 0, 0, 0, 0, 1, 0, PLAIN)               \
  X(cuIpcOpenMemHandle_v2, Allocate, Alias, 1, 0, 0, 0, 0, 0, PLAIN)             \
  X(cuIpcCloseMemHandle, Free, Alias, 0, 1, 0, 0, 0, 0, PLAIN)                   \
  X(cuImportExternalMemory, Allocate, Alias, 1, 0, 0, 0, 0, 0, HANDLE_OUT)       \
  X(cuExternalMemoryGetMappedBuffer, Allocate, Alias, 1, 0, 0, 0, 2, 0, PLAIN)   \
  X(cuDestroyExternalMemory, Free, Alias, 0, 0, 0, 0, 1, 0, PLAIN)               \
  X(cuGraphAddMemAllocNode, Allocate, Graph, 0, 5, 0, 0, 2, 0, GRAPH_NODE)       \
  X(cuDeviceGraphMemTrim, Trim, Graph, 0, 0, 0, 0, 1, 0, PLAIN)                  \
  X(cuMemGetInfo_v2, Ask, Answer, 1, 2, 0, 0, 0, 0, MEM_INFO)

// ---- driver: which device a thread is on, and what ends everything at once
// -----------------------
//   handle: the context or device argument; for a function that makes a context, its device
#define TIDEGAUGE_DRIVER_CONTEXT(X)                                          \
  X(cuCtxCreate_v2, Create, Context, 1, 0, 0, 0, 3, 0, HANDLE_OUT)           \
  X(cuCtxCreate_v3, Create, Context, 1, 0, 0, 0, 5, 0, HANDLE_OUT)           \
  X(cuCtxCreate_v4, Create, Context, 1, 0, 0, 0, 4, 0, HANDLE_OUT)           \
  X(cuDevicePrimaryCtxRetain, Retain, Context, 1, 0, 0, 0, 2, 0, HANDLE_OUT) \
  X(cuCtxDestroy_v2, Destroy, Context, 0, 0, 0, 0, 1, 0, PLAIN)              \
  X(cuDevicePrimaryCtxRelease_v2, Release, Context, 0, 0, 0, 0, 1, 0, PLAIN) \
  X(cuDevicePrimaryCtxReset_v2, Reset, Context, 0, 0, 0, 0, 1, 0, PLAIN)     \
  X(cuCtxSetCurrent, Set, Context, 0, 0, 0, 0, 1, 0, PLAIN)                  \
  X(cuCtxPushCurrent_v2, Push, Context, 0, 0, 0, 0, 1, 0, PLAIN)             \
  X(cuCtxPopCurrent_v2, Pop, Context, 0, 0, 0, 0, 0, 0, PLAIN)

// ---- runtime: names and call sites for the same operations --------------------------------------
#define TIDEGAUGE_RUNTIME_MEMORY(X)                                              \
  X(cudaMalloc, Allocate, Device, 1, 0, 2, 0, 0, 0, PLAIN)                       \
  X(cudaMallocPitch, Allocate, Device, 1, 0, 0, 4, 0, 0, PITCH)                  \
  X(cudaMalloc3D, Allocate, Device, 1, 0, 0, 0, 0, 0, PITCHED_PTR)               \
  X(cudaMallocManaged, Allocate, Managed, 1, 0, 2, 0, 0, 0, PLAIN)               \
  X(cudaMallocHost, Allocate, PinnedHost, 1, 0, 2, 0, 0, 0, PLAIN)               \
  X(cudaHostAlloc, Allocate, PinnedHost, 1, 0, 2, 0, 0, 0, PLAIN)                \
  X(cudaHostRegister, Allocate, RegisteredHost, 0, 1, 2, 0, 0, 0, PLAIN)         \
  X(cudaHostUnregister, Free, RegisteredHost, 0, 1, 0, 0, 0, 0, PLAIN)           \
  X(cudaMallocAsync, Allocate, Pool, 1, 0, 2, 0, 0, 3, PLAIN)                    \
  X(cudaMallocAsync_ptsz, Allocate, Pool, 1, 0, 2, 0, 0, 3, PLAIN)               \
  X(cudaMallocFromPoolAsync, Allocate, Pool, 1, 0, 2, 0, 3, 4, PLAIN)            \
  X(cudaMallocFromPoolAsync_ptsz, Allocate, Pool, 1, 0, 2, 0, 3, 4, PLAIN)       \
  X(cudaFree, Free, Device, 0, 1, 0, 0, 0, 0, PLAIN)                             \
  X(cudaFreeHost, Free, PinnedHost, 0, 1, 0, 0, 0, 0, PLAIN)                     \
  X(cudaFreeAsync, Free, Pool, 0, 1, 0, 0, 0, 2, PLAIN)                          \
  X(cudaFreeAsync_ptsz, Free, Pool, 0, 1, 0, 0, 0, 2, PLAIN)                     \
  X(cudaMemPoolCreate, Create, PoolItself, 1, 0, 0, 0, 0, 0, POOL_CREATE)        \
  X(cudaMemPoolDestroy, Destroy, PoolItself, 0, 0, 0, 0, 1, 0, PLAIN)            \
  X(cudaMemPoolTrimTo, Trim, PoolItself, 0, 0, 2, 0, 1, 0, PLAIN)                \
  X(cudaMemPoolImportPointer, Allocate, Alias, 1, 0, 0, 0, 2, 0, PLAIN)          \
  X(cudaMallocArray, Allocate, Array, 1, 0, 0, 0, 0, 0, HANDLE_OUT)              \
  X(cudaMalloc3DArray, Allocate, Array, 1, 0, 0, 0, 0, 0, HANDLE_OUT)            \
  X(cudaMallocMipmappedArray, Allocate, Array, 1, 0, 0, 0, 0, 0, HANDLE_OUT)     \
  X(cudaFreeArray, Free, Array, 0, 0, 0, 0, 1, 0, PLAIN)                         \
  X(cudaFreeMipmappedArray, Free, Array, 0, 0, 0, 0, 1, 0, PLAIN)                \
  X(cudaIpcOpenMemHandle, Allocate, Alias, 1, 0, 0, 0, 0, 0, PLAIN)              \
  X(cudaIpcCloseMemHandle, Free, Alias, 0, 1, 0, 0, 0, 0, PLAIN)                 \
  X(cudaImportExternalMemory, Allocate, Alias, 1, 0, 0, 0, 0, 0, HANDLE_OUT)     \
  X(cudaExternalMemoryGetMappedBuffer, Allocate, Alias, 1, 0, 0, 0, 2, 0, PLAIN) \
  X(cudaDestroyExternalMemory, Free, Alias, 0, 0, 0, 0, 1, 0, PLAIN)             \
  X(cudaDeviceGraphMemTrim, Trim, Graph, 0, 0, 0, 0, 1, 0, PLAIN)

#define TIDEGAUGE_RUNTIME_CONTEXT(X)                     \
  X(cudaSetDevice, Set, Device, 0, 0, 0, 0, 1, 0, PLAIN) \
  X(cudaDeviceReset, Reset, Device, 0, 0, 0, 0, 0, 0, PLAIN)

// ---- copies: X(symbol, direction, bytes, times, kind, submitted, element bytes) -----------------
//   kind: the argument with a cudaMemcpyKind; without one, `direction` applies
#define TIDEGAUGE_DRIVER_COPIES(X)                              \
  X(cuMemcpyHtoD_v2, HOST_TO_DEVICE, 3, 0, 0, 0, 1)             \
  X(cuMemcpyHtoD_v2_ptds, HOST_TO_DEVICE, 3, 0, 0, 0, 1)        \
  X(cuMemcpyHtoDAsync_v2, HOST_TO_DEVICE, 3, 0, 0, 1, 1)        \
  X(cuMemcpyHtoDAsync_v2_ptsz, HOST_TO_DEVICE, 3, 0, 0, 1, 1)   \
  X(cuMemcpyDtoH_v2, DEVICE_TO_HOST, 3, 0, 0, 0, 1)             \
  X(cuMemcpyDtoH_v2_ptds, DEVICE_TO_HOST, 3, 0, 0, 0, 1)        \
  X(cuMemcpyDtoHAsync_v2, DEVICE_TO_HOST, 3, 0, 0, 1, 1)        \
  X(cuMemcpyDtoHAsync_v2_ptsz, DEVICE_TO_HOST, 3, 0, 0, 1, 1)   \
  X(cuMemcpyDtoD_v2, DEVICE_TO_DEVICE, 3, 0, 0, 1, 1)           \
  X(cuMemcpyDtoD_v2_ptds, DEVICE_TO_DEVICE, 3, 0, 0, 1, 1)      \
  X(cuMemcpyDtoDAsync_v2, DEVICE_TO_DEVICE, 3, 0, 0, 1, 1)      \
  X(cuMemcpyDtoDAsync_v2_ptsz, DEVICE_TO_DEVICE, 3, 0, 0, 1, 1) \
  X(cuMemcpy, UNKNOWN, 3, 0, 0, 0, 1)                           \
  X(cuMemcpy_ptds, UNKNOWN, 3, 0, 0, 0, 1)                      \
  X(cuMemcpyAsync, UNKNOWN, 3, 0, 0, 1, 1)                      \
  X(cuMemcpyAsync_ptsz, UNKNOWN, 3, 0, 0, 1, 1)                 \
  X(cuMemcpyPeer, PEER, 5, 0, 0, 1, 1)                          \
  X(cuMemcpyPeer_ptds, PEER, 5, 0, 0, 1, 1)                     \
  X(cuMemcpyPeerAsync, PEER, 5, 0, 0, 1, 1)                     \
  X(cuMemcpyPeerAsync_ptsz, PEER, 5, 0, 0, 1, 1)                \
  X(cuMemsetD8_v2, SET, 3, 0, 0, 1, 1)                          \
  X(cuMemsetD8_v2_ptds, SET, 3, 0, 0, 1, 1)                     \
  X(cuMemsetD8Async, SET, 3, 0, 0, 1, 1)                        \
  X(cuMemsetD8Async_ptsz, SET, 3, 0, 0, 1, 1)                   \
  X(cuMemsetD16_v2, SET, 3, 0, 0, 1, 2)                         \
  X(cuMemsetD32_v2, SET, 3, 0, 0, 1, 4)                         \
  X(cuMemsetD16_v2_ptds, SET, 3, 0, 0, 1, 2)                    \
  X(cuMemsetD32_v2_ptds, SET, 3, 0, 0, 1, 4)                    \
  X(cuMemsetD16Async, SET, 3, 0, 0, 1, 2)                       \
  X(cuMemsetD32Async, SET, 3, 0, 0, 1, 4)                       \
  X(cuMemsetD16Async_ptsz, SET, 3, 0, 0, 1, 2)                  \
  X(cuMemsetD32Async_ptsz, SET, 3, 0, 0, 1, 4)

#define TIDEGAUGE_RUNTIME_COPIES(X)                 \
  X(cudaMemcpy, UNKNOWN, 3, 0, 4, 0, 1)             \
  X(cudaMemcpy_ptds, UNKNOWN, 3, 0, 4, 0, 1)        \
  X(cudaMemcpyAsync, UNKNOWN, 3, 0, 4, 1, 1)        \
  X(cudaMemcpyAsync_ptsz, UNKNOWN, 3, 0, 4, 1, 1)   \
  X(cudaMemcpy2D, UNKNOWN, 5, 6, 7, 0, 1)           \
  X(cudaMemcpy2D_ptds, UNKNOWN, 5, 6, 7, 0, 1)      \
  X(cudaMemcpy2DAsync, UNKNOWN, 5, 6, 7, 1, 1)      \
  X(cudaMemcpy2DAsync_ptsz, UNKNOWN, 5, 6, 7, 1, 1) \
  X(cudaMemcpyPeer, PEER, 5, 0, 0, 1, 1)            \
  X(cudaMemcpyPeerAsync, PEER, 5, 0, 0, 1, 1)       \
  X(cudaMemset, SET, 3, 0, 0, 1, 1)                 \
  X(cudaMemset_ptds, SET, 3, 0, 0, 1, 1)            \
  X(cudaMemsetAsync, SET, 3, 0, 0, 1, 1)            \
  X(cudaMemsetAsync_ptsz, SET, 3, 0, 0, 1, 1)

// ---- launches: X(symbol, shape of the arguments, runtime) ---------------------------------------
#define TIDEGAUGE_LAUNCHES(X)                     \
  X(cuLaunchKernel, SIX_WORDS, 0)                 \
  X(cuLaunchKernel_ptsz, SIX_WORDS, 0)            \
  X(cuLaunchCooperativeKernel, SIX_WORDS, 0)      \
  X(cuLaunchCooperativeKernel_ptsz, SIX_WORDS, 0) \
  X(cuLaunchKernelEx, CONFIG, 0)                  \
  X(cuLaunchKernelEx_ptsz, CONFIG, 0)             \
  X(cuGraphLaunch, GRAPH, 0)                      \
  X(cuGraphLaunch_ptsz, GRAPH, 0)                 \
  X(cudaLaunchKernel, DIM3, 1)                    \
  X(cudaLaunchKernel_ptsz, DIM3, 1)               \
  X(cudaLaunchCooperativeKernel, DIM3, 1)         \
  X(cudaLaunchCooperativeKernel_ptsz, DIM3, 1)    \
  X(cudaLaunchKernelExC, CONFIG, 1)               \
  X(cudaLaunchKernelExC_ptsz, CONFIG, 1)          \
  X(cudaGraphLaunch, GRAPH, 1)                    \
  X(cudaGraphLaunch_ptsz, GRAPH, 1)

// ---- names of kernels: X(symbol, at, handle, name) ----------------------------------------------
//   at: 0 = entry (the handle is an argument), 1 = return (the handle is the result)
#define TIDEGAUGE_NAMES(X)           \
  X(__cudaRegisterFunction, 0, 2, 4) \
  X(cuModuleGetFunction, 1, 1, 3)    \
  X(cuLibraryGetKernel, 1, 1, 3)     \
  X(cuKernelGetFunction, 1, 1, 0)

// ---- framework: USDT probes of libc10_cuda.so ---------------------------------------------------
#define TIDEGAUGE_FRAMEWORK(X)                                \
  X(pytorch_malloc, Allocate, Block, 0, 1, 3, 0, 0, 4, PLAIN) \
  X(pytorch_free, Free, Block, 0, 1, 0, 0, 0, 0, PLAIN)
