// The library of `record --device-times`. The CUDA driver loads it at cuInit(), because
// CUDA_INJECTION64_PATH names it, and calls InitializeInjection(). That asks CUPTI for the times of
// kernels, copies and sets, and sends them to the recorder.
//
//   cuInit() ─► InitializeInjection() ─► find libcupti ─► switch the kinds on
//   CUPTI's thread, every 0.1 s or when a buffer is full ─► bufferCompleted() ─► records.c
//
// The program never fails because of it: InitializeInjection() always returns 1, and whatever does
// not work is only said. A thread that launches waits for none of this: bufferRequested() has a
// lock of its own. Source: cupti_activity.h; NVIDIA's sample
// cupti_trace_injection.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "injection/cupti_layout.h"
#include "injection/find.h"
#include "injection/records.h"

enum { BUFFER_BYTES = 1 << 20, SPARE_BUFFERS = 8, FLUSH_EVERY_MS = 100, CLOCK_TRIES = 16 };

typedef uint64_t (*clock_function)(void);
typedef void (*request_function)(uint8_t** buffer, size_t* bytes, size_t* most_records);
typedef void (*complete_function)(void* context, uint32_t stream, uint8_t* buffer, size_t bytes,
                                  size_t valid_bytes);
static struct {
  int (*version)(uint32_t*);
  int (*words)(int, const char**);
  int (*setClock)(clock_function);
  int (*clock)(uint64_t*);
  int (*callbacks)(request_function, complete_function);
  int (*enable)(int);
  int (*disable)(int);
  int (*flushPeriod)(uint32_t);
  int (*flush)(uint32_t);
  int (*dropped)(void*, uint32_t, size_t*);
  cupti_next next;
} cupti;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, spare_lock = PTHREAD_MUTEX_INITIALIZER;
static struct injection_sender sender;  // under `lock`
static uint8_t* spare[SPARE_BUFFERS];   // under `spare_lock`
static size_t spares;
static bool has_own_clock;
static uint64_t clock_error_ns;  // at most, of all times, if it has
static bool is_child;  // of fork(): CUDA does not work there, and the area is its parent's

static uint64_t monotonicNow(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// ---- CUPTI's callbacks --------------------------------------------------------------------------
static void bufferRequested(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *most_records = 0;  // as many as fit
  *buffer = NULL;
  pthread_mutex_lock(&spare_lock);
  if (spares > 0) *buffer = spare[--spares];
  pthread_mutex_unlock(&spare_lock);
  void* fresh = NULL;
  if (*buffer == NULL && posix_memalign(&fresh, 64, BUFFER_BYTES) == 0) *buffer = fresh;
  *bytes = *buffer == NULL ? 0 : BUFFER_BYTES;
}

// The difference between the recorder's clock and CUPTI's: the narrowest of some tries.
static bool measureClock(int64_t* offset_ns, uint64_t* error_ns) {
  *error_ns = UINT64_MAX;
  for (int i = 0; i < CLOCK_TRIES && cupti.clock != NULL; ++i) {
    uint64_t theirs = 0, before = monotonicNow();
    if (cupti.clock(&theirs) != CUPTI_OK) return false;
    uint64_t width = monotonicNow() - before;
    if (width >= *error_ns) continue;
    *error_ns = width;
    *offset_ns = (int64_t)(before + width / 2 - theirs);
  }
  return *error_ns != UINT64_MAX;
}

static void bufferCompleted(void* context, uint32_t stream, uint8_t* buffer, size_t bytes,
                            size_t valid_bytes) {
  if (is_child || buffer == NULL) return;
  size_t lost = 0;
  bool asks = cupti.dropped != NULL && cupti.dropped(context, stream, &lost) == CUPTI_OK;
  pthread_mutex_lock(&lock);
  int64_t offset_ns;
  uint64_t error_ns;
  if (has_own_clock && measureClock(&offset_ns, &error_ns) && error_ns <= clock_error_ns)
    sender.offset_ns = offset_ns;
  if (asks && lost > 0) injectionLose(&sender, INJECTION_LOST_CUPTI, lost);
  (void)injectionSend(&sender, cupti.next, buffer, valid_bytes < bytes ? valid_bytes : bytes);
  pthread_mutex_unlock(&lock);
  pthread_mutex_lock(&spare_lock);
  bool is_kept = spares < SPARE_BUFFERS;
  if (is_kept) spare[spares++] = buffer;
  pthread_mutex_unlock(&spare_lock);
  if (!is_kept) free(buffer);
}

static void atEnd(void) {
  if (!is_child && cupti.flush != NULL) (void)cupti.flush(CUPTI_FLUSH_FORCED);
}

static void inChild(void) { is_child = true; }

// ---- the beginning ------------------------------------------------------------------------------
static void copyText(char* to, size_t room, const char* from) {
  snprintf(to, room, "%s", from == NULL ? "" : from);
}

static bool refused(struct injection_state* state, const char* call, int code) {
  const char* words = NULL;
  state->outcome = INJECTION_REFUSED;
  state->code = code;
  copyText(state->call, sizeof(state->call), call);
  if (cupti.words != NULL) (void)cupti.words(code, &words);
  copyText(state->reason, sizeof(state->reason), words);
  return false;
}

#define FIND(member, symbol) *(void**)&cupti.member = dlsym(library, symbol)
static bool beginWith(void* library, struct injection_state* state) {
  memset(&cupti, 0, sizeof(cupti));
  FIND(version, "cuptiGetVersion");
  FIND(words, "cuptiGetResultString");
  FIND(setClock, "cuptiActivityRegisterTimestampCallback");
  FIND(clock, "cuptiGetTimestamp");
  FIND(callbacks, "cuptiActivityRegisterCallbacks");
  FIND(enable, "cuptiActivityEnable");
  FIND(disable, "cuptiActivityDisable");
  FIND(flushPeriod, "cuptiActivityFlushPeriod");
  FIND(flush, "cuptiActivityFlushAll");
  FIND(dropped, "cuptiActivityGetNumDroppedRecords");
  FIND(next, "cuptiActivityGetNextRecord");
  Dl_info where;
  if (cupti.version != NULL && dladdr(*(void**)&cupti.version, &where) != 0)
    copyText(state->library, sizeof(state->library), where.dli_fname);
  if (cupti.version == NULL || cupti.callbacks == NULL || cupti.enable == NULL ||
      cupti.disable == NULL || cupti.next == NULL || cupti.flush == NULL)
    return refused(state, "dlsym", 0);
  int code = cupti.version(&state->version);
  if (code != CUPTI_OK) return refused(state, "cuptiGetVersion", code);
  if (!cuptiVersionIsKnown(state->version)) {
    state->outcome = INJECTION_NEW_VERSION;
    return false;
  }
  // Before the kinds are switched on, so that all times are of one clock.
  code = cupti.setClock == NULL ? -1 : cupti.setClock(monotonicNow);
  has_own_clock = code != CUPTI_OK;
  state->own_clock = has_own_clock;
  if (has_own_clock) {
    if (!measureClock(&sender.offset_ns, &clock_error_ns))
      return refused(state, "cuptiActivityRegisterTimestampCallback", code);
    // The clocks drift, so the difference is measured again and again. A result that is worse than
    // this is left, and the one before holds on.
    clock_error_ns = 2 * clock_error_ns + 1000;
    state->clock_error_ns = clock_error_ns;
  }
  code = cupti.callbacks(bufferRequested, bufferCompleted);
  if (code != CUPTI_OK) return refused(state, "cuptiActivityRegisterCallbacks", code);
  static const int kinds[] = {CUPTI_CONCURRENT_KERNEL, CUPTI_MEMCPY, CUPTI_MEMCPY2, CUPTI_MEMSET};
  for (int i = 0; i < 4; ++i) {
    code = cupti.enable(kinds[i]);
    if (code == CUPTI_OK) continue;
    while (--i >= 0) (void)cupti.disable(kinds[i]);
    return refused(state, "cuptiActivityEnable", code);
  }
  // Without it a program that ends by a signal would lose what no full buffer had.
  if (cupti.flushPeriod != NULL) (void)cupti.flushPeriod(FLUSH_EVERY_MS);
  state->outcome = INJECTION_TIMES;
  return true;
}

// Several may be found. Of those that do not work, the first that refused says the most.
static bool tryLibrary(void* library, void* context) {
  struct injection_state *told = context, state = {0};
  bool works = beginWith(library, &state);
  bool says_more = state.outcome == INJECTION_REFUSED && told->outcome != INJECTION_REFUSED;
  if (works || says_more || told->outcome == 0) *told = state;
  return works;
}

// The number of this process where the recorder runs: getpid() has that of its own pid namespace,
// /proc that of the namespace it was mounted in.
static uint32_t ownNumber(void) {
  char text[64] = "";
  int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? 0 : read(file, text, sizeof(text) - 1);
  if (file >= 0) close(file);
  return length > 0 ? (uint32_t)strtoul(text, NULL, 10) : (uint32_t)getpid();
}

static bool openArea(void) {
  const char* path = getenv("TIDEGAUGE_DEVICE_TIMES");
  int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return false;  // the recorder is gone, or belongs to another user
  struct stat status;
  void* mapped = MAP_FAILED;
  if (fstat(file, &status) == 0 && (size_t)status.st_size > sizeof(struct injection_area))
    mapped = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED) return false;
  if (!injectionIsArea(mapped, (uint64_t)status.st_size)) {
    munmap(mapped, (size_t)status.st_size);
    return false;
  }
  sender.area = mapped;
  sender.tgid = ownNumber();
  sender.image = __atomic_fetch_add(&sender.area->head.next_image, 1, __ATOMIC_RELAXED);
  void* names = mmap(NULL, INJECTION_NAMES * sizeof(uint64_t), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  sender.names = names == MAP_FAILED ? NULL : names;
  return true;
}

__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void) {
  static bool has_begun;
  if (__atomic_exchange_n(&has_begun, true, __ATOMIC_ACQ_REL) || !openArea()) return 1;
  pthread_atfork(NULL, NULL, inChild);
  struct injection_state state = {0};
  bool found;
  bool works = injectionFindCupti(tryLibrary, &state, &found);
  if (!found) state.outcome = INJECTION_NO_LIBRARY;
  state.time_ns = monotonicNow();
  pthread_mutex_lock(&lock);
  injectionSay(&sender, &state);
  pthread_mutex_unlock(&lock);
  if (works) atexit(atEnd);
  return 1;
}
