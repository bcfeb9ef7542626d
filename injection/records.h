// From a buffer of CUPTI to entries of the recorder's memory.
//
//   struct injection_sender sender = {area, tgid, image, names};
//   injectionSend(&sender, cuptiActivityGetNextRecord, buffer, valid_bytes);
//
// One thread at a time per sender. Nothing here allocates, waits or calls CUPTI except by `next`.
// Cost: measured by the recorder before each recording (src/record/times/times_cost.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "injection/shared.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { INJECTION_NAMES = 16384 };  // kernels of a program that have a name

struct injection_sender {
  struct injection_area* area;
  uint32_t tgid, image;
  uint64_t* names;    // INJECTION_NAMES hashes; the index + 1 of a row is the name's id
  int64_t offset_ns;  // added to all times
  struct injection_chunk* chunk;
};

// cuptiActivityGetNextRecord()
typedef int (*cupti_next)(uint8_t* buffer, size_t valid_bytes, void** record);

// Sends all records that are kernels, copies or sets. Returns their number.
uint64_t injectionSend(struct injection_sender* sender, cupti_next next, uint8_t* buffer,
                       size_t valid_bytes);
// Says what became of CUPTI.
void injectionSay(struct injection_sender* sender, const struct injection_state* state);
void injectionLose(struct injection_sender* sender, enum injection_loss what, uint64_t count);
// The area in a mapped file of that size: is it one?
bool injectionIsArea(const struct injection_area* area, uint64_t bytes);

#ifdef __cplusplus
}
#endif
