// The stand-in runtime: every operation uses the device through the exported functions of
// libcuda.so.1, which is loaded on first use, as in the real runtime. Compiled so that every
// function begins with `push %rbp`, as the real ones do.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "driver_api.h"
#include "runtime_api.h"

#ifdef STANDIN_STATIC
#define CU(name) (&::name)
#else
#define CU(name)                                                                             \
  ([] {                                                                                      \
    static const auto function = reinterpret_cast<decltype(&::name)>(driverFunction(#name)); \
    return function;                                                                         \
  }())
#endif
#define RUNTIME(name) extern "C" __attribute__((visibility("default"))) cudaError_t name

namespace {

constexpr cudaError_t kInsufficientDriver = 35, kNoDevice = 100, kInvalidDevice = 101;

thread_local int chosen_device = 0;
thread_local cudaError_t last_error = 0;
std::atomic<uint64_t> work_items = 0;

#ifndef STANDIN_STATIC
void* driverFunction(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  return library != nullptr ? dlsym(library, name) : nullptr;
}
#endif

cudaError_t fail(cudaError_t code) {
  if (code != 0) last_error = code;
  return code;
}
void tick() { work_items.fetch_add(1, std::memory_order_relaxed); }

bool haveDriver() {
  static const bool it = [] {
    auto init = CU(cuInit);
    return init != nullptr && init(0) == CU_OK;
  }();
  return it;
}

// Primary contexts are retained at the first use of a device, and made current in each thread.
std::atomic<CUcontext> contexts[64];
cudaError_t ready() {
  if (!haveDriver()) return kInsufficientDriver;
  int device = chosen_device;
  CUcontext context = contexts[device].load();
  if (context == nullptr) {
    CUcontext fresh = nullptr;
    int code = CU(cuDevicePrimaryCtxRetain)(&fresh, device);
    if (code != CU_OK) return code;
    if (!contexts[device].compare_exchange_strong(context, fresh))
      CU(cuDevicePrimaryCtxRelease_v2)(device);  // another thread was first
    else
      context = fresh;
  }
  CUcontext now = nullptr;
  CU(cuCtxGetCurrent)(&now);
  if (now != context) CU(cuCtxSetCurrent)(context);
  return CU_OK;
}

CUdeviceptr at(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }
CUdeviceptr* out(void** pointer) { return reinterpret_cast<CUdeviceptr*>(pointer); }

cudaError_t copy(void* to, const void* from, size_t bytes, int kind, cudaStream_t stream,
                 bool async) {
  tick();
  switch (kind) {
    case 1:
      return async ? CU(cuMemcpyHtoDAsync_v2)(at(to), from, bytes, stream)
                   : CU(cuMemcpyHtoD_v2)(at(to), from, bytes);
    case 2:
      return async ? CU(cuMemcpyDtoHAsync_v2)(to, at(from), bytes, stream)
                   : CU(cuMemcpyDtoH_v2)(to, at(from), bytes);
    case 3:
      return async ? CU(cuMemcpyDtoDAsync_v2)(at(to), at(from), bytes, stream)
                   : CU(cuMemcpyDtoD_v2)(at(to), at(from), bytes);
    default:
      return async ? CU(cuMemcpyAsync)(at(to), at(from), bytes, stream)
                   : CU(cuMemcpy)(at(to), at(from), bytes);
  }
}

}  // namespace

#define READY() \
  if (cudaError_t code = ready(); code != 0) return fail(code)

// ---- devices ------------------------------------------------------------------------------------
RUNTIME(cudaGetDeviceCount)(int* count) {
  *count = 0;
  if (!haveDriver()) return fail(kInsufficientDriver);
  CU(cuDeviceGetCount)(count);
  return *count > 0 ? 0 : fail(kNoDevice);
}
RUNTIME(cudaGetDevice)(int* device) {
  *device = chosen_device;
  return 0;
}
RUNTIME(cudaSetDevice)(int device) {
  int count = 0;
  if (cudaError_t code = cudaGetDeviceCount(&count); code != 0) return code;
  if (device < 0 || device >= count) return fail(kInvalidDevice);
  chosen_device = device;
  return fail(ready());
}
RUNTIME(cudaDeviceReset)() {
  READY();
  contexts[chosen_device] = nullptr;
  return fail(CU(cuDevicePrimaryCtxReset_v2)(chosen_device));
}
RUNTIME(cudaGetLastError)() {
  cudaError_t code = last_error;
  last_error = 0;
  return code;
}
RUNTIME(cudaPeekAtLastError)() { return last_error; }
RUNTIME(cudaMemGetInfo)(size_t* free_bytes, size_t* total_bytes) {
  READY();
  return fail(CU(cuMemGetInfo_v2)(free_bytes, total_bytes));
}

// ---- memory -------------------------------------------------------------------------------------
RUNTIME(cudaMalloc)(void** pointer, size_t bytes) {
  READY();
  return fail(CU(cuMemAlloc_v2)(out(pointer), bytes));
}
RUNTIME(cudaMallocPitch)(void** pointer, size_t* pitch, size_t width, size_t height) {
  READY();
  return fail(CU(cuMemAllocPitch_v2)(out(pointer), pitch, width, height, 4));
}
RUNTIME(cudaMalloc3D)(cudaPitchedPtr* pointer, cudaExtent extent) {
  READY();
  pointer->xsize = extent.width;
  pointer->ysize = extent.height;
  return fail(CU(cuMemAllocPitch_v2)(out(&pointer->ptr), &pointer->pitch, extent.width,
                                     extent.height * extent.depth, 4));
}
RUNTIME(cudaMallocManaged)(void** pointer, size_t bytes, unsigned flags) {
  READY();
  return fail(CU(cuMemAllocManaged)(out(pointer), bytes, flags));
}
RUNTIME(cudaMallocHost)(void** pointer, size_t bytes) {
  READY();
  return fail(CU(cuMemAllocHost_v2)(pointer, bytes));
}
RUNTIME(cudaHostAlloc)(void** pointer, size_t bytes, unsigned flags) {
  READY();
  return fail(CU(cuMemHostAlloc)(pointer, bytes, flags));
}
RUNTIME(cudaHostRegister)(void* address, size_t bytes, unsigned flags) {
  READY();
  return fail(CU(cuMemHostRegister_v2)(address, bytes, flags));
}
RUNTIME(cudaHostUnregister)(void* address) {
  READY();
  return fail(CU(cuMemHostUnregister)(address));
}
RUNTIME(cudaFree)(void* address) {
  READY();
  if (address == nullptr) return 0;
  return fail(CU(cuMemFree_v2)(at(address)));
}
RUNTIME(cudaFreeHost)(void* address) {
  READY();
  if (address == nullptr) return 0;
  return fail(CU(cuMemFreeHost)(address));
}
#define POOL_FUNCTIONS(suffix)                                                           \
  RUNTIME(cudaMallocAsync##suffix)(void** pointer, size_t bytes, cudaStream_t stream) {  \
    READY();                                                                             \
    return fail(CU(cuMemAllocAsync##suffix)(out(pointer), bytes, stream));               \
  }                                                                                      \
  RUNTIME(cudaMallocFromPoolAsync##suffix)                                               \
  (void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {              \
    READY();                                                                             \
    return fail(CU(cuMemAllocFromPoolAsync##suffix)(out(pointer), bytes, pool, stream)); \
  }                                                                                      \
  RUNTIME(cudaFreeAsync##suffix)(void* address, cudaStream_t stream) {                   \
    READY();                                                                             \
    return fail(CU(cuMemFreeAsync##suffix)(at(address), stream));                        \
  }
POOL_FUNCTIONS()
POOL_FUNCTIONS(_ptsz)
RUNTIME(cudaMemPoolCreate)(cudaMemPool_t* pool, const void* props) {
  READY();
  return fail(CU(cuMemPoolCreate)(pool, static_cast<const CUmemPoolProps*>(props)));
}
RUNTIME(cudaMemPoolDestroy)(cudaMemPool_t pool) {
  READY();
  return fail(CU(cuMemPoolDestroy)(pool));
}
RUNTIME(cudaMemPoolTrimTo)(cudaMemPool_t pool, size_t keep_bytes) {
  READY();
  return fail(CU(cuMemPoolTrimTo)(pool, keep_bytes));
}
RUNTIME(cudaDeviceGetDefaultMemPool)(cudaMemPool_t* pool, int device) {
  READY();
  return fail(CU(cuDeviceGetDefaultMemPool)(pool, device));
}
RUNTIME(cudaMemPoolImportPointer)(void** pointer, cudaMemPool_t pool, void* data) {
  READY();
  return fail(CU(cuMemPoolImportPointer)(out(pointer), pool, data));
}

namespace {
CUDA_ARRAY3D_DESCRIPTOR shape(const cudaChannelFormatDesc* format, cudaExtent extent) {
  unsigned channels = (format->x > 0) + (format->y > 0) + (format->z > 0) + (format->w > 0);
  unsigned bits = format->x == 32 ? 0x20 : format->x == 16 ? 0x10 : 0x08;
  return {extent.width, extent.height, extent.depth, bits, channels, 0};
}
}  // namespace

RUNTIME(cudaMallocArray)
(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width, size_t height, unsigned) {
  READY();
  CUDA_ARRAY3D_DESCRIPTOR it = shape(format, {width, height, 0});
  CUDA_ARRAY_DESCRIPTOR flat = {it.width, it.height, it.format, it.channels};
  return fail(CU(cuArrayCreate_v2)(array, &flat));
}
RUNTIME(cudaMalloc3DArray)
(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent, unsigned) {
  READY();
  CUDA_ARRAY3D_DESCRIPTOR it = shape(format, extent);
  return fail(CU(cuArray3DCreate_v2)(array, &it));
}
RUNTIME(cudaMallocMipmappedArray)
(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent, unsigned levels,
 unsigned) {
  READY();
  CUDA_ARRAY3D_DESCRIPTOR it = shape(format, extent);
  return fail(CU(cuMipmappedArrayCreate)(array, &it, levels));
}
RUNTIME(cudaFreeArray)(cudaArray_t array) {
  READY();
  return array == nullptr ? 0 : fail(CU(cuArrayDestroy)(array));
}
RUNTIME(cudaFreeMipmappedArray)(cudaArray_t array) {
  READY();
  return array == nullptr ? 0 : fail(CU(cuMipmappedArrayDestroy)(array));
}
RUNTIME(cudaIpcGetMemHandle)(cudaIpcMemHandle_t* handle, void* address) {
  READY();
  return fail(CU(cuIpcGetMemHandle)(reinterpret_cast<CUipcMemHandle*>(handle), at(address)));
}
RUNTIME(cudaIpcOpenMemHandle)(void** pointer, cudaIpcMemHandle_t handle, unsigned flags) {
  READY();
  CUipcMemHandle copy;
  for (int i = 0; i < 64; ++i) copy.bytes[i] = handle.bytes[i];
  return fail(CU(cuIpcOpenMemHandle_v2)(out(pointer), copy, flags));
}
RUNTIME(cudaIpcCloseMemHandle)(void* address) {
  READY();
  return fail(CU(cuIpcCloseMemHandle)(at(address)));
}
RUNTIME(cudaImportExternalMemory)(void** memory, const void* what) {
  READY();
  return fail(CU(cuImportExternalMemory)(memory, what));
}
RUNTIME(cudaExternalMemoryGetMappedBuffer)(void** pointer, void* memory, const void* buffer) {
  READY();
  return fail(CU(cuExternalMemoryGetMappedBuffer)(out(pointer), memory, buffer));
}
RUNTIME(cudaDestroyExternalMemory)(void* memory) {
  READY();
  return fail(CU(cuDestroyExternalMemory)(memory));
}
RUNTIME(cudaDeviceGraphMemTrim)(int device) {
  READY();
  return fail(CU(cuDeviceGraphMemTrim)(device));
}

// ---- copies -------------------------------------------------------------------------------------
static cudaError_t cudaMemcpyBody(void* to, const void* from, size_t bytes, int kind) {
  READY();
  return fail(copy(to, from, bytes, kind, nullptr, false));
}
static cudaError_t cudaMemcpyAsyncBody(void* to, const void* from, size_t bytes, int kind,
                                       cudaStream_t stream) {
  READY();
  return fail(copy(to, from, bytes, kind, stream, true));
}
static cudaError_t cudaMemcpy2DBody(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                    size_t width, size_t height, int kind) {
  READY();
  cudaError_t code = 0;
  for (size_t row = 0; row < height && code == 0; ++row)
    code = copy(static_cast<char*>(to) + row * to_pitch,
                static_cast<const char*>(from) + row * from_pitch, width, kind, nullptr, false);
  return fail(code);
}
static cudaError_t cudaMemcpy2DAsyncBody(void* to, size_t to_pitch, const void* from,
                                         size_t from_pitch, size_t width, size_t height, int kind,
                                         cudaStream_t stream) {
  READY();
  cudaError_t code = 0;
  for (size_t row = 0; row < height && code == 0; ++row)
    code = copy(static_cast<char*>(to) + row * to_pitch,
                static_cast<const char*>(from) + row * from_pitch, width, kind, stream, true);
  return fail(code);
}
RUNTIME(cudaMemcpyPeer)(void* to, int, const void* from, int, size_t bytes) {
  READY();
  tick();
  return fail(CU(cuMemcpyPeer)(at(to), nullptr, at(from), nullptr, bytes));
}
RUNTIME(cudaMemcpyPeerAsync)
(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
  READY();
  tick();
  return fail(CU(cuMemcpyPeerAsync)(at(to), nullptr, at(from), nullptr, bytes, stream));
}
static cudaError_t cudaMemsetBody(void* to, int value, size_t bytes) {
  READY();
  tick();
  return fail(CU(cuMemsetD8_v2)(at(to), static_cast<unsigned char>(value), bytes));
}
static cudaError_t cudaMemsetAsyncBody(void* to, int value, size_t bytes, cudaStream_t stream) {
  READY();
  tick();
  return fail(CU(cuMemsetD8Async)(at(to), static_cast<unsigned char>(value), bytes, stream));
}

// ---- launches -----------------------------------------------------------------------------------
static cudaError_t cudaLaunchKernelBody(const void* f, dim3 grid, dim3 block, void** params,
                                        size_t shared_bytes, cudaStream_t stream) {
  READY();
  tick();
  return fail(CU(cuLaunchKernel)(const_cast<void*>(f), grid.x, grid.y, grid.z, block.x, block.y,
                                 block.z, static_cast<unsigned>(shared_bytes), stream, params,
                                 nullptr));
}
#ifndef STANDIN_STATIC
__asm__(
    ".globl __cudaLaunchKernel\n.type __cudaLaunchKernel, @function\n"
    "__cudaLaunchKernel: jmp cudaLaunchKernel@PLT\n");
#endif
static cudaError_t cudaLaunchCooperativeKernelBody(const void* f, dim3 grid, dim3 block,
                                                   void** params, size_t shared_bytes,
                                                   cudaStream_t stream) {
  READY();
  tick();
  return fail(CU(cuLaunchCooperativeKernel)(const_cast<void*>(f), grid.x, grid.y, grid.z, block.x,
                                            block.y, block.z, static_cast<unsigned>(shared_bytes),
                                            stream, params));
}
static cudaError_t cudaLaunchKernelExCBody(const cudaLaunchConfig_t* config, const void* f,
                                           void** params) {
  READY();
  tick();
  CUlaunchConfig it = {{config->grid.x, config->grid.y, config->grid.z},
                       {config->block.x, config->block.y, config->block.z},
                       static_cast<unsigned>(config->shared_bytes),
                       config->stream,
                       nullptr,
                       0};
  return fail(CU(cuLaunchKernelEx)(&it, const_cast<void*>(f), params, nullptr));
}
static cudaError_t cudaGraphLaunchBody(void* graph, cudaStream_t stream) {
  READY();
  tick();
  return fail(CU(cuGraphLaunch)(graph, stream));
}

// Each also under the name for a stream per thread.
#define TWINS(name, suffix, parameters, words)          \
  RUNTIME(name) parameters { return name##Body words; } \
  RUNTIME(name##suffix) parameters { return name##Body words; }
TWINS(cudaMemcpy, _ptds, (void* to, const void* from, size_t bytes, int kind),
      (to, from, bytes, kind))
TWINS(cudaMemcpyAsync, _ptsz,
      (void* to, const void* from, size_t bytes, int kind, cudaStream_t stream),
      (to, from, bytes, kind, stream))
TWINS(cudaMemcpy2D, _ptds,
      (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
       int kind),
      (to, to_pitch, from, from_pitch, width, height, kind))
TWINS(cudaMemcpy2DAsync, _ptsz,
      (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
       int kind, cudaStream_t stream),
      (to, to_pitch, from, from_pitch, width, height, kind, stream))
TWINS(cudaMemset, _ptds, (void* to, int value, size_t bytes), (to, value, bytes))
TWINS(cudaMemsetAsync, _ptsz, (void* to, int value, size_t bytes, cudaStream_t stream),
      (to, value, bytes, stream))
TWINS(cudaLaunchKernel, _ptsz,
      (const void* f, dim3 grid, dim3 block, void** params, size_t shared_bytes,
       cudaStream_t stream),
      (f, grid, block, params, shared_bytes, stream))
TWINS(cudaLaunchCooperativeKernel, _ptsz,
      (const void* f, dim3 grid, dim3 block, void** params, size_t shared_bytes,
       cudaStream_t stream),
      (f, grid, block, params, shared_bytes, stream))
TWINS(cudaLaunchKernelExC, _ptsz, (const cudaLaunchConfig_t* config, const void* f, void** params),
      (config, f, params))
TWINS(cudaGraphLaunch, _ptsz, (void* graph, cudaStream_t stream), (graph, stream))

extern "C" __attribute__((visibility("default"))) void** __cudaRegisterFatBinary(void* image) {
  return static_cast<void**>(image);
}
// A compiler would leave out the frame of a function that does nothing.
__asm__(
    ".globl __cudaRegisterFunction\n.type __cudaRegisterFunction, @function\n"
    "__cudaRegisterFunction: push %rbp\n mov %rsp, %rbp\n pop %rbp\n ret\n");
extern "C" __attribute__((visibility("default"))) uint64_t fake_gpu_work(uint64_t more) {
  return work_items.fetch_add(more, std::memory_order_relaxed) + more;
}
