// The frames of a thread's stack, innermost first, by .eh_frame (libgcc's unwinder). The walk
// continues through code without .eh_frame that is about to return: CPython's perf trampolines, one
// before each Python function.
//
//   cudaMalloc ← ctypes ← _PyEval ← trampoline of inner()   .eh_frame ends: the walk starts again
//                                    └─► _PyEval ← trampoline of train() └─► _PyEval ← main
#define _GNU_SOURCE
#include <unwind.h>

#include "preload/shim.h"

// As resume.S and the unwinder number them.
struct registers {
  uint64_t rsp, rip, rbp, rbx, r12, r13, r14, r15;
};
void tidegauge_resume(const struct registers* caller, void (*walk)(void*), void* argument);

struct walk {
  uint64_t from;  // the first reported frame: those before it belong to this library
  bool told;      // true once it was reached
  uint32_t count;
  uint64_t* frames;
  struct registers last;  // of the last reported frame
};

static _Unwind_Reason_Code step(struct _Unwind_Context* context, void* data) {
  struct walk* walk = data;
  uint64_t place = _Unwind_GetIP(context);
  if (!walk->told && place != walk->from) return _URC_NO_REASON;
  walk->told = true;
  if (place == 0 || walk->count == PRELOAD_FRAMES) return _URC_END_OF_STACK;
  walk->frames[walk->count++] = place;
  walk->last = (struct registers){_Unwind_GetCFA(context),    place,
                                  _Unwind_GetGR(context, 6),  _Unwind_GetGR(context, 3),
                                  _Unwind_GetGR(context, 12), _Unwind_GetGR(context, 13),
                                  _Unwind_GetGR(context, 14), _Unwind_GetGR(context, 15)};
  return _URC_NO_REASON;
}

__attribute__((noinline)) static void run(void* walk) {
  _Unwind_Backtrace(step, walk);
  __asm__ volatile("");  // no jump: the frame below it is this function's
}

// Code that returns at once: `add $8,%rsp; ret` (CPython 3.12 and 3.13), `pop %rbp; ret`. The
// unwinder has read its first byte, too, when it searched for signal handlers.
static bool leave(struct registers* at) {
  const uint8_t* code = (const uint8_t*)(uintptr_t)at->rip;
  const uint64_t* stack = (const uint64_t*)(uintptr_t)at->rsp;
  bool adds =
      code[0] == 0x48 && code[1] == 0x83 && code[2] == 0xc4 && code[3] == 8 && code[4] == 0xc3;
  bool pops = code[0] == 0x5d && code[1] == 0xc3;
  if (!adds && !pops) return false;
  if (pops) at->rbp = stack[0];
  at->rip = stack[1];
  at->rsp += 16;
  return true;
}

uint32_t walkStack(uint64_t from, uint64_t* frames, uint32_t count) {
  struct walk walk = {.from = from, .count = count, .frames = frames};
  run(&walk);
  while (walk.told && walk.count < PRELOAD_FRAMES) {
    struct registers caller = walk.last;
    if (!leave(&caller) || caller.rip == 0) break;  // 0: the end of a coroutine
    walk.from = caller.rip;
    walk.told = false;
    tidegauge_resume(&caller, run, &walk);
  }
  return walk.count;
}
