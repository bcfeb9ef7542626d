// The flush of the TLB: why a constantly touched page can look untouched.
//
//   clear_refs 1 clears the accessed bit in the page table. A processor with the translation in its
//   TLB does not read the table again, so the bit stays clear until that entry is evicted.
//
// Measured: of 1 MiB that a busy core sweeps, 0.05 MiB are seen after 0.1 s; with a flush 1.04. On
// kernels without soft-dirty bits, clear_refs 4 only flushes. With them, it would also
// write-protect every page, which costs the process a fault for each page that it writes. There,
// other address spaces take the processors for a moment (switch_ring.h).
//
// clear_refs 4 also takes the pages from the page tables of KVM's guests (MMU notifiers): a guest
// faults once for each page that it touches next, and that counts. Switches of processes call none.
#pragma once

#include <cstdint>
#include <string>

#include "wss/backends/backend.h"

namespace tidegauge::wss {

enum class Flush : uint8_t {
  kFree,      // clear_refs 4, without side effects
  kSwitches,  // the kernel has soft-dirty bits; SwitchRing
  kNone,      // … and its processors do not forget that way
};

// For this kernel: tested on a page of this process, not read from its configuration.
Flush flushOfThisKernel();

// ", flush of the TLB"; empty if it cannot.
std::string wordsOf(Flush flush);
// What is missed without a flush; empty if it can flush.
std::vector<std::string> limitsOfFlush(Flush flush);

// One turn of the program's SwitchRing, which is started on first use. Any thread may call it.
Clearing flushBySwitches(Clock& clock);

}  // namespace tidegauge::wss
