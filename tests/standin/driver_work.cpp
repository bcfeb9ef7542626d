// Contexts, launches, copies, names and answers of the driver. Contents of device memory are not
// kept: a copy to the host reads as zeros, a copy to the device is dropped.
#include <cstdio>
#include <cstring>

#include "call_log.h"
#include "device.h"
#include "driver_api.h"

#define DRIVER(name) extern "C" CUresult do_##name

using namespace standin;

namespace {

bool isDevice(CUdevice device) { return device >= 0 && device < model().count; }

int open(Context* context) {
  if (context->references++ > 0) return CU_OK;
  return take(context->device, model().context_bytes, 0) ? CU_OK : CU_OUT_OF_MEMORY;
}
void close(Context* context) {
  dropContents(context);
  give(context->device, model().context_bytes, 0);
  context->references = 0;
}

CUresult create(const char* function, CUcontext* out, CUdevice device) {
  Call call(function);
  std::lock_guard<std::mutex> lock(model().mutex);
  if (call.planned() != 0) return call.done(call.planned());
  if (!model().initialized) return call.done(CU_NOT_INITIALIZED);
  if (!isDevice(device)) return call.done(CU_INVALID_DEVICE);
  auto* context = new Context{device, false, 0};
  if (int code = open(context); code != CU_OK) {
    delete context;
    return call.done(code);
  }
  model().contexts.insert(context);
  *out = current() = context;
  call.handle = reinterpret_cast<uint64_t>(context);
  return call.done(CU_OK);
}

bool onDevice(uint64_t address) {
  int region = regionOf(address);
  return region >= 0 && region != kHost;
}
CUresult copy(uint64_t to, uint64_t from, size_t bytes) {
  if (onDevice(to)) return CU_OK;
  if (onDevice(from))
    memset(reinterpret_cast<void*>(to), 0, bytes);
  else
    memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  return CU_OK;
}
uint64_t word(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

}  // namespace

// ---- devices and contexts -----------------------------------------------------------------------
extern "C" __attribute__((weak, visibility("hidden"))) void
standinInject();  // driver_injection.cpp

DRIVER(cuInit)(unsigned) {
  if (!model().initialized.exchange(true) && standinInject != nullptr) standinInject();
  return CU_OK;
}
DRIVER(cuDriverGetVersion)(int* version) {
  *version = 13000;
  return CU_OK;
}
DRIVER(cuDeviceGet)(CUdevice* device, int ordinal) {
  if (!model().initialized) return CU_NOT_INITIALIZED;
  if (!isDevice(ordinal)) return CU_INVALID_DEVICE;
  *device = ordinal;
  return CU_OK;
}
DRIVER(cuDeviceGetCount)(int* count) {
  if (!model().initialized) return CU_NOT_INITIALIZED;
  *count = model().count;
  return CU_OK;
}
DRIVER(cuDeviceGetAttribute)(int* value, int attribute, CUdevice) {
  static const std::map<int, int> values = {
      {1, 1024},  {2, 1024},  {3, 1024},    {4, 64},     {5, 2147483647}, {6, 65535},
      {7, 65535}, {8, 49152}, {10, 32},     {12, 65536}, {16, 132},       {38, 50 << 20},
      {39, 2048}, {41, 1},    {75, 9},      {78, 1},     {81, 228 << 10}, {83, 1},
      {89, 1},    {95, 1},    {97, 232448}, {102, 1},    {106, 32},       {115, 1}};
  auto found = values.find(attribute);
  *value = found != values.end() ? found->second : 0;
  return CU_OK;
}
DRIVER(cuDeviceTotalMem_v2)(size_t* bytes, CUdevice device) {
  if (!isDevice(device)) return CU_INVALID_DEVICE;
  *bytes = model().capacity;
  return CU_OK;
}
// 2: memory type (1 host, 2 device), 9: ordinal of the device.
DRIVER(cuPointerGetAttribute)(void* value, int attribute, CUdeviceptr address) {
  std::lock_guard<std::mutex> lock(model().mutex);
  if (findRange(address, nullptr) == nullptr) return CU_INVALID_VALUE;
  int region = regionOf(address);
  if (attribute == 2) *static_cast<unsigned*>(value) = region == kHost ? 1 : 2;
  if (attribute == 9) *static_cast<int*>(value) = region == kHost ? 0 : region;
  return CU_OK;
}
DRIVER(cuDevicePrimaryCtxGetState)(CUdevice device, unsigned* flags, int* active) {
  std::lock_guard<std::mutex> lock(model().mutex);
  if (!isDevice(device)) return CU_INVALID_DEVICE;
  *flags = 0;
  *active = model().devices[device].primary.references > 0;
  return CU_OK;
}
DRIVER(cuDevicePrimaryCtxRetain)(CUcontext* out, CUdevice device) {
  Call call("cuDevicePrimaryCtxRetain");
  std::lock_guard<std::mutex> lock(model().mutex);
  if (call.planned() != 0) return call.done(call.planned());
  if (!model().initialized) return call.done(CU_NOT_INITIALIZED);
  if (!isDevice(device)) return call.done(CU_INVALID_DEVICE);
  Context* context = &model().devices[device].primary;
  if (int code = open(context); code != CU_OK) return call.done(code);
  *out = context;
  call.handle = word(context);
  return call.done(CU_OK);
}
DRIVER(cuDevicePrimaryCtxRelease_v2)(CUdevice device) {
  Call call("cuDevicePrimaryCtxRelease_v2");
  std::lock_guard<std::mutex> lock(model().mutex);
  if (!isDevice(device)) return call.done(CU_INVALID_DEVICE);
  Context* context = &model().devices[device].primary;
  call.handle = static_cast<uint64_t>(device);
  if (context->references == 0) return call.done(CU_INVALID_CONTEXT);
  if (--context->references == 0) close(context);
  return call.done(CU_OK);
}
DRIVER(cuDevicePrimaryCtxReset_v2)(CUdevice device) {
  Call call("cuDevicePrimaryCtxReset_v2");
  std::lock_guard<std::mutex> lock(model().mutex);
  if (!isDevice(device)) return call.done(CU_INVALID_DEVICE);
  call.handle = static_cast<uint64_t>(device);
  if (model().devices[device].primary.references > 0) close(&model().devices[device].primary);
  return call.done(CU_OK);
}
DRIVER(cuCtxCreate_v2)(CUcontext* out, unsigned, CUdevice device) {
  return create("cuCtxCreate_v2", out, device);
}
DRIVER(cuCtxCreate_v3)(CUcontext* out, void*, int, unsigned, CUdevice device) {
  return create("cuCtxCreate_v3", out, device);
}
DRIVER(cuCtxCreate_v4)(CUcontext* out, void*, unsigned, CUdevice device) {
  return create("cuCtxCreate_v4", out, device);
}
DRIVER(cuCtxDestroy_v2)(CUcontext handle) {
  Call call("cuCtxDestroy_v2");
  std::lock_guard<std::mutex> lock(model().mutex);
  auto* context = static_cast<Context*>(handle);
  call.handle = word(handle);
  if (!model().contexts.contains(context) || context->primary) return call.done(CU_INVALID_CONTEXT);
  close(context);
  model().contexts.erase(context);
  if (current() == context) current() = nullptr;
  delete context;
  return call.done(CU_OK);
}
DRIVER(cuCtxSetCurrent)(CUcontext context) {
  current() = static_cast<Context*>(context);
  return CU_OK;
}
DRIVER(cuCtxGetCurrent)(CUcontext* out) {
  *out = current();
  return CU_OK;
}
DRIVER(cuCtxGetDevice)(CUdevice* out) {
  if (current() == nullptr) return CU_INVALID_CONTEXT;
  *out = current()->device;
  return CU_OK;
}
DRIVER(cuCtxPushCurrent_v2)(CUcontext context) {
  pushed().push_back(current());
  current() = static_cast<Context*>(context);
  return CU_OK;
}
DRIVER(cuCtxPopCurrent_v2)(CUcontext* out) {
  if (current() == nullptr) return CU_INVALID_CONTEXT;
  if (out != nullptr) *out = current();
  current() = pushed().empty() ? nullptr : pushed().back();
  if (!pushed().empty()) pushed().pop_back();
  return CU_OK;
}

// ---- launches, names ----------------------------------------------------------------------------
#define LAUNCH_FUNCTIONS(suffix)                                                               \
  DRIVER(cuLaunchKernel##suffix)                                                               \
  (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, \
   void**, void**) {                                                                           \
    return plannedFailure("cuLaunchKernel" #suffix);                                           \
  }                                                                                            \
  DRIVER(cuLaunchCooperativeKernel##suffix)                                                    \
  (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, \
   void**) {                                                                                   \
    return CU_OK;                                                                              \
  }                                                                                            \
  DRIVER(cuLaunchKernelEx##suffix)(const CUlaunchConfig*, CUfunction, void**, void**) {        \
    return CU_OK;                                                                              \
  }                                                                                            \
  DRIVER(cuGraphLaunch##suffix)(CUgraphExec, CUstream) { return CU_OK; }
LAUNCH_FUNCTIONS()
LAUNCH_FUNCTIONS(_ptsz)

DRIVER(cuModuleGetFunction)(CUfunction* out, void*, const char*) {
  std::lock_guard<std::mutex> lock(model().mutex);
  *out = reinterpret_cast<CUfunction>(model().next_handle += 16);
  return CU_OK;
}
DRIVER(cuLibraryGetKernel)(void** out, void*, const char*) {
  std::lock_guard<std::mutex> lock(model().mutex);
  *out = reinterpret_cast<void*>(model().next_handle += 16);
  return CU_OK;
}
DRIVER(cuKernelGetFunction)(CUfunction* out, void*) {
  std::lock_guard<std::mutex> lock(model().mutex);
  *out = reinterpret_cast<CUfunction>(model().next_handle += 16);
  return CU_OK;
}

// ---- streams ------------------------------------------------------------------------------------
static CUresult makeStream(CUstream* out) {
  std::lock_guard<std::mutex> lock(model().mutex);
  if (current() == nullptr) return CU_INVALID_CONTEXT;
  *out = reinterpret_cast<CUstream>(model().next_handle += 16);
  model().streams[*out] = current()->device;
  return CU_OK;
}
DRIVER(cuStreamCreate)(CUstream* out, unsigned) { return makeStream(out); }
DRIVER(cuStreamCreateWithPriority)(CUstream* out, unsigned, int) { return makeStream(out); }
DRIVER(cuStreamDestroy_v2)(CUstream stream) {
  std::lock_guard<std::mutex> lock(model().mutex);
  return model().streams.erase(stream) == 1 ? CU_OK : CU_INVALID_HANDLE;
}

// ---- copies -------------------------------------------------------------------------------------
#define COPY_FUNCTIONS(sync, async)                                                                \
  DRIVER(cuMemcpyHtoD_v2##sync)(CUdeviceptr to, const void* from, size_t bytes) {                  \
    int planned = plannedFailure("cuMemcpyHtoD_v2" #sync);                                         \
    return planned != 0 ? planned : copy(to, word(from), bytes);                                   \
  }                                                                                                \
  DRIVER(cuMemcpyHtoDAsync_v2##async)(CUdeviceptr to, const void* from, size_t bytes, CUstream) {  \
    return copy(to, word(from), bytes);                                                            \
  }                                                                                                \
  DRIVER(cuMemcpyDtoH_v2##sync)(void* to, CUdeviceptr from, size_t bytes) {                        \
    return copy(word(to), from, bytes);                                                            \
  }                                                                                                \
  DRIVER(cuMemcpyDtoHAsync_v2##async)(void* to, CUdeviceptr from, size_t bytes, CUstream) {        \
    return copy(word(to), from, bytes);                                                            \
  }                                                                                                \
  DRIVER(cuMemcpyDtoD_v2##sync)(CUdeviceptr to, CUdeviceptr from, size_t bytes) {                  \
    return copy(to, from, bytes);                                                                  \
  }                                                                                                \
  DRIVER(cuMemcpyDtoDAsync_v2##async)(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) {  \
    return copy(to, from, bytes);                                                                  \
  }                                                                                                \
  DRIVER(cuMemcpy##sync)(CUdeviceptr to, CUdeviceptr from, size_t bytes) {                         \
    return copy(to, from, bytes);                                                                  \
  }                                                                                                \
  DRIVER(cuMemcpyAsync##async)(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) {         \
    return copy(to, from, bytes);                                                                  \
  }                                                                                                \
  DRIVER(cuMemcpyPeer##sync)(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t n) {   \
    return copy(to, from, n);                                                                      \
  }                                                                                                \
  DRIVER(cuMemcpyPeerAsync##async)                                                                 \
  (CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t n, CUstream) {                   \
    return copy(to, from, n);                                                                      \
  }                                                                                                \
  DRIVER(cuMemsetD8_v2##sync)(CUdeviceptr, unsigned char, size_t) { return CU_OK; }                \
  DRIVER(cuMemsetD16_v2##sync)(CUdeviceptr, unsigned short, size_t) { return CU_OK; }              \
  DRIVER(cuMemsetD32_v2##sync)(CUdeviceptr, unsigned, size_t) { return CU_OK; }                    \
  DRIVER(cuMemsetD8Async##async)(CUdeviceptr, unsigned char, size_t, CUstream) { return CU_OK; }   \
  DRIVER(cuMemsetD16Async##async)(CUdeviceptr, unsigned short, size_t, CUstream) { return CU_OK; } \
  DRIVER(cuMemsetD32Async##async)(CUdeviceptr, unsigned, size_t, CUstream) { return CU_OK; }
COPY_FUNCTIONS(, )
COPY_FUNCTIONS(_ptds, _ptsz)

// ---- answers ------------------------------------------------------------------------------------
DRIVER(cuGetErrorString)(CUresult code, const char** out) {
  *out = code == CU_OK ? "no error" : code == CU_OUT_OF_MEMORY ? "out of memory" : "an error";
  return CU_OK;
}
DRIVER(cuGetErrorName)(CUresult code, const char** out) {
  *out = code == CU_OK              ? "CUDA_SUCCESS"
         : code == CU_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
                                    : "CUDA_ERROR_UNKNOWN";
  return CU_OK;
}

struct Exported {
  const char* name;
  void* function;
};
extern "C" const Exported fake_gpu_exports[];  // of the stubs; ends with a null name

// The exported stub's address, as in the real driver. 500: no such function.
DRIVER(cuGetProcAddress_v2)
(const char* symbol, void** out, int, unsigned long long flags, int* status) {
  *out = nullptr;
  const char* suffixes[] = {flags == 2 ? "_v2_ptsz" : "_v2", flags == 2 ? "_ptsz" : "", "_v2", ""};
  for (const char* suffix : suffixes) {
    for (const Exported* it = fake_gpu_exports; *out == nullptr && it->name != nullptr; ++it) {
      size_t length = strlen(symbol);
      if (strncmp(it->name, symbol, length) == 0 && strcmp(it->name + length, suffix) == 0)
        *out = it->function;
    }
  }
  if (status != nullptr) *status = *out == nullptr ? 1 : 0;
  return *out == nullptr ? 500 : CU_OK;
}

extern "C" __attribute__((visibility("default"))) int fake_gpu_dump(const char* path) {
  std::lock_guard<std::mutex> lock(model().mutex);
  FILE* file = fopen(path, "w");
  if (file == nullptr) return 1;
  fprintf(file, "{\"devices\": [");
  for (int i = 0; i < model().count; ++i) {
    const Device& device = model().devices[i];
    fprintf(file, "%s{\"asked_bytes\": %llu, \"asked_peak_bytes\": %llu, \"used_bytes\": %llu}",
            i > 0 ? ", " : "", static_cast<unsigned long long>(device.asked),
            static_cast<unsigned long long>(device.asked_high),
            static_cast<unsigned long long>(device.used));
  }
  fprintf(file, "], \"host_bytes\": %llu}\n",
          static_cast<unsigned long long>(model().devices[kHost].asked));
  return fclose(file);
}
