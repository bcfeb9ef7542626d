// The few functions of math libraries, NCCL and NVML whose results PyTorch uses; linked into every
// library that build_torch.py makes. Each library exports its own names only.
#include <stddef.h>
#include <string.h>

#define CREATE(name)      \
  int name(void** out) {  \
    *out = (void*)0x4000; \
    return 0;             \
  }
CREATE(cublasCreate_v2)
CREATE(cublasLtCreate)
CREATE(cudnnCreate)
CREATE(cusolverDnCreate)
CREATE(cusparseCreate)

#define TEXT(name) \
  const char* name(void) { return "stand-in"; }
TEXT(ncclGetErrorString)
TEXT(ncclGetLastError)
TEXT(cudnnGetErrorString)
TEXT(cublasGetStatusString)

#define VERSION(name, number)        \
  int name(void* handle, int* out) { \
    (void)handle;                    \
    *out = number;                   \
    return 0;                        \
  }
VERSION(cublasGetVersion_v2, 130000)
VERSION(cublasGetPointerMode_v2, 0)
VERSION(cublasGetMathMode, 0)
size_t cublasLtGetVersion(void) { return 130000; }
size_t cudnnGetVersion(void) { return 99999; }
int ncclGetVersion(int* out) {
  *out = 22800;
  return 0;
}

// One answer of 96 bytes: algorithm, workspace, state, waves.
int cublasLtMatmulAlgoGetHeuristic(void* handle, void* operation, void* a, void* b, void* c,
                                   void* d, void* preference, int wanted, char* results,
                                   int* count) {
  (void)handle, (void)operation, (void)a, (void)b, (void)c, (void)d, (void)preference, (void)wanted;
  memset(results, 0, 96);
  *count = 1;
  return 0;
}

// NVML, as far as expandable segments and PyTorch's message of an OOM ask.
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** out) {
  (void)bus;
  *out = (void*)0x5000;
  return 0;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void* device, unsigned link, void* type) {
  (void)device, (void)link, (void)type;
  return 3;  // not supported
}
int nvmlDeviceGetGpuFabricInfoV(void* device, void* info) {
  (void)device, (void)info;
  return 3;
}
int nvmlDeviceGetComputeRunningProcesses(void* device, unsigned* count, void* processes) {
  (void)device, (void)processes;
  *count = 0;
  return 0;
}
int nvmlSystemGetCudaDriverVersion_v2(int* out) {
  *out = 13000;
  return 0;
}
