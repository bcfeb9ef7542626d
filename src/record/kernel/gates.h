// Gates: the recorder's half of holding programs (bpf/processes/hold.bpf.h). A thread that mapped a
// file which was never examined waits at its gate, in the kernel, until the probes are placed; one
// of which all files are known, until its mappings were read.
//
//   SYSTEM_LIBRARIES, ticket 7 ─► probes ─► open(7, …) ─► its thread continues, its files are known
//
// The kernel keeps what is known of files, by number, size and time of change. Each gate must be
// open before a probe is removed: a program that is held in a probe keeps it from going. If the
// recorder is killed, the kernel opens all gates itself. Cost: three system calls per program.
#pragma once

#include <cstdint>
#include <string>

#include "record/kernel/programs.h"

namespace tidegauge::record {

class Gates {
 public:
  explicit Gates(const Programs& programs);
  // `watched`: it maps files with functions that are watched.
  void open(uint32_t ticket, bool watched) const;
  bool isClosed(uint32_t ticket) const;  // its thread has waited until now
  // A program without a loader was examined.
  void know(const std::string& path, bool watched) const;
  // Probes were removed from files that are known: examine all again.
  void forgetFiles();
  // From now on nothing waits. Returns when the last one continues.
  void shut();

 private:
  void set() const;

  const Programs& programs_;
  uint32_t most_;
  uint32_t epoch_ = 1;
};

// Lets this thread run before all others while programs wait for it: they turn in a loop, and would
// share the processors with it.
class Hurry {
 public:
  Hurry();
  ~Hurry();
  Hurry(const Hurry&) = delete;
  Hurry& operator=(const Hurry&) = delete;
};

}  // namespace tidegauge::record
