// Shared by the library of `record --device-times` and the recorder: one file in memory (memfd),
// mapped by both.
//
//   head    the recorder's process, counters of what was lost
//   chunks  a program takes one while CUPTI hands it a buffer, fills it and returns it
//
//   chunk: │ entry: type, bytes │ injection_activity │ entry │ … │◄ written  (by the program)
//                                                     ▲ read               (by the recorder)
//
// A killed program leaves what it had written: an entry counts once `written` is after it. Nothing
// waits for anything: with no chunk free, activities are counted as lost. A program has a number,
// its image: a pid may be used again. The recorder trusts nothing in here.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
#define INJECTION_CHECK static_assert
#else
#define INJECTION_CHECK _Static_assert
#endif

#define INJECTION_MAGIC 0x74676432u
#define INJECTION_CHUNK_BYTES 65536
#define INJECTION_MOST_CHUNKS 4096
#define INJECTION_NAME_BYTES 4096  // of a kernel; longer ones are cut

enum injection_entry_type {
  INJECTION_STATE = 1,  // injection_state
  INJECTION_NAME,       // injection_name, then the text
  INJECTION_ACTIVITY,   // injection_activity
};
struct injection_entry {
  uint32_t type;
  uint32_t bytes;  // of the content; the next entry begins at the next multiple of 8
};

// What became of CUPTI in a program.
enum injection_outcome {
  INJECTION_TIMES = 1,    // it records
  INJECTION_NO_LIBRARY,   // libcupti was not found
  INJECTION_REFUSED,      // `call` returned `code`
  INJECTION_NEW_VERSION,  // the layout of its records is not known
  INJECTION_OUTCOMES,
};
struct injection_state {
  uint64_t time_ns;
  uint32_t outcome;
  uint32_t version;    // as cuptiGetVersion() says; 0: unknown
  int32_t code;        // a CUptiResult
  uint32_t own_clock;  // 1: CUPTI takes no other clock, so times are converted (see clock_error_ns)
  uint64_t clock_error_ns;
  char call[48];
  char reason[64];    // the code in CUPTI's words
  char library[256];  // path of libcupti
};

struct injection_name {
  uint32_t id;  // of the image
  uint32_t length;
};

enum injection_kind { INJECTION_KERNEL, INJECTION_COPY, INJECTION_SET, INJECTION_KINDS };
struct injection_activity {
  uint64_t start_ns, end_ns;  // CLOCK_MONOTONIC; both 0: CUPTI could not measure it
  uint64_t bytes;             // of a copy or a set
  uint32_t device, context, stream, correlation;
  uint32_t name;  // of a kernel; 0: unknown
  uint8_t kind;   // injection_kind
  uint8_t copy;   // enum copy_direction of bpf/records.h
  uint16_t unused;
};
INJECTION_CHECK(sizeof(struct injection_activity) == 48, "the recorder reads this");

enum injection_chunk_state { INJECTION_FREE, INJECTION_TAKEN, INJECTION_FULL };
struct injection_chunk {
  uint32_t state;
  uint32_t tgid;
  uint32_t image;
  uint32_t written;  // bytes, by the program
  uint32_t read;     // bytes, by the recorder
  uint32_t padding[11];
  uint8_t bytes[INJECTION_CHUNK_BYTES - 64];
};
INJECTION_CHECK(sizeof(struct injection_chunk) == INJECTION_CHUNK_BYTES,
                "chunks follow each other");

enum injection_loss {
  INJECTION_LOST_ROOM,   // no chunk was free: the recorder was too slow
  INJECTION_LOST_CUPTI,  // CUPTI itself dropped them
  INJECTION_LOST_BAD,    // a record that its buffer does not hold whole
  INJECTION_LOST_NAMES,  // kernels whose name found no room
  INJECTION_LOSSES,
};
struct injection_head {
  uint32_t magic;
  uint32_t chunks;
  uint32_t next_image;
  uint32_t next_chunk;  // start of the next search
  uint64_t losses[INJECTION_LOSSES];
  uint64_t padding[2];
};
INJECTION_CHECK(sizeof(struct injection_head) == 64, "chunks begin after it");

struct injection_area {
  struct injection_head head;
  struct injection_chunk chunks[];  // head.chunks of them
};
