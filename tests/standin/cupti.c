// The stand-in libcupti: hands out records that a file describes, in the layout of the version that
// it claims to be. There is no device here, so times and bytes are those of the file: it shows the
// way of the data, not that a real CUPTI measures. Its structures are its own; that they are the
// real ones is for cupti_layout_test.py, which has the real headers.
//
//   STANDIN_CUPTI=FILE, a line each; times in ns from the moment at which CUPTI was switched on:
//     version 130500                                      of cuptiGetVersion()
//     kernel DEVICE CONTEXT STREAM START END CORRELATION NAME
//     copy KIND BYTES DEVICE CONTEXT STREAM START END CORRELATION      CUpti_ActivityMemcpyKind
//     peer BYTES DEVICE CONTEXT STREAM START END CORRELATION
//     set BYTES DEVICE CONTEXT STREAM START END CORRELATION
//     unmeasured DEVICE NAME        a kernel with both times 0
//     nameless DEVICE START END     a kernel without a name
//     endless DEVICE START END      a kernel whose name has 4096 bytes and no end
//     other KIND                    a record of a kind that nobody asked for
//     cut                           half a record, and the end of the buffer
//     deliver                       hands over what came so far, 20 ms after the start
//     dropped N                     as cuptiActivityGetNumDroppedRecords() says, once
//     fail FUNCTION CODE            this function returns CODE
//     own_clock AHEAD               takes no clock; its own is ahead by AHEAD ns
//   What is not delivered comes with cuptiActivityFlushAll().
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef void (*request_function)(uint8_t**, size_t*, size_t*);
typedef void (*complete_function)(void*, uint32_t, uint8_t*, size_t, size_t);

static uint64_t (*clock_of)(void);
static request_function request;
static complete_function complete;
static uint64_t began_ns, ahead_ns, dropped;
static bool has_own_clock, is_on[64];
static long handed_over = -1;  // position in the file
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t deliverer;

static uint64_t realtime(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + ahead_ns;
}

static FILE* script(void) {
  const char* path = getenv("STANDIN_CUPTI");
  return path == NULL ? NULL : fopen(path, "r");
}

// The value of a line "NAME …" or "fail NAME …".
static long said(const char* line, const char* name, long otherwise) {
  FILE* file = script();
  char word[64], function[64], rest[512];
  long value = otherwise;
  while (file != NULL && fgets(rest, sizeof(rest), file) != NULL) {
    long number;
    if (strcmp(line, "fail") == 0) {
      if (sscanf(rest, "fail %63s %ld", function, &number) == 2 && strcmp(function, name) == 0)
        value = number;
    } else if (sscanf(rest, "%63s %ld", word, &number) == 2 && strcmp(word, line) == 0) {
      value = number;
    }
  }
  if (file != NULL) fclose(file);
  return value;
}
static int fails(const char* function) { return (int)said("fail", function, 0); }

EXPORT int cuptiGetVersion(uint32_t* version) {
  *version = (uint32_t)said("version", "", 130500);
  return fails("cuptiGetVersion");
}
EXPORT int cuptiGetResultString(int code, const char** words) {
  *words = code == 999 ? "CUPTI_ERROR_UNKNOWN" : "an error of the stand-in";
  return 0;
}
EXPORT int cuptiActivityRegisterTimestampCallback(uint64_t (*function)(void)) {
  has_own_clock = said("own_clock", "", -1) >= 0;
  if (has_own_clock) return 999;
  clock_of = function;
  return fails("cuptiActivityRegisterTimestampCallback");
}
EXPORT int cuptiGetTimestamp(uint64_t* time) {
  ahead_ns = has_own_clock ? (uint64_t)said("own_clock", "", 0) : 0;
  *time = realtime();
  return fails("cuptiGetTimestamp");
}
EXPORT int cuptiActivityRegisterCallbacks(request_function requested, complete_function completed) {
  request = requested;
  complete = completed;
  return fails("cuptiActivityRegisterCallbacks");
}
EXPORT int cuptiActivityFlushPeriod(uint32_t ms) {
  (void)ms;
  return fails("cuptiActivityFlushPeriod");
}
EXPORT int cuptiActivityDisable(int kind) {
  is_on[kind & 63] = false;
  return 0;
}
EXPORT int cuptiActivityGetNumDroppedRecords(void* context, uint32_t stream, size_t* count) {
  (void)context, (void)stream;
  *count = dropped;
  dropped = 0;
  return 0;
}

// ---- records ------------------------------------------------------------------------------------
struct sizes {
  size_t kernel, copy, peer, set;
};
static struct sizes sizesOf(uint32_t version) {
  if (version >= 130400) return (struct sizes){248, 112, 96, 104};
  if (version >= 130300) return (struct sizes){232, 96, 96, 88};
  if (version >= 130100) return (struct sizes){224, 96, 96, 88};
  if (version >= 130000) return (struct sizes){216, 96, 96, 88};
  if (version >= 26) return (struct sizes){208, 96, 96, 88};
  return (struct sizes){version == 18 ? 200 : 208, 88, 96, 88};
}
enum { KERNEL = 10, COPY = 1, PEER = 22, SET = 2 };
static size_t sizeOf(uint32_t kind) {
  static uint32_t version;  // under the lock
  if (version == 0) version = (uint32_t)said("version", "", 130500);
  struct sizes sizes = sizesOf(version);
  return kind == KERNEL ? sizes.kernel
         : kind == COPY ? sizes.copy
         : kind == PEER ? sizes.peer
         : kind == SET  ? sizes.set
                        : 64;
}

#define PUT(type, at, value)                    \
  do {                                          \
    type put_ = (type)(value);                  \
    memcpy(record + (at), &put_, sizeof(put_)); \
  } while (0)

struct values {
  uint32_t kind, copy, device, context, stream, correlation;
  int64_t start, end;
  uint64_t bytes;
  const char* name;
  bool has_times;
};
// 0: no room.
static size_t fill(uint8_t* record, size_t room, const struct values* it) {
  size_t size = sizeOf(it->kind);
  if (size > room) return 0;
  memset(record, 0xa5, size);  // what is not set is noise
  PUT(uint32_t, 0, it->kind);
  PUT(uint64_t, 16, it->has_times ? began_ns + (uint64_t)it->start : 0);
  PUT(uint64_t, 24, it->has_times ? began_ns + (uint64_t)it->end : 0);
  if (it->kind == KERNEL) {
    PUT(uint32_t, 40, it->device);
    PUT(uint32_t, 44, it->context);
    PUT(uint32_t, 48, it->stream);
    PUT(uint32_t, 92, it->correlation);
    PUT(const char*, 104, it->name);
  } else {
    PUT(uint8_t, 4, it->copy);
    PUT(uint64_t, 8, it->bytes);
    PUT(uint32_t, 32, it->device);
    PUT(uint32_t, 36, it->context);
    PUT(uint32_t, 40, it->stream);
    PUT(uint32_t, it->kind == PEER ? 60 : 44, it->correlation);
  }
  return size;
}

// 4096 bytes without a zero, and then a page that cannot be read.
static const char* endless(void) {
  char* pages = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(pages, 'n', 4096);
  mprotect(pages + 4096, 4096, PROT_NONE);
  return pages;
}

static bool parse(const char* line, struct values* it) {
  static char name[512];
  *it = (struct values){.has_times = true};
  if (sscanf(line, "kernel %u %u %u %ld %ld %u %511[^\n]", &it->device, &it->context, &it->stream,
             &it->start, &it->end, &it->correlation, name) == 7) {
    it->kind = KERNEL;
    it->name = strdup(name);
    return true;
  }
  if (sscanf(line, "copy %u %lu %u %u %u %ld %ld %u", &it->copy, &it->bytes, &it->device,
             &it->context, &it->stream, &it->start, &it->end, &it->correlation) == 8) {
    it->kind = COPY;
    return true;
  }
  bool is_peer = strncmp(line, "peer", 4) == 0;
  if ((is_peer || strncmp(line, "set", 3) == 0) &&
      sscanf(line, "%*s %lu %u %u %u %ld %ld %u", &it->bytes, &it->device, &it->context,
             &it->stream, &it->start, &it->end, &it->correlation) == 7) {
    it->kind = is_peer ? PEER : SET;
    return true;
  }
  it->kind = KERNEL;
  if (sscanf(line, "unmeasured %u %511s", &it->device, name) == 2) {
    it->has_times = false;
    it->name = strdup(name);
    return true;
  }
  if (sscanf(line, "nameless %u %ld %ld", &it->device, &it->start, &it->end) == 3) return true;
  if (sscanf(line, "endless %u %ld %ld", &it->device, &it->start, &it->end) == 3) {
    it->name = endless();
    return true;
  }
  return sscanf(line, "other %u", &it->kind) == 1;
}

// `to_deliver`: until that line, else to the end.
static void handOver(bool to_deliver) {
  pthread_mutex_lock(&lock);
  FILE* file = script();
  if (file == NULL || complete == NULL) {
    pthread_mutex_unlock(&lock);
    return;
  }
  if (handed_over >= 0) fseek(file, handed_over, SEEK_SET);
  uint8_t* buffer = NULL;
  size_t bytes = 0, most = 0, used = 0;
  char line[1024];
  while (fgets(line, sizeof(line), file) != NULL) {
    if (strcmp(line, "deliver\n") == 0) {
      if (to_deliver) break;
      continue;
    }
    unsigned long count;
    if (sscanf(line, "dropped %lu", &count) == 1) dropped = count;
    struct values it;
    bool is_cut = strcmp(line, "cut\n") == 0;
    if (!is_cut && !parse(line, &it)) continue;
    if (buffer == NULL) request(&buffer, &bytes, &most);
    if (buffer == NULL) break;
    if (is_cut) {
      it = (struct values){.kind = KERNEL};
      memcpy(buffer + used, &it.kind, sizeof(it.kind));
      used += 40;
    } else {
      size_t size = fill(buffer + used, bytes - used, &it);
      if (size == 0) {
        complete(NULL, 0, buffer, bytes, used);
        request(&buffer, &bytes, &most);
        used = 0;
        size = fill(buffer, bytes, &it);
      }
      used += size;
    }
    if (!is_cut) continue;
    complete(NULL, 0, buffer, bytes, used);
    buffer = NULL;
    used = 0;
  }
  handed_over = ftell(file);
  fclose(file);
  if (buffer != NULL) complete(NULL, 0, buffer, bytes, used);
  pthread_mutex_unlock(&lock);
}

static void* soon(void* unused) {
  usleep(20000);
  handOver(true);
  return unused;
}

enum { kMaxLimitReached = 12 };  // CUPTI_ERROR_MAX_LIMIT_REACHED
EXPORT int cuptiActivityEnable(int kind) {
  int code = fails("cuptiActivityEnable");
  if (code != 0) return code;
  is_on[kind & 63] = true;
  if (!is_on[KERNEL] || !is_on[COPY] || !is_on[PEER] || !is_on[SET]) return 0;
  began_ns = clock_of != NULL ? clock_of() : realtime();
  FILE* file = script();
  char line[1024];
  bool delivers = false;
  while (file != NULL && fgets(line, sizeof(line), file) != NULL)
    delivers = delivers || strcmp(line, "deliver\n") == 0;
  if (file != NULL) fclose(file);
  if (delivers && pthread_create(&deliverer, NULL, soon, NULL) == 0) pthread_detach(deliverer);
  return 0;
}
EXPORT int cuptiActivityFlushAll(uint32_t flag) {
  (void)flag;
  handOver(false);
  return fails("cuptiActivityFlushAll");
}
EXPORT int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes, void** at) {
  uint8_t* record = *at;
  if (record == NULL) {
    record = buffer;
  } else {
    uint32_t kind;
    memcpy(&kind, record, sizeof(kind));
    record += sizeOf(kind);
  }
  if (record >= buffer + valid_bytes) return kMaxLimitReached;
  *at = record;
  return 0;
}
