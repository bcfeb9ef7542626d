// What the BPF programs and the recorder say to each other about programs that wait: hold.bpf.h
#pragma once

#include <linux/types.h>

// How many may wait at a time for probes: each takes a processor for the few milliseconds.
#define HOLD_LEAST 1
#define HOLD_MOST 8
// And how many until their mappings were read, for which nothing is placed in their memory.
#define HOLD_KNOWN 64
enum room { ROOM_FOR_PROBES, ROOM_FOR_MAPPINGS, ROOMS };

enum stopped {
  NOT_STOPPED,
  STOPPED_BY_SIGNAL,  // it waits for SIGCONT
  STOPPED_AT_GATE,    // its thread waits until its gate opens
  STOPPED_LATER,      // it runs, and its loader will wait: nothing was missed
  NOT_HELD,           // it runs on with a file of CUDA that was never examined: there was no room
};
// The state of a gate, by its ticket. A thread that waited too long may be at another gate when its
// first one is to open; so each wait has a ticket of its own.
enum gate {
  GATE_CLOSED = 1,
  GATE_OPEN,          // the files that it maps were examined: none has watched functions
  GATE_OPEN_WATCHED,  // some have
};
// What is known of a file, by its hash.
enum known_file {
  FILE_PLAIN = 1,    // it was examined: no function to watch
  FILE_WATCHED = 2,  // it may have watched functions
  FILE_LOADER = 4,   // a dynamic loader that has a probe
};
// `taken`: an even number that grows by 2 with each. Odd, so never 0.
static inline __u32 ticketOf(__u32 taken) { return taken + 1; }
// The hash of a file: of the epoch, its inode, the kernel's number of its device, its size and
// the time of its last change (seconds << 30 ^ nanoseconds).
static inline __u64 holdMixed(__u64 hash, __u64 word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}
// Set by the recorder.
struct hold_settings {
  __u32 most;   // that may wait at a time; 0: none, and who waits continues
  __u32 epoch;  // with another one, all files are unknown again
};
