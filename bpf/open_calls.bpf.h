// The open calls of a thread: a call made inside one is a part of it.
//
//   thread ─ cudaMalloc [open: its return address lies at S] ─ … ─ cuMemAlloc_v2 → a part of it
//
// A call that is left by longjmp() or an exception leaves no trace: its return probe never runs,
// and its frame may stay intact in a gap of a later one. So the place S must still contain the
// return address, and the new call's own stack, walked by the rules of unwind.bpf.h, must pass it.
// The walk is done once for each caller and distance; then the result is known. Until there are
// rules, the caller's place decides: code of the program itself, far from that of the library whose
// call is open, is not a part of it.
#pragma once

#include "unwind.bpf.h"

static __always_inline void openCall(struct pt_regs* ctx, struct open_call* call) {
  call->sp = PT_REGS_SP(ctx);
  call->entry = PT_REGS_IP(ctx);
  call->return_address = readWord(call->sp);
}

enum answer { ANSWER_UNKNOWN, ANSWER_YES, ANSWER_NO };
struct climb {
  struct walk walk;
  __u64 slot;
  // Of the rules so far: 1 << unwind_rule::bp. A flag would be one more thing that the verifier
  // tries both ways in each round.
  __u64 kinds;
};

// One frame up: 0 to continue, 1 at the end or above the frame whose return address is at `slot`.
static int climbFrame(__u32 i, struct climb* climb) {
  struct walk* walk = &climb->walk;
  struct unwind_rule rule;
  if (!ruleOfFrame(i, walk, &rule)) return 1;
  climb->kinds |= 1ULL << (rule.bp & 63);
  if (!stepUp(walk, &rule)) return 1;
  if (rule.cfa == UNWIND_SIGNAL) return 0;
  walk->end = STACK_DEEP;
  return walk->sp > climb->slot;
}

static __always_inline __u32 answerOf(const struct climb* climb) {
  const struct walk* walk = &climb->walk;
  bool is_above = walk->end == STACK_DEEP && walk->sp > climb->slot;
  if (is_above && walk->sp == climb->slot + 8) return ANSWER_YES;
  bool is_guessed = climb->kinds >> UNWIND_BP_GUESSED & 1;
  return (is_above || walk->end == STACK_WHOLE) && !is_guessed ? ANSWER_NO : ANSWER_UNKNOWN;
}

// Whether the rule of the place where a climb ended must still be requested: one thread's copy
// suffices for all, and is requested again after a second if it gave no rule.
static __always_inline bool isToBeAsked(const struct walk* walk) {
  __u64 key = mixed(walk->place, walk->code | 1ULL << 63);
  __u32 second = bpf_ktime_get_ns() >> 30;
  __u32* asked = bpf_map_lookup_elem(&known_stacks, &key);
  if (asked && *asked == second) return false;
  bpf_map_update_elem(&known_stacks, &key, &second, BPF_ANY);
  return true;
}

// Within: no library is larger, and the program is farther from the libraries.
#define FAR_AWAY (1ULL << 40)
#define MOST_FRAMES_INSIDE 64

__noinline __u32 comesFrom(const struct walk_start* start, struct thread_state* thread, __u64 slot,
                           __u64 entry) {
  if (!start || !thread) return ANSWER_UNKNOWN;  // for the verifier
  __u64 sp = start->sp, distance = slot - sp, caller = returnAddress(sp, readWord(sp));
  struct nested_call* known = &thread->nested[(caller ^ (distance >> 3)) & (NESTED_CALLS - 1)];
  if (known->caller == caller && known->distance == distance) return ANSWER_YES;
  __u32 tgid = tgidNow();
  struct climb climb = {.slot = slot};
  startWalk(&climb.walk, start, spaceOf(tgid), 0);
  bpf_loop(MOST_FRAMES_INSIDE, climbFrame, &climb, 0);
  __u32 answer = answerOf(&climb);
  if (answer == ANSWER_YES) {
    known->caller = caller;
    known->distance = distance;
  }
  if (answer != ANSWER_UNKNOWN) return answer;
  if (climb.walk.end == STACK_UNKNOWN && settings.take_stacks && hasRoomForCopies() &&
      isToBeAsked(&climb.walk))
    sendWithCopy(start, 0, 0, &climb.walk, slot + 8);
  bool near = caller - entry < FAR_AWAY || entry - caller < FAR_AWAY;
  return near ? ANSWER_YES : ANSWER_UNKNOWN;
}

// The stack grows down: a frame above sp may be alive if its return address is still in place. If
// its return is watched, the kernel has replaced that address by its own trampoline, the start of a
// page, after the entry was recorded.
static __always_inline bool isMemoryCallOpen(struct pt_regs* ctx, struct thread_state* thread,
                                             struct memory_call* call) {
  __u64 word = 0;
  if (!call->sp || PT_REGS_SP(ctx) >= call->sp) return false;
  if (!readBytes(&word, call->sp, sizeof(word))) return false;
  if (!word || (word & 4095)) return false;
  struct walk_start start = walkStart(ctx, true);
  __u32 answer = comesFrom(&start, thread, call->sp, call->entry);
  if (answer == ANSWER_NO) call->sp = 0;
  return answer == ANSWER_YES;
}
static __always_inline bool isOpen(struct pt_regs* ctx, struct thread_state* thread,
                                   struct open_call* call) {
  __u64 word = 0;
  if (!call->sp || PT_REGS_SP(ctx) >= call->sp) return false;
  if (!readBytes(&word, call->sp, sizeof(word))) return false;
  if (word != call->return_address && (!word || (word & 4095))) return false;
  struct walk_start start = walkStart(ctx, true);
  __u32 answer = comesFrom(&start, thread, call->sp, call->entry);
  if (answer == ANSWER_NO) call->sp = 0;
  return answer == ANSWER_YES;
}
