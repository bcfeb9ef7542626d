// Inside the preloaded library: one wrapper for each watched function.
//
//   program ─ cudaMalloc ─► entries.S ─► before() ─► the real one ─► after() ─► program
//                            frame: registers, the function, the state of the call
//
// Wrappers have no signature: they pass on the registers and as many stack words as a function
// takes. There are several banks of wrappers, one for each copy of a library that a process has
// loaded. A wrapper calls only one real function, except in bank 0, which is exported: there it
// depends on the caller (lookup.c).
#pragma once

#ifndef __ASSEMBLER__

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/calls.h"
#include "preload/shared.h"

// Not watched themselves: they return pointers to watched functions.
#define TIDEGAUGE_POINTERS(X)         \
  X(cuGetProcAddress)                 \
  X(cuGetProcAddress_v2)              \
  X(cudaGetDriverEntryPoint)          \
  X(cudaGetDriverEntryPoint_ptsz)     \
  X(cudaGetDriverEntryPointByVersion) \
  X(cudaGetDriverEntryPointByVersion_ptsz)

enum call_kind {
  CALL_NOTHING,
  CALL_MEMORY,
  CALL_CONTEXT,
  CALL_COPY,
  CALL_LAUNCH,
  CALL_NAME,
  CALL_POINTER,
};

// On the stack of the wrapper; entries.S knows the first ten words.
struct frame {
  uint64_t registers[6];  // rdi, rsi, rdx, rcx, r8, r9
  uint64_t id;            // bank << 16 | function
  void* real;
  uint64_t result;
  uint64_t words;  // of the stack that the function takes
  uint64_t whole;  // intact() while the call is on the stack
  uint64_t cookie;
  struct flight flight;
  struct copy_flight copy;
  uint32_t kind;  // enum call_kind
};
#define FRAME_BYTES 256  // followed by the saved rbp, the return address, and the words
_Static_assert(sizeof(struct frame) <= FRAME_BYTES, "frame");
_Static_assert(offsetof(struct frame, real) == 56 && offsetof(struct frame, result) == 64 &&
                   offsetof(struct frame, words) == 72,
               "entries.S");

struct thread {
  struct frame *runtime, *driver, *copy, *launch;  // calls in flight, outermost first
  struct preload_chunk* chunk;
  struct preload_launch* last_launch;
  uint32_t tid;
  struct chosen_device chosen;
  uint32_t inner_copies;
  uint32_t copy_direction;  // of `copy`: for a driver copy without a direction
  bool inside;              // this library is running: its own calls are not watched
  bool prepared;
  bool python_checked;  // its frames are where the table says
  bool is_main;         // known once python_checked
};
extern __thread struct thread own;
extern struct preload_area* area;  // NULL: nothing is recorded
extern uint32_t own_tgid, own_image;

// ---- calls.c
void tidegauge_before(struct frame* frame);
void tidegauge_after(struct frame* frame);

// ---- lookup.c
void* realFunction(struct frame* frame);  // NULL: there is none
void* handOut(void* real);                // its wrapper if it is watched, else the function itself
uint32_t stackWords(uint32_t function);
uint32_t functionCount(void);  // watched ones; those of TIDEGAUGE_POINTERS follow

// ---- walk.c Adds the stack's frames, starting with the one that returns to `from`, to the `count`
// existing ones; at most PRELOAD_FRAMES in all.
uint32_t walkStack(uint64_t from, uint64_t* frames, uint32_t count);

// ---- python.c The frames of Python of this thread, innermost first.
#define PYTHON_FRAMES_MOST 256
struct python_walked {
  uint32_t count;
  uint32_t place[PYTHON_FRAMES_MOST];
  uint64_t code[PYTHON_FRAMES_MOST];
};
bool preparePython(void);  // false: this program has no CPython that is walked
uint64_t walkPython(struct python_walked* walked);  // a hash of them; 0: there are none
bool sendPython(const struct python_walked* walked, int32_t stack);  // false: there was no room
void pythonInChild(void);

// ---- send.c
bool ready(void);                              // maps the area once
void* room(uint32_t type, uint32_t bytes);     // NULL: none; the caller counts the loss
void publish(void);                            // completes the last room()
void count(uint32_t what);                     // enum loss
int32_t takeStack(const struct frame* frame);  // −1: none
void countLaunch(const struct launch_key* key);
struct copy_sum* copySum(const struct copy_key* key);  // NULL: no room
uint64_t monotonicNow(void);

static inline uint64_t* callerSp(const struct frame* frame) {  // of the return address
  return (uint64_t*)((char*)(uintptr_t)frame + FRAME_BYTES + 8);
}
// A place of a cookie (bpf/records.h).
static inline uint64_t argument(const struct frame* frame, uint32_t place) {
  if (place == 0) return 0;
  return place <= 6 ? frame->registers[place - 1] : callerSp(frame)[place - 6];
}
static inline uint64_t intact(const struct frame* frame) { return ~(uint64_t)(uintptr_t)frame; }
// Is the call with the frame `outer` still on the stack? It may have been left by longjmp.
static inline bool isOpen(const struct frame* outer, const struct frame* now) {
  return outer != NULL && now < outer && outer->whole == intact(outer);
}

#endif
