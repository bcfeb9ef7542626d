// Calls that move memory: where their arguments are, and what came out of them, by the shape in the
// cookie of the function (records.h). What a side defines before it includes this file: calls.h.
//
//   cuMemAllocPitch_v2(out, pitch*, width, height, element)   shape PITCH
//     entry:  out, times = height, offset = where the pitch comes out
//     return: address = *out, size_bytes = *pitch × height
//
// What each call means for live memory is decided in src/model/ledger/ledger.h.
// Source: cuda.h and cuda_runtime_api.h of CUDA 11.8, 12.4 and 13.0.
#pragma once

#include "calls.h"

// A CUmemLocation. Those of other types are in host memory, and `id` is no device.
#define LOCATION_DEVICE 1
static __always_inline void locatedAt(__u64 location, struct flight* flight) {
  struct {
    __s32 type, id;
  } it = {0, 0};
  if (readBytes(&it, location, sizeof(it)) && it.type == LOCATION_DEVICE) flight->device = it.id;
}
// The same in CUmemAllocationProp and CUmemPoolProps: {type, handle types, location}.
static __always_inline void locatedDevice(__u64 properties, struct flight* flight) {
  locatedAt(properties + 8, flight);
}

// At the entry. The side fills in `stack` and `in_runtime`.
static __always_inline void memoryArguments(call_entry* entry, __u64 cookie,
                                            struct flight* flight) {
  flight->function = (__u16)cookie;
  if (COOKIE_PLACE(cookie, COOKIE_RUNTIME)) flight->inner = 0;  // of the driver it stays 0
  flight->device = -1;
  flight->offset = 0;
  flight->out = argument(entry, COOKIE_PLACE(cookie, COOKIE_OUT));
  flight->address = argument(entry, COOKIE_PLACE(cookie, COOKIE_ADDRESS));
  flight->bytes = argument(entry, COOKIE_PLACE(cookie, COOKIE_BYTES));
  flight->times = argument(entry, COOKIE_PLACE(cookie, COOKIE_TIMES));
  flight->handle = argument(entry, COOKIE_PLACE(cookie, COOKIE_HANDLE));
  flight->stream = argument(entry, COOKIE_PLACE(cookie, COOKIE_STREAM));
  switch (COOKIE_PLACE(cookie, COOKIE_SHAPE)) {
    case SHAPE_PITCH:
      flight->offset = argument(entry, 2);  // where the pitch comes out
      break;
    case SHAPE_PITCHED_PTR:  // height × depth of the extent
      flight->bytes = argument(entry, 8) * argument(entry, 9);
      break;
    case SHAPE_CREATE:
      locatedDevice(argument(entry, 3), flight);
      break;
    case SHAPE_POOL_CREATE:
      locatedDevice(argument(entry, 2), flight);
      break;
    case SHAPE_POOL_OF:
      flight->device = (__s32)flight->handle;
      break;
    case SHAPE_POOL_AT:
      locatedAt(flight->address, flight);
      flight->address = 0;
      break;
    case SHAPE_GRAPH_NODE:  // its parameters begin with the properties of a pool
      locatedDevice(flight->address, flight);
      break;
    case SHAPE_ARRAY:
    case SHAPE_ARRAY_3D:
      flight->address = argument(entry, 2);
      break;
    case SHAPE_MAP:
      flight->offset = flight->times;
      break;
  }
  flight->start_ns = monotonicNow();
}

// Bytes of one element of an array, by CUarray_format; 0 if this version does not know it.
static __always_inline __u64 formatBytes(__u32 format) {
  switch (format) {
    case 0x01:
    case 0x08:
      return 1;
    case 0x02:
    case 0x09:
    case 0x10:
      return 2;
    case 0x03:
    case 0x0a:
    case 0x20:
      return 4;
    default:
      return 0;
  }
}

// Bytes of an array, by its CUDA_ARRAY3D_DESCRIPTOR (`deep`) or CUDA_ARRAY_DESCRIPTOR.
static __always_inline __u64 arrayBytes(__u64 descriptor, bool deep) {
  struct {
    __u64 width, height, depth;
    __u32 format, channels;
  } it = {0, 0, 0, 0, 0};
  if (deep) {
    if (!readBytes(&it, descriptor, sizeof(it))) return 0;
  } else {
    if (!readBytes(&it.width, descriptor, 16)) return 0;
    if (!readBytes(&it.format, descriptor + 16, 8)) return 0;
  }
  __u64 height = it.height ? it.height : 1, depth = it.depth ? it.depth : 1;
  return it.width * height * depth * formatBytes(it.format) * it.channels;
}

// After a success.
static __always_inline void whatCameOut(const struct flight* flight, __u32 shape,
                                        struct memory_record* record) {
  __u64 word = 0;
  if (flight->out && !readBytes(&word, flight->out, sizeof(word))) {
    count(LOSS_READ_FAULT);
    record->flags |= FLAG_READ_FAULT;
    return;
  }
  switch (shape) {
    case SHAPE_HANDLE_OUT:
    case SHAPE_CREATE:
    case SHAPE_POOL_CREATE:
    case SHAPE_POOL_OF:
    case SHAPE_POOL_AT:
      record->handle = word;
      break;
    case SHAPE_PITCH:
      record->address = word;
      record->size_bytes = readWord(flight->offset) * flight->times;
      record->offset = 0;
      break;
    case SHAPE_PITCHED_PTR:
      record->address = word;
      record->size_bytes = readWord(flight->out + 8) * flight->bytes;
      break;
    case SHAPE_ARRAY:
    case SHAPE_ARRAY_3D:
      record->handle = word;
      record->address = 0;
      record->size_bytes = arrayBytes(flight->address, shape == SHAPE_ARRAY_3D);
      break;
    case SHAPE_GRAPH_NODE:
      record->size_bytes = readWord(flight->address + 104);
      record->address = readWord(flight->address + 112);
      break;
    case SHAPE_MEM_INFO:
      record->size_bytes = readWord(flight->address);
      record->address = word;
      break;
    default:
      if (flight->out) record->address = word;
  }
}

// At the return. The side fills in `tgid` and `tid`. `device`: the one that the thread is on.
static __always_inline void fillMemory(struct memory_record* record, const struct flight* flight,
                                       __u64 cookie, __s32 device, __s32 code, __u64 end_ns) {
  record->start_ns = flight->start_ns;
  record->end_ns = end_ns;
  record->address = flight->address;
  record->size_bytes = flight->bytes;
  record->handle = flight->handle;
  record->stream = flight->stream;
  record->offset = flight->offset;
  record->device = flight->device >= 0 ? flight->device : device;
  record->code = code;
  record->function = (__u16)cookie;
  record->inner = flight->inner > 255 ? 255 : (__u8)flight->inner;
  record->flags = flight->in_runtime ? FLAG_IN_RUNTIME : 0;
  record->stack = flight->stack;
  if (code == 0) whatCameOut(flight, COOKIE_PLACE(cookie, COOKIE_SHAPE), record);
}
