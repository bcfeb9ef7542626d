// Sends records to the recorder, and keeps the state of the process: the area, stacks, ends.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/shim.h"

__thread struct thread own;
struct preload_area* area;
uint32_t own_tgid, own_image;
static uint32_t area_chunks;  // as it was opened: other programs write there, too

enum { NOT_TRIED, BEING_TRIED, READY, IMPOSSIBLE };
static uint32_t state;
static pthread_key_t at_thread_end;

// Stacks of this process by hash; the index of a row is an id.
enum { STACKS = 32768, STACK_TRIES = 16 };
static uint64_t* stacks;
static uint32_t stacks_sent;

uint64_t monotonicNow(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool isClosed(void) { return __atomic_load_n(&area->head.is_closed, __ATOMIC_RELAXED) != 0; }

void count(uint32_t what) {
  if (area != NULL && !isClosed())
    __atomic_fetch_add(&area->head.losses[what], 1, __ATOMIC_RELAXED);
}

// ---- chunks -------------------------------------------------------------------------------------
static void giveBack(struct preload_chunk* chunk) {
  if (chunk != NULL) __atomic_store_n(&chunk->state, CHUNK_FULL, __ATOMIC_RELEASE);
}
static void threadEnds(void* thread) {
  (void)thread;
  giveBack(own.chunk);
  own.chunk = NULL;
}

static void prepareThread(void) {
  own.prepared = true;
  own.tid = (uint32_t)syscall(SYS_gettid);
  pthread_setspecific(at_thread_end, &own);  // so that threadEnds() runs
}

static struct preload_chunk* takeChunk(void) {
  if (isClosed()) return NULL;
  uint32_t chunks = area_chunks, tries = chunks < 256 ? chunks : 256;
  for (uint32_t i = 0; i < tries; ++i) {
    uint32_t at = __atomic_fetch_add(&area->head.next_chunk, 1, __ATOMIC_RELAXED) % chunks;
    struct preload_chunk* chunk = &area->chunks[at];
    uint32_t free = CHUNK_FREE;
    if (__atomic_load_n(&chunk->state, __ATOMIC_RELAXED) != CHUNK_FREE ||
        !__atomic_compare_exchange_n(&chunk->state, &free, CHUNK_TAKEN, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
      continue;
    chunk->tgid = own_tgid;
    chunk->image = own_image;
    uint32_t most = __atomic_load_n(&area->head.most_chunks, __ATOMIC_RELAXED);
    while (most <= at && !__atomic_compare_exchange_n(&area->head.most_chunks, &most, at + 1, false,
                                                      __ATOMIC_RELEASE, __ATOMIC_RELAXED))
      continue;
    return chunk;
  }
  return NULL;
}

static bool hasRoom(uint32_t written, uint32_t bytes) {
  size_t all = sizeof(own.chunk->bytes);
  return written <= all && bytes <= all - written;
}

void* room(uint32_t type, uint32_t bytes) {
  uint32_t whole = (uint32_t)sizeof(struct preload_entry) + ((bytes + 7) & ~7u);
  if (!own.prepared) prepareThread();
  if (own.chunk != NULL && !hasRoom(own.chunk->written, whole)) {
    giveBack(own.chunk);
    own.chunk = NULL;
  }
  if (own.chunk == NULL && (own.chunk = takeChunk()) == NULL) return NULL;
  uint32_t written = own.chunk->written;
  if (!hasRoom(written, whole)) return NULL;
  struct preload_entry* entry = (struct preload_entry*)(own.chunk->bytes + written);
  *entry = (struct preload_entry){type, bytes};
  return entry + 1;
}

void publish(void) {
  struct preload_chunk* chunk = own.chunk;
  const struct preload_entry* entry = (struct preload_entry*)(chunk->bytes + chunk->written);
  __atomic_store_n(&chunk->written,
                   chunk->written + (uint32_t)sizeof(*entry) + ((entry->bytes + 7) & ~7u),
                   __ATOMIC_RELEASE);
}

// ---- tables -------------------------------------------------------------------------------------
static uint64_t mixed(const void* bytes, size_t words) {
  uint64_t hash = words;
  for (size_t i = 0; i < words; ++i) {
    uint64_t word;
    memcpy(&word, (const char*)bytes + 8 * i, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

// A row of a process that has ended is used like a free one. Two threads may create two rows for
// one key: the recorder adds them.
#define FIND_ROW(table, rows, key_of, wanted, found)                                  \
  do {                                                                                \
    uint64_t at = mixed(wanted, sizeof(*(wanted)) / 8);                               \
    for (uint32_t i = 0; i < PRELOAD_PROBES && found == NULL; ++i) {                  \
      __typeof__(&(table)[0]) row = &(table)[(at + i) % (rows)];                      \
      uint32_t is = __atomic_load_n(&row->state, __ATOMIC_ACQUIRE);                   \
      if (is == ROW_READY && memcmp(&row->key, wanted, sizeof(row->key)) == 0) {      \
        found = row;                                                                  \
      } else if ((is == ROW_FREE || is == ROW_LEFT) &&                                \
                 __atomic_compare_exchange_n(&row->state, &is, ROW_BEING_MADE, false, \
                                             __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {   \
        row->key = *(wanted);                                                         \
        __atomic_store_n(&row->state, ROW_READY, __ATOMIC_RELEASE);                   \
        found = row;                                                                  \
      }                                                                               \
    }                                                                                 \
  } while (0)

void countLaunch(const struct launch_key* key) {
  struct preload_launch* found = own.last_launch;
  if (found != NULL && (__atomic_load_n(&found->state, __ATOMIC_RELAXED) != ROW_READY ||
                        memcmp(&found->key, key, sizeof(*key)) != 0))
    found = NULL;
  if (found == NULL) FIND_ROW(area->launches, PRELOAD_LAUNCHES, key, key, found);
  own.last_launch = found;
  if (found != NULL)
    __atomic_fetch_add(&found->calls, 1, __ATOMIC_RELAXED);
  else
    count(LOSS_LAUNCH_TABLE);
}

struct copy_sum* copySum(const struct copy_key* key) {
  struct preload_copy* found = NULL;
  FIND_ROW(area->copies, PRELOAD_COPIES, key, key, found);
  return found != NULL ? &found->sum : NULL;
}

// ---- stacks -------------------------------------------------------------------------------------
int32_t takeStack(const struct frame* frame) {
  if (!area->head.take_stacks || stacks == NULL) return -1;
  if (!own.prepared) prepareThread();
  uint64_t from = *callerSp(frame);  // the caller of the wrapper
  uint64_t frames[PRELOAD_FRAMES];
  frames[0] = (uint64_t)(uintptr_t)frame->real + 1;  // in the form of a return address
  uint32_t taken = walkStack(from, frames, 1);
  if (taken == 1) frames[taken++] = from;
  struct python_walked python;
  uint64_t hash = (mixed(frames, taken) ^ walkPython(&python)) | 1;
  for (uint32_t i = 0; i < STACK_TRIES; ++i) {
    uint64_t* row = &stacks[(hash + i) % STACKS];
    uint64_t held = __atomic_load_n(row, __ATOMIC_ACQUIRE);
    int32_t id = (int32_t)((hash + i) % STACKS);
    if (held == hash) return id;
    // Sent before the row shows it, with the number of the row: bit 0 is unset until then. Another
    // thread may send the same stack again meanwhile.
    bool mine = held == 0 && __atomic_compare_exchange_n(row, &held, hash & ~1ull, false,
                                                         __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    if (!mine && held != (hash & ~1ull)) continue;
    if (python.count > 0 && !sendPython(&python, id)) break;
    struct preload_stack* entry =
        room(ENTRY_STACK, (uint32_t)(sizeof(struct preload_stack) + 8 * taken));
    if (entry == NULL) break;
    *entry = (struct preload_stack){own_tgid, taken, id, 0};
    memcpy(entry + 1, frames, 8 * taken);
    publish();
    __atomic_store_n(row, hash, __ATOMIC_RELEASE);
    __atomic_fetch_add(&stacks_sent, 1, __ATOMIC_RELAXED);
    return id;
  }
  count(LOSS_STACK);
  return -1;
}

// ---- the process --------------------------------------------------------------------------------
static uint32_t parent_tgid;
static struct stat opened_proc, opened_area;

// Whether /proc is that of the recorder: the same mount, or another one that has its files. A
// program of another pid namespace may have mounted its own.
static bool knowsTheMachine(void) {
  struct stat now;
  if (stat("/proc/self", &now) != 0) return true;  // nothing is mounted: unknown
  if (opened_proc.st_dev == 0) opened_proc = now;
  if (opened_proc.st_dev == now.st_dev) return true;
  const char* path = getenv("TIDEGAUGE_PRELOAD");
  return path != NULL && stat(path, &now) == 0 && now.st_dev == opened_area.st_dev &&
         now.st_ino == opened_area.st_ino;
}

// The numbers of this process and its parent as the recorder sees them. getpid() returns others in
// another pid namespace; /proc/self/stat has those of the namespace of /proc.
static bool findOwnNumbers(void) {
  own_tgid = (uint32_t)getpid();
  parent_tgid = (uint32_t)getppid();
  if (!knowsTheMachine()) return false;
  char text[128];
  int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;
  ssize_t length = read(file, text, sizeof(text) - 1);
  close(file);
  if (length <= 0) return true;
  text[length] = '\0';
  char* name_end = strrchr(text, ')');  // "4711 (name) S 4710 …"
  if (name_end == NULL || strlen(name_end) < 5) return true;
  own_tgid = (uint32_t)strtoul(text, NULL, 10);
  parent_tgid = (uint32_t)strtoul(name_end + 4, NULL, 10);
  return true;
}

static void tellProcess(uint32_t event) {
  struct system_record* record = room(ENTRY_SYSTEM, sizeof(*record));
  if (record == NULL) {
    count(LOSS_SYSTEM_RING);
    return;
  }
  memset(record, 0, sizeof(*record));
  record->time_ns = monotonicNow();
  record->event = event;
  record->tgid = own_tgid;
  record->parent = parent_tgid;
  prctl(PR_GET_NAME, record->text);
  publish();
}

static void inChild(void) {  // after fork(): one thread, and nothing of the parent's open state
  memset(&own, 0, sizeof(own));
  own.chosen.device = DEVICE_NEVER_SET;
  if (area == NULL) return;
  if (!findOwnNumbers()) {  // as if it had no library: what it starts by exec has none either
    state = IMPOSSIBLE;
    return;
  }
  own_image = __atomic_fetch_add(&area->head.next_image, 1, __ATOMIC_RELAXED);
  if (stacks != NULL) madvise(stacks, STACKS * sizeof(*stacks), MADV_DONTNEED);
  stacks_sent = 0;
  pythonInChild();
  own.inside = true;
  tellProcess(SYSTEM_FORK);
  own.inside = false;
}

static bool isWhole(const struct preload_head* head, uint64_t bytes) {
  return head->magic == PRELOAD_MAGIC && head->functions == functionCount() && head->chunks >= 1 &&
         head->chunks <= PRELOAD_MOST_CHUNKS &&
         bytes == sizeof(struct preload_area) + (uint64_t)head->chunks * PRELOAD_CHUNK_BYTES;
}

static bool openArea(void) {
  const char* path = getenv("TIDEGAUGE_PRELOAD");
  if (path == NULL) return false;
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return false;  // the recorder is gone, or belongs to another user
  struct stat status;
  void* mapped = MAP_FAILED;
  if (fstat(file, &status) == 0 && (size_t)status.st_size > sizeof(struct preload_area))
    mapped = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED) return false;
  if (!isWhole(mapped, (uint64_t)status.st_size)) {
    munmap(mapped, (size_t)status.st_size);
    return false;
  }
  area = mapped;
  area_chunks = area->head.chunks;
  opened_area = status;
  if (area->head.take_stacks) {
    stacks = mmap(NULL, STACKS * sizeof(*stacks), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stacks == MAP_FAILED) stacks = NULL;
    (void)preparePython();
  }
  return true;
}

// Other libraries' constructors may call before this library's own constructor has run.
bool ready(void) {
  uint32_t is = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
  if (is == READY && own.tid != 0) return true;
  if (is == READY || is == IMPOSSIBLE) {
    if (is == READY) {
      own.chosen.device = DEVICE_NEVER_SET;
      prepareThread();
    }
    return is == READY;
  }
  uint32_t expected = NOT_TRIED;
  if (!__atomic_compare_exchange_n(&state, &expected, BEING_TRIED, false, __ATOMIC_ACQUIRE,
                                   __ATOMIC_RELAXED))
    return false;
  bool was_inside = own.inside;
  own.inside = true;
  bool done = openArea() && findOwnNumbers() && pthread_key_create(&at_thread_end, threadEnds) == 0;
  if (done) {
    own.chosen.device = DEVICE_NEVER_SET;
    own_image = __atomic_fetch_add(&area->head.next_image, 1, __ATOMIC_RELAXED);
    pthread_atfork(NULL, NULL, inChild);
    tellProcess(SYSTEM_EXEC);
  }
  __atomic_store_n(&state, done ? READY : IMPOSSIBLE, __ATOMIC_RELEASE);
  own.inside = was_inside;
  return done;
}

__attribute__((constructor)) static void begin(void) { (void)ready(); }

// Frames are resolved with /proc/PID/maps, which vanishes with the process. So a short process
// waits until the recorder has read its records: some milliseconds, at most 100.
__attribute__((destructor)) static void end(void) {
  if (state != READY) return;
  giveBack(own.chunk);
  own.chunk = NULL;
  if (stacks_sent == 0 || isClosed()) return;
  uint32_t rounds = __atomic_load_n(&area->head.rounds, __ATOMIC_ACQUIRE);
  for (int i = 0; i < 100; ++i) {
    if (__atomic_load_n(&area->head.rounds, __ATOMIC_ACQUIRE) - rounds >= 2) return;
    if (isClosed() || (i % 10 == 0 && kill((pid_t)area->head.recorder_tgid, 0) != 0)) return;
    struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL);
  }
}
