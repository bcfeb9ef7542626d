// The part of CUPTI's interface that is used, with the places of the fields that are read. CUPTI's
// headers are not needed to build; tests/live/times/cupti_layout_test.py compares all of this with
// the real ones.
//
//   kind = word32(record, CUPTI_RECORD_KIND), start = word64(record, CUPTI_RECORD_START)
//
// Each version of CUPTI writes its own structures (CUpti_ActivityKernel8 to 13, Memcpy5 to 7,
// MemcpyPtoP4, Memset4 and 5). They grow at their end: all fields that are read here have kept
// their places from CUDA 11.8 to 13.5. Other versions are refused; of 13.0 to 13.5, one update
// each was compared.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cupti_kind {  // CUpti_ActivityKind
  CUPTI_MEMCPY = 1,
  CUPTI_MEMSET = 2,
  CUPTI_CONCURRENT_KERNEL = 10,
  CUPTI_MEMCPY2 = 22,  // from one device to another
};

enum cupti_field {
  CUPTI_RECORD_KIND = 0,    // 4 bytes
  CUPTI_RECORD_START = 16,  // 8, as the next: ns
  CUPTI_RECORD_END = 24,
  CUPTI_KERNEL_DEVICE = 40,  // 4, as the next
  CUPTI_KERNEL_CONTEXT = 44,
  CUPTI_KERNEL_STREAM = 48,
  CUPTI_KERNEL_CORRELATION = 92,
  CUPTI_KERNEL_NAME = 104,   // const char*
  CUPTI_KERNEL_BYTES = 112,  // the least size of a record
  CUPTI_COPY_KIND = 4,       // 1 byte
  CUPTI_COPY_SIZE = 8,       // 8; these four are those of a set as well
  CUPTI_COPY_DEVICE = 32,
  CUPTI_COPY_CONTEXT = 36,
  CUPTI_COPY_STREAM = 40,
  CUPTI_COPY_CORRELATION = 44,   // and of a set
  CUPTI_COPY2_CORRELATION = 60,  // from one device to another
  CUPTI_COPY_BYTES = 64,
};

enum cupti_copy {  // CUpti_ActivityMemcpyKind; A: an array
  CUPTI_COPY_UNKNOWN,
  CUPTI_COPY_HTOD,
  CUPTI_COPY_DTOH,
  CUPTI_COPY_HTOA,
  CUPTI_COPY_ATOH,
  CUPTI_COPY_ATOA,
  CUPTI_COPY_ATOD,
  CUPTI_COPY_DTOA,
  CUPTI_COPY_DTOD,
  CUPTI_COPY_HTOH,
  CUPTI_COPY_PTOP,
};

enum { CUPTI_OK = 0, CUPTI_NO_MORE_RECORDS = 12, CUPTI_FLUSH_FORCED = 1 };

// cuptiGetVersion(): 18 is CUDA 11.8 to 12.1, 20 to 28 are 12.2 to 12.9, 130402 is 13.4. Those
// whose headers were compared.
static inline bool cuptiVersionIsKnown(uint32_t version) {
  return version == 18 || (version >= 20 && version <= 24) || (version >= 26 && version <= 28) ||
         (version >= 130000 && version < 130600);
}
