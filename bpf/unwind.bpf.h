// Complete call stacks of code without frame pointers, walked by rules that the recorder has found
// in .eh_frame for the places on real stacks.
//
//   frame ── (code, place) ──► rules ──► CFA, return address, rbp ──► next frame …
//     no rule: the rest of the stack is copied once into the ring; the recorder continues there and
//     adds rules for every place that it meets, so that the next walk succeeds
//
// A place is one of the few thousand return addresses that a program really has on its stacks, so
// the table is small, needs no preparation, and a look-up is one hash. A stack that was sent before
// is recognised by its hash (64 bits) and only costs the walk. docs/decisions/0017
#pragma once

#include "common.bpf.h"
#include "python/python.bpf.h"
#include "quick_rules.h"

// Filled by the recorder only, for places that walks asked for.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1 << 20);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct unwind_key);
  __type(value, struct unwind_rule);
} rules SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1 << QUICK_BITS);
  __uint(map_flags, BPF_F_MMAPABLE);
  __type(key, __u32);
  __type(value, struct quick_rule);
} quick_rules SEC(".maps");
// By hash: the number of a stack, or the second in which a rule was requested (open_calls.bpf.h).
TABLE(known_stacks, LRU_HASH, __u64, __u32, 131072);
#define STACK_RING_BYTES (32 << 20)
RING(stack_ring, STACK_RING_BYTES);

static __always_inline struct unwind_space spaceOf(__u32 tgid) {
  struct unwind_space* known = bpf_map_lookup_elem(&spaces, &tgid);
  if (known) return *known;
  struct unwind_space fresh = {nextNumber(), nextNumber()};
  bpf_map_update_elem(&spaces, &tgid, &fresh, BPF_NOEXIST);
  known = bpf_map_lookup_elem(&spaces, &tgid);  // another thread may have been first
  return known ? *known : fresh;
}

// A child has the same code at the same addresses, but its stacks are sent as its own.
static __always_inline void sharedSpace(__u32 from, __u32 to) {
  struct python_layout* layout = bpf_map_lookup_elem(&pythons, &from);
  if (layout) bpf_map_update_elem(&pythons, &to, layout, BPF_ANY);
  struct unwind_space* known = bpf_map_lookup_elem(&spaces, &from);
  if (!known) return;
  struct unwind_space shared = {known->code, nextNumber()};
  bpf_map_update_elem(&spaces, &to, &shared, BPF_ANY);
}

// If a return is watched, the kernel has replaced the address by its trampoline, the start of a
// page, and saved the original. A call that jumped to another one has two entries for one place.
__noinline __u64 putAside(__u64 slot, __u64 word) {
  struct task_struct* task = (struct task_struct*)bpf_get_current_task();
  struct return_instance* aside = BPF_CORE_READ(task, utask, return_instances);
  for (int i = 0; i < 16 && aside; ++i) {
    if (BPF_CORE_READ(aside, stack) == slot) {
      __u64 before = BPF_CORE_READ(aside, orig_ret_vaddr);
      if (before & 4095) return before;
    }
    aside = BPF_CORE_READ(aside, next);
  }
  return word;
}
static __always_inline __u64 returnAddress(__u64 slot, __u64 word) {
  return word & 4095 ? word : putAside(slot, word);
}

// Where a walk begins.
struct walk_start {
  __u64 ip, sp, bp;
  __u64 at_entry;  // of the function: its return address is at sp
};
static __always_inline struct walk_start walkStart(struct pt_regs* ctx, bool at_entry) {
  return (struct walk_start){PT_REGS_IP(ctx), PT_REGS_SP(ctx), PT_REGS_FP(ctx), at_entry};
}

struct walk {
  __u64 place, sp, bp, hash;
  __u32 frames, end;
  struct stack_record* into;  // 0: only the hash is needed
  __u32 code;
  bool at_entry;
};

// Offsets in struct rt_sigframe, which rsp points to in the kernel's signal trampoline:
// ucontext.uc_mcontext.
#define SIGNAL_BP 120
#define SIGNAL_SP 160
#define SIGNAL_IP 168

// The return address and rbp of the frame that ends at `cfa`. Most functions save rbp with the
// other registers, just below: one read gets both.
#define NEAR_WORDS 4  // all programs together, one inside another, have 512 bytes of stack
static __always_inline bool readFrame(struct walk* walk, const struct unwind_rule* rule,
                                      __u64 cfa) {
  __u64 word[NEAR_WORDS];
  __s64 back = (__s64)rule->bp_offset + 8 * NEAR_WORDS;
  bool in_frame = rule->bp == UNWIND_BP_AT_CFA || rule->bp == UNWIND_BP_GUESSED;
  if (in_frame && back >= 0 && back < 8 * NEAR_WORDS && !(back & 7) &&
      !bpf_probe_read_user(word, sizeof(word), (const void*)(cfa - sizeof(word)))) {
    walk->bp = word[(back >> 3) & (NEAR_WORDS - 1)];
    walk->place = returnAddress(cfa - 8, word[NEAR_WORDS - 1]);
  } else {
    if (bpf_probe_read_user(word, 8, (const void*)(cfa - 8))) return false;
    if (rule->bp != UNWIND_BP_SAME) {
      __u64 at = (rule->bp == UNWIND_BP_AT_BP ? walk->bp : cfa) + (__s64)rule->bp_offset;
      if (bpf_probe_read_user(&walk->bp, 8, (const void*)at)) return false;
    }
    walk->place = returnAddress(cfa - 8, word[0]);
  }
  walk->sp = cfa;
  return walk->place;
}

// One frame up. False: walk->end is the reason.
static __always_inline bool stepUp(struct walk* walk, const struct unwind_rule* rule) {
  __u64 cfa = rule->cfa == UNWIND_SP || rule->cfa == UNWIND_AT_SP ? walk->sp : walk->bp;
  cfa += (__s64)rule->cfa_offset;
  walk->end = rule->cfa == UNWIND_END ? STACK_WHOLE : STACK_CUT;
  if (rule->cfa <= UNWIND_CUT) return false;
  if (rule->cfa == UNWIND_SIGNAL) {
    __u64 ip = 0;
    if (bpf_probe_read_user(&ip, 8, (const void*)(walk->sp + SIGNAL_IP)) ||
        bpf_probe_read_user(&walk->bp, 8, (const void*)(walk->sp + SIGNAL_BP)) ||
        bpf_probe_read_user(&walk->sp, 8, (const void*)(walk->sp + SIGNAL_SP)))
      return false;
    walk->place = ip + 1;
    return true;
  }
  if (rule->cfa >= UNWIND_AT_SP) {
    if (bpf_probe_read_user(&cfa, 8, (const void*)cfa)) return false;
    cfa += (__s64)rule->cfa_more;
  }
  if (cfa <= walk->sp) return false;  // a stack grows down: this is not a frame
  return readFrame(walk, rule, cfa);
}

// At the entry of a function, the return address is at rsp, whatever is known about the function.
static __always_inline bool ruleOfFrame(__u32 i, struct walk* walk, struct unwind_rule* rule) {
  if (!i && walk->at_entry) {
    *rule = (struct unwind_rule){.cfa_offset = 8, .cfa = UNWIND_SP};
    return true;
  }
  __u64 wanted = walk->place ^ quickSalt(walk->code);
  __u32 slot = quickSlot(wanted);
  volatile struct quick_rule* quick = bpf_map_lookup_elem(&quick_rules, &slot);
  if (quick && quick->key == wanted) {
    __u64 packed = quick->rule;
    if (quick->key == wanted) {
      unpackRule(packed, rule);
      return true;
    }
  }
  struct unwind_key key = {walk->place, walk->code, 0};
  struct unwind_rule* found = bpf_map_lookup_elem(&rules, &key);
  if (!found) {
    walk->end = STACK_UNKNOWN;
    return false;
  }
  *rule = *found;
  return true;
}

// One frame: 0 to continue, 1 at the last.
static __always_inline int walkFrameInto(__u32 i, struct walk* walk, __u32 room) {
  struct unwind_rule rule;
  struct stack_record* into = walk->into;
  if (into && i < room) into->frame[i] = walk->place;
  walk->frames = i + 1;
  walk->hash = mixed(walk->hash, walk->place);
  if (!ruleOfFrame(i, walk, &rule) || !stepUp(walk, &rule)) return 1;
  walk->end = STACK_DEEP;
  return 0;
}
static int walkFrame(__u32 i, struct walk* walk) { return walkFrameInto(i, walk, STACK_FRAMES); }
static int walkFew(__u32 i, struct walk* walk) { return walkFrameInto(i, walk, STACK_FRAMES_FEW); }

static __always_inline void startWalk(struct walk* walk, const struct walk_start* start,
                                      struct unwind_space space, struct stack_record* into) {
  walk->place = start->ip + 1;
  walk->sp = start->sp;
  walk->bp = start->bp;
  walk->hash = space.process;
  walk->code = space.code;
  walk->at_entry = start->at_entry;
  walk->into = into;
}

// From the current instruction to the outermost frame, or to the first place without a rule.
static __always_inline void walkStack(struct walk* walk, const struct walk_start* start,
                                      struct unwind_space space, struct stack_record* into) {
  startWalk(walk, start, space, into);
  bpf_loop(STACK_FRAMES, walkFrame, walk, 0);
}
static __always_inline void walkAFew(struct walk* walk, const struct walk_start* start,
                                     struct unwind_space space, struct stack_record* into) {
  startWalk(walk, start, space, into);
  bpf_loop(STACK_FRAMES_FEW, walkFew, walk, 0);
}

// The size of the stack above sp. The first thread's begins where the kernel says; in all C
// libraries, another thread's has its own data (%fs) at the upper end.
static __always_inline __u64 stackBytes(__u64 sp) {
  struct task_struct* task = (struct task_struct*)bpf_get_current_task();
  __u64 end = BPF_CORE_READ(task, mm, start_stack), own = BPF_CORE_READ(task, thread.fsbase);
  if (own > sp && (own < end || end < sp)) end = own;
  return end > sp ? end - sp : STACK_COPY_LARGE;
}

// Page by page: large variables that the program has not written may have no pages yet.
static __always_inline void copyStack(struct stack_record* record, __u32 most, __u64 sp) {
  __u8* copy = (__u8*)(record + 1);
  __u32 bytes = 0;
  for (int i = 0; i < STACK_COPY_LARGE / 4096; ++i) {
    __u32 part = 4096 - ((sp + bytes) & 4095);
    if (bytes > most - 4096 || part > 4096) break;
    if (!bpf_probe_read_user(copy + bytes, part, (const void*)(sp + bytes)))
      record->copied_pages |= 1U << i;
    bytes += part;
  }
  record->copied_bytes = bytes;
}

static __always_inline void describe(struct stack_record* record, const struct walk* walk,
                                     struct unwind_space space, __u32 id, __u32 python) {
  record->hash = walk->end == STACK_UNKNOWN ? 0 : walk->hash;
  record->sp = walk->sp;
  record->bp = walk->bp;
  record->id = id;
  record->tgid = tgidNow();
  record->code = space.code;
  record->frames = walk->frames;
  record->end = walk->end;
  record->room = STACK_FRAMES;
  record->copied_bytes = 0;
  record->copied_pages = 0;
  record->python = python;
}

// One record of a stack, with room for `most` bytes of copy. Number 0: the stack itself is not
// needed, only the rules are.
static __always_inline __s32 sendStack(const struct walk_start* start, __u32 id, __u32 python,
                                       __u32 most) {
  if (!start) return -1;  // for the verifier
  struct unwind_space space = spaceOf(tgidNow());
  struct walk walk = {};
  struct stack_record* record = bpf_ringbuf_reserve(&stack_ring, sizeof(*record) + most, 0);
  if (!record) return -1;
  walkStack(&walk, start, space, record);
  describe(record, &walk, space, id, python);
  if (most && walk.end == STACK_UNKNOWN) copyStack(record, most, walk.sp);
  bool is_new = walk.end == STACK_UNKNOWN;
  bpf_ringbuf_submit(record, is_new ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
  return id;
}
// These, takeStackFrom(), putAside() and comesFrom() are not static: so the verifier checks each
// once per program. For each path to it, that took most of a second for the programs together.
__noinline __s32 sendWhole(const struct walk_start* start, __u32 id, __u32 python) {
  return sendStack(start, id, python, 0);
}
__noinline __s32 sendTiny(const struct walk_start* start, __u32 id, __u32 python) {
  return sendStack(start, id, python, STACK_COPY_TINY);
}
__noinline __s32 sendSmall(const struct walk_start* start, __u32 id, __u32 python) {
  return sendStack(start, id, python, STACK_COPY_SMALL);
}
__noinline __s32 sendLarge(const struct walk_start* start, __u32 id, __u32 python) {
  return sendStack(start, id, python, STACK_COPY_LARGE);
}

// A stack of a few frames up to `end`. SEND_MORE: it has more.
#define SEND_MORE (-2)
__noinline __s32 sendLeast(const struct walk_start* start, __u32 id, __u32 python, __u64 end) {
  if (!start) return -1;
  const __u32 head = offsetof(struct stack_record, frame) + 8 * STACK_FRAMES_FEW;
  struct unwind_space space = spaceOf(tgidNow());
  struct walk walk = {};
  struct stack_record* record = bpf_ringbuf_reserve(&stack_ring, head + STACK_COPY_LEAST, 0);
  if (!record) return -1;
  walkAFew(&walk, start, space, record);
  __u64 bytes = end - walk.sp;
  if (walk.end != STACK_UNKNOWN || bytes == 0 || bytes > STACK_COPY_LEAST ||
      bpf_probe_read_user((__u8*)record + head, bytes, (const void*)walk.sp)) {
    bpf_ringbuf_discard(record, BPF_RB_NO_WAKEUP);
    return SEND_MORE;
  }
  describe(record, &walk, space, id, python);
  record->room = STACK_FRAMES_FEW;
  record->copied_bytes = bytes;
  record->copied_pages = 3;  // it may extend into the next one
  bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
  return id;
}

// If many threads reach a new place at once, their copies must not fill the ring: then only the
// frames so far are sent, which gives a cut stack, not a lost one.
static __always_inline bool hasRoomForCopies(void) {
  return bpf_ringbuf_query(&stack_ring, BPF_RB_AVAIL_DATA) < STACK_RING_BYTES / 8 * 7;
}

// The stack from where `walk` found no rule up to `end`. Until there is a rule, every thread at
// this place sends its own copy. Pages are copied whole, except the first.
static __always_inline __s32 sendWithCopy(const struct walk_start* start, __u32 number,
                                          __u32 python, const struct walk* walk, __u64 end) {
  __u64 bytes = end - walk->sp;
  if (bytes <= STACK_COPY_LEAST && walk->frames <= STACK_FRAMES_FEW) {
    __s32 id = sendLeast(start, number, python, end);
    if (id != SEND_MORE) return id;
  }
  if (bytes <= STACK_COPY_TINY - 4096) return sendTiny(start, number, python);
  if (bytes <= STACK_COPY_SMALL - 4096) return sendSmall(start, number, python);
  return sendLarge(start, number, python);
}

// The number of this thread's stack; −1 if it could not be sent.
__noinline __s32 takeStackFrom(const struct walk_start* start) {
  if (!start || !settings.take_stacks) return -1;
  struct walk walk = {};
  __s32 id = -1;
  struct unwind_space space = spaceOf(tgidNow());
  walkStack(&walk, start, space, 0);
  if (walk.end != STACK_UNKNOWN) {
    walk.hash = withPython(walk.hash, space.process);
    __u32* known = bpf_map_lookup_elem(&known_stacks, &walk.hash);
    if (known) return *known;
  }
  __u32 number = nextNumber(), python = sendPython(number, space.process);
  if (walk.end != STACK_UNKNOWN || !hasRoomForCopies())
    id = sendWhole(start, number, python);
  else
    id = sendWithCopy(start, number, python, &walk, walk.sp + stackBytes(walk.sp));
  if (id < 0)
    count(LOSS_STACK);
  else if (walk.end != STACK_UNKNOWN && python != PYTHON_LOST)
    bpf_map_update_elem(&known_stacks, &walk.hash, &id, BPF_ANY);
  return id;
}
static __always_inline __s32 takeStack(struct pt_regs* ctx, bool at_entry) {
  struct walk_start start = walkStart(ctx, at_entry);
  return takeStackFrom(&start);
}
