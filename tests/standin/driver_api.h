// The part of CUDA's driver API that the stand-in and the live programs use, written independently:
// enough to compile without NVIDIA's headers. Names, numbers and layouts are those of the API (C,
// x86-64).
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef unsigned long long CUmemGenericAllocationHandle;
typedef void* CUcontext;
typedef void* CUstream;
typedef void* CUmemoryPool;
typedef void* CUarray;
typedef void* CUmipmappedArray;
typedef void* CUexternalMemory;
typedef void* CUfunction;
typedef void* CUgraph;
typedef void* CUgraphNode;
typedef void* CUgraphExec;

enum {
  CU_OK = 0,
  CU_INVALID_VALUE = 1,
  CU_OUT_OF_MEMORY = 2,
  CU_NOT_INITIALIZED = 3,
  CU_INVALID_DEVICE = 101,
  CU_INVALID_CONTEXT = 201,
  CU_INVALID_HANDLE = 400,
  CU_ALREADY_REGISTERED = 712,
  CU_NOT_REGISTERED = 713,
};

typedef struct {
  int type;  // 1 = device
  int id;
} CUmemLocation;
typedef struct {
  int type, handle_types;
  CUmemLocation location;
  void* win32;
  unsigned char flags[8];
} CUmemAllocationProp;
typedef struct {
  int type, handle_types;
  CUmemLocation location;
  void* win32;
  size_t max_bytes;
  unsigned short usage;
  unsigned char reserved[54];
} CUmemPoolProps;
typedef struct {
  CUmemPoolProps pool;
  const void* access;
  size_t access_count;
  size_t bytesize;   // at byte 104
  CUdeviceptr dptr;  // the result
} CUDA_MEM_ALLOC_NODE_PARAMS;
typedef struct {
  size_t width, height;
  unsigned format, channels;
} CUDA_ARRAY_DESCRIPTOR;
typedef struct {
  size_t width, height, depth;
  unsigned format, channels, flags;
} CUDA_ARRAY3D_DESCRIPTOR;
typedef struct {
  char bytes[64];
} CUipcMemHandle;
typedef struct {
  unsigned grid[3], block[3], shared_bytes;
  CUstream stream;
  void* attributes;
  unsigned attribute_count;
} CUlaunchConfig;

CUresult cuInit(unsigned flags);
CUresult cuDriverGetVersion(int* version);
CUresult cuDeviceGet(CUdevice* device, int ordinal);
CUresult cuDeviceGetCount(int* count);
CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device);
CUresult cuPointerGetAttribute(void* value, int attribute, CUdeviceptr address);
CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device);
CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice device);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device);
CUresult cuCtxCreate_v2(CUcontext* out, unsigned flags, CUdevice device);
CUresult cuCtxCreate_v3(CUcontext* out, void* params, int count, unsigned flags, CUdevice device);
CUresult cuCtxCreate_v4(CUcontext* out, void* params, unsigned flags, CUdevice device);
CUresult cuCtxDestroy_v2(CUcontext context);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxGetCurrent(CUcontext* out);
CUresult cuCtxGetDevice(CUdevice* out);
CUresult cuCtxPushCurrent_v2(CUcontext context);
CUresult cuCtxPopCurrent_v2(CUcontext* out);

CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes);
CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address);
CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t bytes);
CUresult cuMemAllocPitch_v2(CUdeviceptr* out, size_t* pitch, size_t width, size_t height,
                            unsigned element);
CUresult cuMemAllocManaged(CUdeviceptr* out, size_t bytes, unsigned flags);
CUresult cuMemAllocHost_v2(void** out, size_t bytes);
CUresult cuMemHostAlloc(void** out, size_t bytes, unsigned flags);
CUresult cuMemHostRegister_v2(void* address, size_t bytes, unsigned flags);
CUresult cuMemHostUnregister(void* address);
CUresult cuMemFree_v2(CUdeviceptr address);
CUresult cuMemFreeHost(void* address);

CUresult cuMemAllocAsync(CUdeviceptr* out, size_t bytes, CUstream stream);
CUresult cuMemAllocAsync_ptsz(CUdeviceptr* out, size_t bytes, CUstream stream);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* out, size_t bytes, CUmemoryPool pool,
                                 CUstream stream);
CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* out, size_t bytes, CUmemoryPool pool,
                                      CUstream stream);
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream);
CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream);
CUresult cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* props);
CUresult cuMemPoolDestroy(CUmemoryPool pool);
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep_bytes);
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, int attribute, void* value);
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, int attribute, void* value);
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* out, CUdevice device);
CUresult cuDeviceGetMemPool(CUmemoryPool* out, CUdevice device);
CUresult cuMemGetDefaultMemPool(CUmemoryPool* out, CUmemLocation* location, int type);
CUresult cuMemGetMemPool(CUmemoryPool* out, CUmemLocation* location, int type);
CUresult cuStreamCreate(CUstream* out, unsigned flags);
CUresult cuStreamCreateWithPriority(CUstream* out, unsigned flags, int priority);
CUresult cuStreamDestroy_v2(CUstream stream);
CUresult cuMemPoolImportPointer(CUdeviceptr* out, CUmemoryPool pool, void* data);

CUresult cuMemCreate(CUmemGenericAllocationHandle* out, size_t bytes,
                     const CUmemAllocationProp* props, unsigned long long flags);
CUresult cuMemRelease(CUmemGenericAllocationHandle handle);
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* out, void* address);
CUresult cuMemExportToShareableHandle(void* out, CUmemGenericAllocationHandle handle, int type,
                                      unsigned long long flags);
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* out, void* data, int type);
CUresult cuMemAddressReserve(CUdeviceptr* out, size_t bytes, size_t align, CUdeviceptr hint,
                             unsigned long long flags);
CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes);
CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags);
CUresult cuMemUnmap(CUdeviceptr address, size_t bytes);
CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const void* access, size_t count);
CUresult cuMulticastCreate(CUmemGenericAllocationHandle* out, const void* props);

CUresult cuArrayCreate_v2(CUarray* out, const CUDA_ARRAY_DESCRIPTOR* shape);
CUresult cuArray3DCreate_v2(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* shape);
CUresult cuMipmappedArrayCreate(CUmipmappedArray* out, const CUDA_ARRAY3D_DESCRIPTOR* shape,
                                unsigned levels);
CUresult cuArrayDestroy(CUarray array);
CUresult cuMipmappedArrayDestroy(CUmipmappedArray array);

CUresult cuIpcGetMemHandle(CUipcMemHandle* out, CUdeviceptr address);
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* out, CUipcMemHandle handle, unsigned flags);
CUresult cuIpcCloseMemHandle(CUdeviceptr address);
CUresult cuImportExternalMemory(CUexternalMemory* out, const void* what);
CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr* out, CUexternalMemory memory,
                                         const void* buffer);
CUresult cuDestroyExternalMemory(CUexternalMemory memory);

CUresult cuGraphAddMemAllocNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                                size_t after_count, CUDA_MEM_ALLOC_NODE_PARAMS* params);
CUresult cuDeviceGraphMemTrim(CUdevice device);
CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream);

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared_bytes, CUstream stream,
                        void** params, void** extra);
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** params, void** extra);
CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                   unsigned by, unsigned bz, unsigned shared_bytes, CUstream stream,
                                   void** params);
CUresult cuModuleGetFunction(CUfunction* out, void* module, const char* name);
CUresult cuLibraryGetKernel(void** out, void* library, const char* name);
CUresult cuKernelGetFunction(CUfunction* out, void* kernel);

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                      CUcontext from_context, size_t bytes);
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, size_t bytes, CUstream stream);
CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count);
CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count);
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count);
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream);
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream);
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream);
CUresult cuGetErrorString(CUresult code, const char** out);
CUresult cuGetErrorName(CUresult code, const char** out);
CUresult cuGetProcAddress_v2(const char* symbol, void** out, int version, unsigned long long flags,
                             int* status);

// Only in the stand-in: its current and peak memory, as JSON. 0 on success.
int fake_gpu_dump(const char* path);

#ifdef __cplusplus
}
#endif
