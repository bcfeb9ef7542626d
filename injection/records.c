// See records.h.
#define _GNU_SOURCE
#include "injection/records.h"

#include <linux/types.h>  // before bpf/records.h, which uses it
#include <string.h>

#include "bpf/records.h"
#include "injection/cupti_layout.h"

enum { NAME_TRIES = 32, CHUNK_TRIES = 256 };

static uint32_t word32(const uint8_t* at) {
  uint32_t word;
  memcpy(&word, at, sizeof(word));
  return word;
}
static uint64_t word64(const uint8_t* at) {
  uint64_t word;
  memcpy(&word, at, sizeof(word));
  return word;
}

void injectionLose(struct injection_sender* sender, enum injection_loss what, uint64_t count) {
  __atomic_fetch_add(&sender->area->head.losses[what], count, __ATOMIC_RELAXED);
}

bool injectionIsArea(const struct injection_area* area, uint64_t bytes) {
  return bytes >= sizeof(struct injection_area) && area->head.magic == INJECTION_MAGIC &&
         area->head.chunks >= 1 && area->head.chunks <= INJECTION_MOST_CHUNKS &&
         bytes ==
             sizeof(struct injection_area) + (uint64_t)area->head.chunks * INJECTION_CHUNK_BYTES;
}

// ---- chunks -------------------------------------------------------------------------------------
static struct injection_chunk* takeChunk(struct injection_sender* sender) {
  struct injection_area* area = sender->area;
  uint32_t chunks = area->head.chunks;
  if (chunks == 0 || chunks > INJECTION_MOST_CHUNKS) return NULL;
  for (uint32_t i = 0; i < chunks && i < CHUNK_TRIES; ++i) {
    uint32_t at = __atomic_fetch_add(&area->head.next_chunk, 1, __ATOMIC_RELAXED) % chunks;
    struct injection_chunk* chunk = &area->chunks[at];
    uint32_t free = INJECTION_FREE;
    if (__atomic_load_n(&chunk->state, __ATOMIC_RELAXED) != INJECTION_FREE ||
        !__atomic_compare_exchange_n(&chunk->state, &free, INJECTION_TAKEN, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
      continue;
    chunk->tgid = sender->tgid;
    chunk->image = sender->image;
    return chunk;
  }
  return NULL;
}

static void giveBack(struct injection_sender* sender) {
  if (sender->chunk != NULL)
    __atomic_store_n(&sender->chunk->state, INJECTION_FULL, __ATOMIC_RELEASE);
  sender->chunk = NULL;
}

// Other programs write there, too.
static bool hasRoom(uint32_t written, uint32_t bytes) {
  const size_t all = sizeof(((struct injection_chunk*)NULL)->bytes);
  return written <= all && bytes <= all - written;
}

static void* room(struct injection_sender* sender, uint32_t type, uint32_t bytes) {
  uint32_t whole = (uint32_t)sizeof(struct injection_entry) + ((bytes + 7) & ~7u);
  if (sender->chunk != NULL && !hasRoom(sender->chunk->written, whole)) giveBack(sender);
  if (sender->chunk == NULL && (sender->chunk = takeChunk(sender)) == NULL) return NULL;
  uint32_t written = sender->chunk->written;
  if (!hasRoom(written, whole)) return NULL;
  struct injection_entry* entry = (struct injection_entry*)(sender->chunk->bytes + written);
  *entry = (struct injection_entry){type, bytes};
  return entry + 1;
}

static void publish(struct injection_sender* sender) {
  struct injection_chunk* chunk = sender->chunk;
  const struct injection_entry* entry = (struct injection_entry*)(chunk->bytes + chunk->written);
  uint32_t whole = (uint32_t)sizeof(*entry) + ((entry->bytes + 7) & ~7u);
  __atomic_store_n(&chunk->written, chunk->written + whole, __ATOMIC_RELEASE);
}

// ---- names --------------------------------------------------------------------------------------
// By content: CUPTI may use an address again once a module is unloaded.
static uint64_t hashOf(const char* text, size_t length) {
  uint64_t hash = length + 1;
  for (; length > 0; text += 8) {
    uint64_t word = 0;
    size_t part = length < 8 ? length : 8;
    memcpy(&word, text, part);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
    length -= part;
  }
  return hash | 1;
}

static uint32_t nameOf(struct injection_sender* sender, const char* text) {
  if (text == NULL || sender->names == NULL) return 0;
  size_t length = strnlen(text, INJECTION_NAME_BYTES);
  if (length == 0) return 0;
  uint64_t hash = hashOf(text, length);
  for (uint32_t i = 0; i < NAME_TRIES; ++i) {
    uint32_t at = (uint32_t)((hash + i) % INJECTION_NAMES);
    if (sender->names[at] == hash) return at + 1;
    if (sender->names[at] != 0) continue;
    struct injection_name* name =
        room(sender, INJECTION_NAME, (uint32_t)(sizeof(struct injection_name) + length));
    if (name == NULL) break;
    *name = (struct injection_name){at + 1, (uint32_t)length};
    memcpy(name + 1, text, length);
    publish(sender);
    sender->names[at] = hash;
    return at + 1;
  }
  injectionLose(sender, INJECTION_LOST_NAMES, 1);
  return 0;
}

// ---- records ------------------------------------------------------------------------------------
static uint8_t directionOf(uint8_t copy) {
  switch (copy) {
    case CUPTI_COPY_HTOD:
    case CUPTI_COPY_HTOA:
      return COPY_HOST_TO_DEVICE;
    case CUPTI_COPY_DTOH:
    case CUPTI_COPY_ATOH:
      return COPY_DEVICE_TO_HOST;
    case CUPTI_COPY_ATOA:
    case CUPTI_COPY_ATOD:
    case CUPTI_COPY_DTOA:
    case CUPTI_COPY_DTOD:
      return COPY_DEVICE_TO_DEVICE;
    case CUPTI_COPY_HTOH:
      return COPY_HOST_TO_HOST;
    case CUPTI_COPY_PTOP:
      return COPY_PEER;
    default:
      return COPY_UNKNOWN;
  }
}

static void decode(struct injection_sender* sender, const uint8_t* record, uint32_t kind,
                   struct injection_activity* activity) {
  *activity = (struct injection_activity){0};
  if (kind == CUPTI_CONCURRENT_KERNEL) {
    activity->kind = INJECTION_KERNEL;
    activity->copy = COPY_UNKNOWN;
    activity->device = word32(record + CUPTI_KERNEL_DEVICE);
    activity->context = word32(record + CUPTI_KERNEL_CONTEXT);
    activity->stream = word32(record + CUPTI_KERNEL_STREAM);
    activity->correlation = word32(record + CUPTI_KERNEL_CORRELATION);
    const char* name;
    memcpy(&name, record + CUPTI_KERNEL_NAME, sizeof(name));
    activity->name = nameOf(sender, name);
  } else {
    bool is_set = kind == CUPTI_MEMSET, is_peer = kind == CUPTI_MEMCPY2;
    activity->kind = is_set ? INJECTION_SET : INJECTION_COPY;
    activity->copy = is_set ? COPY_SET : is_peer ? COPY_PEER : directionOf(record[CUPTI_COPY_KIND]);
    activity->bytes = word64(record + CUPTI_COPY_SIZE);
    activity->device = word32(record + CUPTI_COPY_DEVICE);
    activity->context = word32(record + CUPTI_COPY_CONTEXT);
    activity->stream = word32(record + CUPTI_COPY_STREAM);
    activity->correlation =
        word32(record + (is_peer ? CUPTI_COPY2_CORRELATION : CUPTI_COPY_CORRELATION));
  }
  activity->start_ns = word64(record + CUPTI_RECORD_START);
  activity->end_ns = word64(record + CUPTI_RECORD_END);
  if (activity->start_ns != 0) activity->start_ns += (uint64_t)sender->offset_ns;
  if (activity->end_ns != 0) activity->end_ns += (uint64_t)sender->offset_ns;
}

uint64_t injectionSend(struct injection_sender* sender, cupti_next next, uint8_t* buffer,
                       size_t valid_bytes) {
  uint64_t sent = 0;
  bool is_full = false;
  void* at = NULL;
  // No record is smaller than 8 bytes: a `next` that never ends is left.
  for (size_t i = 0; i <= valid_bytes / 8; ++i) {
    int code = next(buffer, valid_bytes, &at);
    if (code == CUPTI_NO_MORE_RECORDS) break;
    if (code != CUPTI_OK || at == NULL) {
      injectionLose(sender, INJECTION_LOST_BAD, 1);
      break;
    }
    const uint8_t* record = at;
    size_t left = record >= buffer && record < buffer + valid_bytes
                      ? (size_t)(buffer + valid_bytes - record)
                      : 0;
    uint32_t kind = left >= 4 ? word32(record + CUPTI_RECORD_KIND) : 0;
    size_t needed = kind == CUPTI_CONCURRENT_KERNEL ? CUPTI_KERNEL_BYTES
                    : kind == CUPTI_MEMCPY || kind == CUPTI_MEMCPY2 || kind == CUPTI_MEMSET
                        ? CUPTI_COPY_BYTES
                        : 4;
    if (left < needed) {
      injectionLose(sender, INJECTION_LOST_BAD, 1);
      break;
    }
    if (needed == 4) continue;
    struct injection_activity activity, *slot = NULL;
    if (!is_full) {
      decode(sender, record, kind, &activity);
      slot = room(sender, INJECTION_ACTIVITY, sizeof(activity));
    }
    if (slot == NULL) {
      is_full = true;  // the rest of the buffer is lost, too: no long search for each
      injectionLose(sender, INJECTION_LOST_ROOM, 1);
      continue;
    }
    *slot = activity;
    publish(sender);
    sent += 1;
  }
  giveBack(sender);
  return sent;
}

void injectionSay(struct injection_sender* sender, const struct injection_state* state) {
  struct injection_state* slot = room(sender, INJECTION_STATE, sizeof(*state));
  if (slot != NULL) {
    *slot = *state;
    publish(sender);
  } else {
    injectionLose(sender, INJECTION_LOST_ROOM, 1);
  }
  giveBack(sender);
}
