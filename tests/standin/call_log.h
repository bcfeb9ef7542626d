// FAKE_GPU_CALLS=FILE: one line per call that moved memory, written by the library, independent of
// any recorder. A line is one write(), so it exists even if the program is killed right after.
//
//   pid tid cuMemAlloc_v2 code=0 address=0x700000000000 bytes=4096 handle=0x0
#pragma once

#include <cstdint>

namespace standin {

class Call {
 public:
  explicit Call(const char* function);
  int planned() const { return planned_; }  // a requested failure

  uint64_t address = 0, bytes = 0, handle = 0;
  int done(int code);  // writes the line, returns the code

 private:
  const char* function_;
  int planned_;
};

}  // namespace standin
