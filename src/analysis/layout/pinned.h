// What keeps free memory from being returned to the driver, by block and by stack.
//
//   ordinary segment    [a 64 KiB | free 19.9 MiB        ]  returned whole: a pins 19.9 MiB
//   expandable segment  |b  free  |  free  |  free c     |  returned page by page: b and c pin the
//                         page 0    page 1    page 2        free parts of pages 0 and 2 only
//
// A *unit* is returned at once: an ordinary segment, or a page of an expandable one. Its free bytes
// are pinned by every live block in it. Pinned bytes of several stacks must not be added up: if two
// stacks share a unit, both pin it. So a stack has two numbers:
//   alone    pinned by blocks of this stack only: releasable without them
//   shared   pinned by this stack's blocks and by others: releasable only without all of them
// Over all stacks, Σ alone + what several share = pinned, each byte once.
//
// The ranking prefers stacks where little memory pins much. First come the *major* stacks, which
// pin a tenth or more of all, sorted by pinned bytes per live byte; then the others, by pinned
// bytes. (A 512-byte block alone in a page has the highest ratio and explains nothing.) Every
// answer uses this order.
//
//   12 blocks of 64 KiB pin 1.9 GiB      2,600 per live byte, major     1st
//   1 block of 1.5 GiB pins 2.0 GiB        1.3 per live byte, major     2nd
//   1 block of 512 B pins 20 MiB        40,000 per live byte            3rd
//
// Cost: O(parts) + sorting by stack.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/layout/segment_contents.h"

namespace tidegauge::analysis {

// A live block that keeps free memory of its segment from being returned.
struct Pin {
  uint32_t row = 0;          // of trace.allocations
  uint64_t block_bytes = 0;  // inside the segment
  uint64_t pins_bytes = 0;   // free bytes in its segment (expandable: in its pages)
};
// For one segment, by address; only blocks that pin something.
std::vector<Pin> pinsOf(const model::Trace& trace, const SegmentContents& contents);

struct StackPins {
  StackId stack;             // invalid: no stack recorded
  uint64_t alone_bytes = 0;  // see above
  uint64_t shared_bytes = 0;
  uint64_t blocks = 0;       // that pin something
  uint64_t block_bytes = 0;  // of these blocks, inside segments
  uint64_t older_bytes = 0;  // of these bytes, in blocks older than the recording
  uint64_t segments = 0;     // segments with these blocks
  uint32_t oldest_row = 0;   // of trace.allocations: the block that has lived longest
  uint32_t smallest_row = 0;
  uint64_t smallest_bytes = 0;
  uint64_t largest_bytes = 0;  // of one block
  uint64_t pinsBytes() const { return alone_bytes + shared_bytes; }
};

struct Pinned {
  uint64_t free_bytes = 0;
  uint64_t releasable_bytes = 0;     // whole free segments and pages of the default pool
  uint64_t held_in_pools_bytes = 0;  // … of private pools (free_sums.h)
  uint64_t pinned_bytes = 0;         // each byte once; free = releasable + held in pools + pinned
  uint64_t shared_bytes = 0;         // of these, pinned by blocks of several stacks
  // Of these, in pages that no live block touches: the pages in the file are not the allocator's.
  uint64_t by_nobody_bytes = 0;
  uint64_t segments = 0;            // with pinned bytes
  std::vector<StackPins> stacks{};  // pinned = Σ alone + shared + by nobody; ranked as above

  bool isMajor(const StackPins& pins) const { return pins.pinsBytes() >= pinned_bytes / 10; }
};
Pinned pinnedBy(const model::Trace& trace, const SegmentedLayout& layout);

}  // namespace tidegauge::analysis
