// PythonBook: the Python frames of stacks, from what the kernel's walk sends to file, function and
// line, and their places among the native frames.
//
//   native   cudaMalloc  PyCFunction_Call  _PyEval_EvalFrameDefault            main
//   Python                                 empty:7, forward:31 ▮ train:42 ▮
//   merged   cudaMalloc  PyCFunction_Call  empty:7 forward:31                  …
//
// One run of the evaluation loop evaluates the Python frames up to the next mark (PYTHON_ENTRY), so
// the n-th loop among the native frames is the n-th group. A process is named by its tgid; by the
// number of its program where the numbers of stacks and code objects are those of a process (the
// preloaded library): then `space` is that number, too, else 0. Not safe for several threads.
// Bounded: the code objects of a process are dropped with it. Cost: a look-up per frame of a new
// stack.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "bpf/python/python_records.h"
#include "record/python/python_program.h"
#include "record/python/seen_stack.h"

namespace tidegauge::record {

class PythonBook {
 public:
  // A record of the kernel's ring; anything else is ignored.
  void add(std::span<const uint8_t> record, uint32_t space = 0);
  // The evaluation loops of a process, as addresses in it.
  void setLoops(uint32_t tgid, std::vector<AddressRange> loops);
  void inherit(uint32_t tgid, uint32_t parent);
  void forget(uint32_t tgid);
  // Whether the frames of a stack have arrived.
  bool has(uint32_t stack) const { return stacks_.contains(stack); }
  // The stack with its Python frames; only once.
  SeenStack take(uint32_t id, std::vector<uint64_t> places, uint32_t space = 0);

 private:
  struct Code {
    uint32_t tgid = 0, minor = 0;
    int32_t first_line = 0;
    uint32_t first_traceable = 0;  // in units of two bytes
    std::string function, file;
    std::vector<uint8_t> lines;
  };
  struct Stack {
    uint32_t tgid = 0;
    std::vector<uint64_t> frames;
  };
  static uint64_t keyOf(uint32_t space, uint32_t number) { return uint64_t{space} << 32 | number; }
  void addCode(const python_code_record& record, std::span<const uint8_t> lines, uint32_t space);
  std::optional<PythonFrame> frameOf(uint64_t word, uint32_t space) const;
  bool isLoop(uint32_t tgid, uint64_t place) const;

  std::unordered_map<uint64_t, Code> codes_;  // by keyOf()
  std::unordered_map<uint64_t, Stack> stacks_;
  std::map<uint32_t, std::vector<AddressRange>> loops_;  // by tgid
};

// The characters of a Python text of 1, 2 or 4 bytes each as UTF-8.
std::string pythonText(std::span<const uint8_t> characters, uint32_t bytes_each);

}  // namespace tidegauge::record
