// Which real function a wrapper calls, and which wrapper a program gets when it asks for one.
//
//   linked against           exported wrapper; the real one is what the caller would get without
//                            this library: from the global scope, else from its own libraries
//   dlsym(libcuda, "cuX")    a wrapper of some bank, bound to what dlsym() found
//   cuGetProcAddress("cuX")  the same; so the runtime, which gets the driver this way, is seen too
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "bpf/functions.h"
#include "preload/shim.h"

#define ID(symbol, ...) ID_##symbol,
#define POINTER_ID(symbol) ID_##symbol,
enum {
  TIDEGAUGE_DRIVER_MEMORY(ID) TIDEGAUGE_DRIVER_CONTEXT(ID) TIDEGAUGE_RUNTIME_MEMORY(ID)
      TIDEGAUGE_RUNTIME_CONTEXT(ID) TIDEGAUGE_DRIVER_COPIES(ID) TIDEGAUGE_RUNTIME_COPIES(ID)
          TIDEGAUGE_LAUNCHES(ID) TIDEGAUGE_NAMES(ID) WATCHED,
  BEFORE_POINTERS = WATCHED - 1,
  TIDEGAUGE_POINTERS(POINTER_ID) ALL
};
#define TEXT(symbol, ...) #symbol,
#define POINTER_TEXT(symbol) #symbol,
static const char* const kNames[ALL] = {
    TIDEGAUGE_DRIVER_MEMORY(TEXT) TIDEGAUGE_DRIVER_CONTEXT(TEXT) TIDEGAUGE_RUNTIME_MEMORY(TEXT)
        TIDEGAUGE_RUNTIME_CONTEXT(TEXT) TIDEGAUGE_DRIVER_COPIES(TEXT) TIDEGAUGE_RUNTIME_COPIES(TEXT)
            TIDEGAUGE_LAUNCHES(TEXT) TIDEGAUGE_NAMES(TEXT) TIDEGAUGE_POINTERS(POINTER_TEXT)};

// Arguments after the sixth, in words. cudaExtent (24 bytes) and CUipcMemHandle (64) are stored
// there by value.
static const uint8_t kStackWords[ALL] = {
    [ID_cudaMalloc3D] = 3,
    [ID_cudaMalloc3DArray] = 3,
    [ID_cudaMallocMipmappedArray] = 3,
    [ID_cuIpcOpenMemHandle_v2] = 8,
    [ID_cudaIpcOpenMemHandle] = 8,
    [ID_cudaMemcpy2D] = 1,
    [ID_cudaMemcpy2D_ptds] = 1,
    [ID_cudaMemcpy2DAsync] = 2,
    [ID_cudaMemcpy2DAsync_ptsz] = 2,
    [ID_cuLaunchKernel] = 5,
    [ID_cuLaunchKernel_ptsz] = 5,
    [ID_cuLaunchCooperativeKernel] = 4,
    [ID_cuLaunchCooperativeKernel_ptsz] = 4,
    [ID_cudaLaunchKernel] = 2,
    [ID_cudaLaunchKernel_ptsz] = 2,
    [ID_cudaLaunchCooperativeKernel] = 2,
    [ID_cudaLaunchCooperativeKernel_ptsz] = 2,
    [ID___cudaRegisterFunction] = 4,
};

enum { BANKS = 8, SITES = 8192, TRIES = 8 };
extern const char tidegauge_banks[];
extern const char tidegauge_bank_size[];  // its address is the number
static _Atomic(void*) banks[BANKS][ALL];

typedef void* (*dlsym_function)(void*, const char*);
__attribute__((visibility("hidden"))) dlsym_function tidegauge_real_dlsym;

uint32_t stackWords(uint32_t function) { return function < ALL ? kStackWords[function] : 0; }
uint32_t functionCount(void) { return WATCHED; }

static void* realDlsym(void* handle, const char* name) {
  if (tidegauge_real_dlsym == NULL) {
    // Under the oldest version: every libc for this architecture has it.
    tidegauge_real_dlsym = (dlsym_function)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    if (tidegauge_real_dlsym == NULL) return NULL;
  }
  return tidegauge_real_dlsym(handle, name);
}

static int idOf(const char* name) {
  if (strncmp(name, "cu", 2) != 0 && strncmp(name, "__cu", 4) != 0) return -1;
  for (int i = 0; i < ALL; ++i)
    if (strcmp(kNames[i], name) == 0) return i;
  return -1;
}

static bool isOurs(const void* address) {
  static _Atomic(uintptr_t) begin, end;
  if (atomic_load(&end) == 0) {
    struct link_map* map = NULL;
    Dl_info info;
    if (dladdr1(tidegauge_banks, &info, (void**)&map, RTLD_DL_LINKMAP) == 0) return false;
    // All wrappers are in one section of text, the banks last.
    atomic_store(&begin, (uintptr_t)info.dli_fbase);
    atomic_store(&end, (uintptr_t)tidegauge_banks + (uintptr_t)(BANKS - 1) * ALL * 16);
  }
  return (uintptr_t)address >= atomic_load(&begin) && (uintptr_t)address < atomic_load(&end);
}

static void* wrapperOf(int id, void* real) {
  if (real == NULL || isOurs(real)) return real;
  for (int bank = 1; bank < BANKS; ++bank) {
    void* held = NULL;
    if (atomic_compare_exchange_strong(&banks[bank][id], &held, real) || held == real)
      return (void*)(uintptr_t)(tidegauge_banks + ((size_t)(bank - 1) * ALL + (size_t)id) * 16);
  }
  count(LOSS_IN_FLIGHT);  // an eighth copy of one library: it is no longer watched
  return real;
}

void* handOut(void* real) {
  Dl_info info;
  if (real == NULL || isOurs(real) || dladdr(real, &info) == 0 || info.dli_sname == NULL ||
      info.dli_saddr != real)
    return real;
  int id = idOf(info.dli_sname);
  return id < 0 ? real : wrapperOf(id, real);
}

// ---- dlsym() ------------------------------------------------------------------------------------
struct answer {
  void* address;
  uint64_t is_one;
};
__attribute__((visibility("hidden"))) struct answer tidegauge_dlsym(void* handle,
                                                                    const char* name) {
  struct answer answer = {NULL, 0};
  if (tidegauge_real_dlsym == NULL) (void)realDlsym(RTLD_NEXT, "dlsym");
  if (own.inside || name == NULL || tidegauge_real_dlsym == NULL) return answer;
  int id = idOf(name);
  if (id < 0 || !ready()) return answer;
  bool of_scope = handle == RTLD_DEFAULT || handle == RTLD_NEXT;
  void* real = realDlsym(of_scope ? RTLD_NEXT : handle, name);
  if (real != NULL && isOurs(real)) real = realDlsym(RTLD_NEXT, name);
  // A caller before this library in the search order gets the exported wrapper; a caller after it
  // (another library that wraps the same functions) gets the next definition. If there is none,
  // nobody gets one: without this library, the exported wrappers would not exist.
  if (real != NULL && handle == RTLD_NEXT) return answer;
  answer.address = wrapperOf(id, real);
  answer.is_one = 1;
  return answer;
}

// ---- exported wrappers --------------------------------------------------------------------------
static struct {
  _Atomic(uint64_t) key;
  _Atomic(void*) real;
} sites[SITES];

struct paths {
  char list[8][512];
  int count;
};
static int keepPath(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  struct paths* paths = data;
  const char* base = strrchr(info->dlpi_name, '/');
  base = base != NULL ? base + 1 : info->dlpi_name;
  if (strncmp(base, "libcuda", 7) != 0 || strlen(info->dlpi_name) >= sizeof(paths->list[0]))
    return 0;
  strcpy(paths->list[paths->count++], info->dlpi_name);
  return paths->count == 8;
}
static void* lookIn(const char* path, const char* name) {
  void* handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == NULL) return NULL;
  void* real = realDlsym(handle, name);
  dlclose(handle);  // it was loaded before, and stays
  return real != NULL && isOurs(real) ? NULL : real;
}

// What the caller would have got: from the global scope, from the libraries that its own library
// needs, finally from any library of that name (a jump may hide the caller's own).
static void* search(int id, const void* site) {
  const char* name = kNames[id];
  void* real = realDlsym(RTLD_NEXT, name);
  if (real != NULL) return real;
  Dl_info info;
  struct link_map* map = NULL;
  if (dladdr1(site, &info, (void**)&map, RTLD_DL_LINKMAP) != 0 && map != NULL && map->l_name[0])
    real = lookIn(map->l_name, name);
  if (real != NULL) return real;
  struct paths paths;
  paths.count = 0;
  dl_iterate_phdr(keepPath, &paths);  // holds a lock: open nothing inside
  for (int i = 0; i < paths.count && real == NULL; ++i) real = lookIn(paths.list[i], name);
  return real;
}

void* realFunction(struct frame* frame) {
  uint32_t id = frame->id & 0xffff, bank = (uint32_t)(frame->id >> 16);
  if (bank > 0) return atomic_load_explicit(&banks[bank][id], memory_order_acquire);
  uint64_t site = *callerSp(frame), key = site | ((uint64_t)id << 48);
  uint64_t row = (key * 0x9e3779b97f4a7c15u) >> 40;
  for (int i = 0; i < TRIES; ++i, ++row) {
    uint64_t held = atomic_load_explicit(&sites[row % SITES].key, memory_order_acquire);
    if (held == key) return atomic_load_explicit(&sites[row % SITES].real, memory_order_relaxed);
    if (held == 0) break;
  }
  bool was_inside = own.inside;
  own.inside = true;
  void* real = search((int)id, (const void*)(uintptr_t)site);
  own.inside = was_inside;
  if (real == NULL) return real;
  uint64_t empty = 0;
  // 1: another thread is writing here. Rows never change once they are written.
  if (atomic_compare_exchange_strong(&sites[row % SITES].key, &empty, 1)) {
    atomic_store_explicit(&sites[row % SITES].real, real, memory_order_relaxed);
    atomic_store_explicit(&sites[row % SITES].key, key, memory_order_release);
  }
  return real;
}
