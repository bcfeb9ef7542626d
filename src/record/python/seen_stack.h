// A stack as a recorder reports it: native frames, and Python's in place of the interpreter's loop.
//
//   places {cudaMalloc, loop, main}, python {1: empty:7, 1: train:42}
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace tidegauge::record {

// A frame of CPython.
struct PythonFrame {
  size_t at = 0;  // stands in place of this native frame, with its neighbours of the same number
  std::string function, file;
  uint32_t line = 0;  // 0: unknown
};
// Innermost first.
struct SeenStack {
  explicit SeenStack(std::vector<uint64_t> native) : places(std::move(native)) {}
  SeenStack(std::initializer_list<uint64_t> native) : places(native) {}
  std::vector<uint64_t> places;     // return addresses; of the current instruction its address + 1
  std::vector<PythonFrame> python;  // by `at`
};

}  // namespace tidegauge::record
