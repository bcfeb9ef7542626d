// SessionLateNames: names of kernels that were registered before their program was watched.
//
//   launch of 0x55a0, which has no name ─► the function that begins there: _Z4axpyifPf
//                                          else: `kernel names` of the program are incomplete
//
// The runtime's handle of a kernel is the function on the host by which it is launched. That has
// the kernel's own name, unless its file was stripped. A handle of the driver leads to no name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "record/session/session_processes.h"
#include "record/session/session_stacks.h"
#include "record/session/session_unwatched.h"
#include "record/source.h"

namespace tidegauge::record {

class SessionLateNames {
 public:
  SessionLateNames(SessionProcesses& processes, SessionStacks& stacks, SessionUnwatched& unwatched)
      : processes_(processes), stacks_(stacks), unwatched_(unwatched) {}

  // A launch by that function, of a kernel that may have a name.
  void want(uint32_t process, uint64_t kernel, uint16_t function, int64_t now_ns);
  // Takes over what was found since; names go to `sink`, as if the program had registered them.
  void take(RecorderSink& sink, int64_t now_ns);
  void forgetProcess(uint32_t process);

 private:
  using Key = std::pair<uint32_t, uint64_t>;  // process, handle
  void missed(uint32_t process, int64_t now_ns);

  SessionProcesses& processes_;
  SessionStacks& stacks_;
  SessionUnwatched& unwatched_;
  std::vector<Key> asked_;   // by number
  std::set<Key> seen_;       // asked once
  std::set<uint32_t> told_;  // processes whose names are incomplete
};

}  // namespace tidegauge::record
