// Holds a program until the recorder has placed its probes, in a way that nothing reports.
//
//   loader ─ _dl_debug_state() ─► all files known, none watched? ── yes ──► continue
//                                   │ no
//                                   ▼
//            gates[ticket] = closed, SYSTEM_LIBRARIES ─► recorder: probes ─► gates[ticket] = open
//            turn around bpf_copy_from_user_task() ◄──────────────────────────┘
//
// The probe on the loader may sleep, so its thread can turn in a loop in which the kernel gives the
// processor to others. A stop by SIGSTOP would be reported to a parent that asks for it, as shells
// and su do. Costs processor time: some ms for each file that was never seen before; about one for
// a program with watched files, until its mappings were read; nothing for others.
// docs/decisions/0028
//
// Since Linux 6.13 a function with a frame of 64 bytes or more keeps it in memory of the processor,
// where another thread that waits would overwrite it. So no frame of a function from which a thread
// waits may have more than 48 bytes (tests/unit/record/kernel/frames_test.cpp).
#pragma once

#include "../common.bpf.h"
#include "hold_records.h"

TABLE(gates, HASH, __u32, __u32, 1024);
TABLE(known_files, LRU_HASH, __u64, __u32, 65536);
TABLE(hold_settings, ARRAY, __u32, struct hold_settings, 1);
TABLE(waiting, ARRAY, __u32, __u32, ROOMS);  // how many wait now

#define TURNS (1 << 23)  // at most, of one bpf_loop()
#define MOST_LOOPS 192
// After that number of turns, about 50 µs, a call takes the lock of the process's memory for a
// moment, in which the processor may go to others. Placing a probe waits for that lock.
#define TURNS_ALONE 1024
#define OWN_WAIT_NS 30000000000ULL
// For processes that the recorder did not start.
#define OTHERS_WAIT_NS 100000000ULL
#define MOST_LIBRARIES 4096
#define MOST_NAMESPACES 4  // of dlmopen()
#define CANNOT_LOOK -16    // EBUSY, of bpf_find_vma()

// ---- what is known of files --------------------------------------------------------------------
struct timespec64 {
  __s64 tv_sec;
  long tv_nsec;
} CORE;
struct inode___to_6_5 {
  struct timespec64 i_ctime;
} CORE;
struct inode___to_6_10 {
  struct timespec64 __i_ctime;
} CORE;

static __always_inline __u64 changedAt(struct inode* inode) {
  __u64 seconds = 0, nanoseconds = 0;
  if (bpf_core_field_exists(inode->i_ctime_sec)) {
    seconds = BPF_CORE_READ(inode, i_ctime_sec);
    nanoseconds = BPF_CORE_READ(inode, i_ctime_nsec);
  } else if (bpf_core_field_exists(((struct inode___to_6_10*)0)->__i_ctime)) {
    seconds = BPF_CORE_READ((struct inode___to_6_10*)inode, __i_ctime.tv_sec);
    nanoseconds = BPF_CORE_READ((struct inode___to_6_10*)inode, __i_ctime.tv_nsec);
  } else {
    seconds = BPF_CORE_READ((struct inode___to_6_5*)inode, i_ctime.tv_sec);
    nanoseconds = BPF_CORE_READ((struct inode___to_6_5*)inode, i_ctime.tv_nsec);
  }
  return seconds << 30 ^ (nanoseconds & 0x3fffffff);  // above: flags of the kernel's
}

// A file that was rewritten is another one.
static __noinline __u64 hashOfFile(struct file* file, __u32 epoch) {
  struct inode* inode = BPF_CORE_READ(file, f_inode);
  __u64 hash = holdMixed(epoch, BPF_CORE_READ(inode, i_ino));
  hash = holdMixed(hash, BPF_CORE_READ(inode, i_sb, s_dev));
  hash = holdMixed(hash, BPF_CORE_READ(inode, i_size));
  return holdMixed(hash, changedAt(inode));
}

static __always_inline __u32 holdEpoch(void) {
  __u32 only = 0;
  struct hold_settings* it = bpf_map_lookup_elem(&hold_settings, &only);
  return it ? it->epoch : 0;
}

struct hold_walk {
  __u64 link;    // of the loader's list of libraries
  __u32 epoch;   //
  __u8 unknown;  // of its files
  __u8 cuda;     // an unknown one has a name of CUDA's
  __u8 watched;
  __u8 loader;
  __u8 mark;  // enum known_file: what unknown files become
};

// "libcuda.so.1", "libcudart.so.12".
static __noinline bool isNamedCuda(struct file* file) {
  char head[8] = {};
  bpf_probe_read_kernel(head, 7, BPF_CORE_READ(file, f_path.dentry, d_name.name));
  return *(__u64*)head == 0x6164756362696cULL;  // "libcuda", as a number
}

static __noinline void seeFile(struct hold_walk* walk, struct file* file) {
  __u64 hash = hashOfFile(file, walk->epoch);
  __u32* known = bpf_map_lookup_elem(&known_files, &hash);
  if (!known) walk->unknown = 1;
  if (!known && isNamedCuda(file)) walk->cuda = 1;
  if (known && *known & FILE_WATCHED) walk->watched = 1;
  if (known && *known & FILE_LOADER) walk->loader = 1;
  bool is_due = walk->mark == FILE_LOADER ? !walk->loader : walk->mark && !known;
  if (!is_due) return;
  __u32 value = walk->mark | (known ? *known : 0);
  bpf_map_update_elem(&known_files, &hash, &value, BPF_ANY);
}
static long seeMapping(struct task_struct* task, struct vm_area_struct* mapping,
                       struct hold_walk* walk) {
  struct file* file = BPF_CORE_READ(mapping, vm_file);
  if (file) seeFile(walk, file);
  return 0;
}

// The kernel refuses to look while a probe is being placed: then a file may be new.
static __noinline void seeAddress(struct hold_walk* walk, __u64 address) {
  struct task_struct* task = bpf_get_current_task_btf();
  if (bpf_find_vma(task, address, seeMapping, walk, 0) == CANNOT_LOOK) walk->unknown = 1;
}

// struct link_map: address, name, its dynamic section, the next one.
static int seeLibrary(__u32 i, struct hold_walk* walk) {
  __u64 section = 0, next = 0;
  if (bpf_probe_read_user(&section, 8, (const void*)(walk->link + 16)) ||
      bpf_probe_read_user(&next, 8, (const void*)(walk->link + 24))) {
    walk->unknown = 1;
    return 1;
  }
  if (section) seeAddress(walk, section);
  walk->link = next;
  return !next;
}

static __always_inline void seeLibraries(struct hold_walk* walk, __u64 debug) {
  walk->epoch = holdEpoch();
  for (int i = 0; i < MOST_NAMESPACES && debug; ++i) {
    __u32 version = 0;
    if (bpf_probe_read_user(&version, 4, (const void*)debug) ||
        bpf_probe_read_user(&walk->link, 8, (const void*)(debug + 8))) {
      walk->unknown = 1;
      return;
    }
    if (walk->link) bpf_loop(MOST_LIBRARIES, seeLibrary, walk, 0);
    if (version < 2 || bpf_probe_read_user(&debug, 8, (const void*)(debug + 40))) return;
  }
}

enum files { FILES_UNKNOWN = 1, FILES_WATCHED = 2, FILES_CUDA = 4 };
// What is known of all libraries that the loader has listed. `debug`: its struct r_debug. `mark`:
// what those that are not known become.
static __noinline __u32 filesOf(__u64 debug, __u32 mark) {
  struct hold_walk walk = {.mark = mark};
  seeLibraries(&walk, debug);
  return (walk.unknown ? FILES_UNKNOWN : 0) | (walk.watched ? FILES_WATCHED : 0) |
         (walk.cuda ? FILES_CUDA : 0);
}

static __noinline void markLoader(__u64 place) {
  struct hold_walk walk = {.epoch = holdEpoch(), .mark = FILE_LOADER};
  seeAddress(&walk, place);
}

// ---- waiting -----------------------------------------------------------------------------------
__u32 tickets_taken = 0;

// Closes a gate and returns its ticket; 0: there is no room.
static __noinline __u32 takeRoom(__u32 room) {
  __u32 ticket = ticketOf(__sync_fetch_and_add(&tickets_taken, 2));
  __u32 only = 0, closed = GATE_CLOSED;
  struct hold_settings* it = bpf_map_lookup_elem(&hold_settings, &only);
  __u32* number = bpf_map_lookup_elem(&waiting, &room);
  if (!it || !number || !it->most) return 0;
  __u32 most = room == ROOM_FOR_PROBES ? it->most : HOLD_KNOWN;
  if (__sync_fetch_and_add(number, 1) < most &&
      !bpf_map_update_elem(&gates, &ticket, &closed, BPF_ANY))
    return ticket;
  __sync_fetch_and_add(number, -1);
  return 0;
}

static __noinline void leaveRoom(__u32 ticket, __u32 room) {
  __u32* number = bpf_map_lookup_elem(&waiting, &room);
  bpf_map_delete_elem(&gates, &ticket);
  if (number) __sync_fetch_and_add(number, -1);
}

struct gate_turn {
  __u64 until_ns;
  __u64 address;  // readable
  __u32 ticket;
  __u32 gate;  // enum gate; 0: gone
};

// 1: it need not wait any longer, or is being killed.
static int turnAtGate(__u32 i, struct gate_turn* turn) {
  __u64 word = 0;
  __u32 ticket = turn->ticket, only = 0;
  struct hold_settings* it = bpf_map_lookup_elem(&hold_settings, &only);
  if (!it || !it->most) return 1;
  __u32* gate = bpf_map_lookup_elem(&gates, &ticket);
  turn->gate = gate ? *(volatile __u32*)gate : 0;
  if (turn->gate != GATE_CLOSED) return 1;
  if (i % TURNS_ALONE) return 0;
  if (bpf_ktime_get_ns() > turn->until_ns) return 1;
  return bpf_copy_from_user_task(&word, sizeof(word), (const void*)turn->address,
                                 bpf_get_current_task_btf(), 0) != 0;
}

static int manyTurns(__u32 i, struct gate_turn* turn) {
  return bpf_loop(TURNS, turnAtGate, turn, 0) < TURNS;
}

// Returns how the gate was opened; GATE_CLOSED: it was not.
static __noinline __u32 waitAtGate(__u64 address, __u64 most_ns, __u32 room, __u32 ticket) {
  struct gate_turn turn = {bpf_ktime_get_ns() + most_ns, address, ticket, 0};
  bpf_loop(MOST_LOOPS, manyTurns, &turn, 0);
  leaveRoom(ticket, room);
  return turn.gate;
}

// Whether programs may be held: the recorder is there, and does not end.
static __noinline bool mayHold(void) {
  __u32 only = 0;
  struct hold_settings* it = bpf_map_lookup_elem(&hold_settings, &only);
  return it && it->most;
}

// The recorder is gone.
static __always_inline void openAllGates(void) {
  __u32 only = 0;
  struct hold_settings* it = bpf_map_lookup_elem(&hold_settings, &only);
  if (it) it->most = 0;
}
