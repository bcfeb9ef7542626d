// The functions of the runtime that real PyTorch needs beyond runtime.cpp: properties, streams,
// events, capture, kernel attributes. Compiled against CUDA's headers, so that macros of that
// version (cudaGetDeviceProperties → cudaGetDeviceProperties_v2) give the right names. Everything
// else that PyTorch imports returns 0 (build_torch.py).
//
// FAKE_GPU_EVENT_LAG=N: an event is over N work items (launches, copies, memsets) after its record.
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HANDLES_AT 0x6fffffff0000ull
#define HANDLES_BYTES 0x10000

struct CUstream_st {
  uint64_t capture;
  int priority;
};
struct CUevent_st {
  uint64_t due, capture;
};

extern uint64_t fake_gpu_work(uint64_t more);

static uint64_t captures, capture_now;  // one at a time

static int driver(const char* name, void** function) {
  static void* library;
  static int (*look)(const char*, void**, int, unsigned long long, int*);
  if (!library) library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library && !look) *(void**)&look = dlsym(library, "cuGetProcAddress_v2");
  return look ? look(name, function, 13000, 0, NULL) : 100;
}
#define CALL_DRIVER(name, type, ...)                \
  ({                                                \
    static int(*function) type;                     \
    if (!function) driver(name, (void**)&function); \
    function ? function(__VA_ARGS__) : 100;         \
  })

static uint64_t lag(void) {
  static uint64_t items = ~0ull;
  if (items == ~0ull) {
    const char* text = getenv("FAKE_GPU_EVENT_LAG");
    items = text ? strtoull(text, NULL, 10) : 0;
  }
  return items;
}
static int isReal(cudaStream_t stream) { return (uintptr_t)stream > 2; }
static int isCapturing(cudaStream_t stream) {
  return isReal(stream) && capture_now && stream->capture == capture_now;
}

// ---- devices ------------------------------------------------------------------------------------
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr attribute, int device) {
  return CALL_DRIVER("cuDeviceGetAttribute", (int*, int, int), value, (int)attribute, device);
}
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp* out, int device) {
  size_t total = 0;
  int count = 0;
  cudaGetDeviceCount(&count);
  if (device < 0 || device >= count) return cudaErrorInvalidDevice;
  CALL_DRIVER("cuDeviceTotalMem", (size_t*, int), &total, device);
  memset(out, 0, sizeof(*out));
  strcpy(out->name, "Stand-in GPU");
  out->totalGlobalMem = total;
  out->major = 9;
  out->multiProcessorCount = 132;
  memcpy(out->uuid.bytes, "stand-in-gpu-000", 16);
  out->uuid.bytes[15] = (char)device;
  out->sharedMemPerBlock = 48 << 10;
  out->sharedMemPerBlockOptin = 227 << 10;
  out->sharedMemPerMultiprocessor = 228 << 10;
  out->regsPerBlock = out->regsPerMultiprocessor = 65536;
  out->warpSize = 32;
  out->maxThreadsPerBlock = 1024;
  out->maxThreadsPerMultiProcessor = 2048;
  out->maxBlocksPerMultiProcessor = 32;
  out->l2CacheSize = 50 << 20;
  out->maxThreadsDim[0] = out->maxThreadsDim[1] = 1024;
  out->maxThreadsDim[2] = 64;
  out->maxGridSize[0] = 2147483647;
  out->maxGridSize[1] = out->maxGridSize[2] = 65535;
  out->totalConstMem = 65536;
  out->memPitch = 2147483647;
  out->textureAlignment = 512;
  out->unifiedAddressing = out->managedMemory = out->concurrentManagedAccess = 1;
  out->concurrentKernels = out->cooperativeLaunch = out->canMapHostMemory = out->ECCEnabled = 1;
  out->asyncEngineCount = out->streamPrioritiesSupported = out->memoryPoolsSupported = 1;
  out->memoryBusWidth = 5120;
  out->pciBusID = 0x18 + device;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
  snprintf(text, (size_t)bytes, "0000:%02X:00.0", 0x18 + device);
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int a, int b) {
  *can = a != b;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest) {
  if (lowest) *lowest = 0;
  if (highest) *highest = -5;
  return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t code) {
  return code == 0     ? "no error"
         : code == 2   ? "out of memory"
         : code == 600 ? "device not ready"
                       : "an error";
}
const char* cudaGetErrorName(cudaError_t code) {
  return code == 0     ? "cudaSuccess"
         : code == 2   ? "cudaErrorMemoryAllocation"
         : code == 600 ? "cudaErrorNotReady"
                       : "cudaErrorUnknown";
}

// ---- memory -------------------------------------------------------------------------------------
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute,
                                    void* value) {
  return CALL_DRIVER("cuMemPoolGetAttribute", (void*, int, void*), pool, (int)attribute, value);
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute,
                                    void* value) {
  return CALL_DRIVER("cuMemPoolSetAttribute", (void*, int, void*), pool, (int)attribute, value);
}
cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute,
                                           void* value) {
  (void)device, (void)attribute;
  *(uint64_t*)value = 0;
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes* out, const void* pointer) {
  unsigned type = 0;
  int device = -2;
  CALL_DRIVER("cuPointerGetAttribute", (void*, int, uintptr_t), &type, 2, (uintptr_t)pointer);
  if (type)
    CALL_DRIVER("cuPointerGetAttribute", (void*, int, uintptr_t), &device, 9, (uintptr_t)pointer);
  memset(out, 0, sizeof(*out));
  out->device = device;
  if (type) out->devicePointer = out->hostPointer = (void*)pointer;
  out->type = type == 2   ? cudaMemoryTypeDevice
              : type == 1 ? cudaMemoryTypeHost
                          : cudaMemoryTypeUnregistered;
  return cudaSuccess;
}
cudaError_t cudaGetSymbolAddress(void** out, const void* symbol) {
  (void)symbol;
  *out = (void*)0x700000000000ull;
  return cudaSuccess;
}

// ---- streams, events, capture: handles in order from one fixed range, the same on every run
// ---------
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* out, unsigned flags, int priority) {
  static struct CUstream_st* all;
  static unsigned count;
  (void)flags;
  if (!all)
    all = mmap((void*)HANDLES_AT, HANDLES_BYTES, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (all == MAP_FAILED || count == HANDLES_BYTES / sizeof(*all)) return cudaErrorMemoryAllocation;
  *out = &all[count++];
  (*out)->priority = priority;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned flags) {
  return cudaStreamCreateWithPriority(out, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t* out) { return cudaStreamCreateWithPriority(out, 0, 0); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  (void)stream;  // its handle is not used again
  return cudaSuccess;
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  *priority = isReal(stream) ? stream->priority : 0;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  (void)stream;
  fake_gpu_work(lag());
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize(void) { return cudaStreamSynchronize(NULL); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned flags) {
  (void)flags;
  *out = calloc(1, sizeof(**out));
  return *out ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaEventCreate(cudaEvent_t* out) { return cudaEventCreateWithFlags(out, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  free(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event->due = fake_gpu_work(0) + lag();
  event->capture = isCapturing(stream) ? stream->capture : 0;
  return cudaSuccess;
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  (void)flags;
  return cudaEventRecord(event, stream);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return event->due <= fake_gpu_work(0) ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  uint64_t now = fake_gpu_work(0);
  if (event->due > now) fake_gpu_work(event->due - now);
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  (void)from, (void)to;
  *ms = 1;
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  (void)flags;
  if (isReal(stream) && event->capture) stream->capture = event->capture;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  (void)mode;
  stream->capture = capture_now = ++captures;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* out) {
  (void)stream;
  capture_now = 0;
  *out = (cudaGraph_t)0x3000;
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus* status) {
  *status = isCapturing(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
static cudaError_t captureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus* status,
                               unsigned long long* id, cudaGraph_t* graph,
                               const cudaGraphNode_t** after, size_t* count) {
  cudaStreamIsCapturing(stream, status);
  if (id) *id = isCapturing(stream) ? stream->capture : 0;
  if (graph) *graph = (cudaGraph_t)0x3000;
  if (after) *after = NULL;
  if (count) *count = 0;
  return cudaSuccess;
}
#if CUDART_VERSION >= 13000
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** after, const cudaGraphEdgeData** edges,
                                     size_t* count) {
  if (edges) *edges = NULL;
  return captureInfo(stream, status, id, graph, after, count);
}
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* out,
                                         cudaGraphEdgeData* edges, size_t* count) {
  (void)node, (void)out, (void)edges;
  *count = 0;
  return cudaSuccess;
}
#else
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus* status,
                                        unsigned long long* id, cudaGraph_t* graph,
                                        const cudaGraphNode_t** after, size_t* count) {
  return captureInfo(stream, status, id, graph, after, count);
}
#endif
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  (void)graph;
  if (nodes && *count) nodes[0] = (cudaGraphNode_t)0x3100;
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t graph,
                                 unsigned long long flags) {
  (void)graph, (void)flags;
  *out = (cudaGraphExec_t)0x3200;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* out, cudaGraph_t graph,
                                          unsigned long long flags) {
  return cudaGraphInstantiate(out, graph, flags);
}

// ---- kernels ------------------------------------------------------------------------------------
static struct {
  dim3 grid, block;
  size_t shared_bytes;
  void* stream;
} pushed;
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, void* stream) {
  pushed.grid = grid;
  pushed.block = block;
  pushed.shared_bytes = shared_bytes;
  pushed.stream = stream;
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes,
                                       void* stream) {
  *grid = pushed.grid;
  *block = pushed.block;
  *shared_bytes = pushed.shared_bytes;
  *(void**)stream = pushed.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(void** out, const void* function) {
  *out = (void*)function;
  return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  (void)stream;
  function(data);
  return cudaSuccess;
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data,
                                  unsigned flags) {
  (void)flags;
  function(stream, cudaSuccess, data);
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes* out, const void* function) {
  (void)function;
  memset(out, 0, sizeof(*out));
  out->maxThreadsPerBlock = 1024;
  out->numRegs = 32;
  out->binaryVersion = out->ptxVersion = 90;
  out->maxDynamicSharedSizeBytes = 227 << 10;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* out, const void* function,
                                                                   int threads, size_t shared_bytes,
                                                                   unsigned flags) {
  (void)function, (void)threads, (void)shared_bytes, (void)flags;
  *out = 2;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* out, const void* function,
                                                          int threads, size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out, function, threads,
                                                                shared_bytes, 0);
}

// ---- entry points of the driver -----------------------------------------------------------------
static int unsupported(void) { return 801; }
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** out, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult* status) {
  (void)version, (void)flags;
  if (driver(symbol, out) != 0) *out = (void*)unsupported;
  if (status) *status = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}
#if CUDART_VERSION < 13000
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** out, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(symbol, out, 12000, flags, status);
}
#endif
