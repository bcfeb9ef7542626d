// FAKE_GPU_CALLS=FILE: one line per call that moved memory, written by the library, independent of
// any recorder. A line is one write(), so it exists even if the program is killed right after.
//
//   pid tid cuMemAlloc_v2 code=0 address=0x700000000000 bytes=4096 handle=0x0
// FAKE_GPU_WANDER_US=N: each of these calls waits up to N µs before and after what it does, so that
// calls of several threads take effect in another order than they begin or end.
#pragma once

#include <cstdint>

namespace standin {

class Call {
 public:
  explicit Call(const char* function);
  ~Call();
  int planned() const { return planned_; }  // a requested failure

  uint64_t address = 0, bytes = 0, handle = 0;
  int done(int code);  // writes the line, returns the code

 private:
  const char* function_;
  int planned_;
};

}  // namespace standin
