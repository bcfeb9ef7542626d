// Strangers: programs below the command that use CUDA, or may, without the preloaded library.
//
//   record --preload -- env LD_PRELOAD=… python train.py
//     env     has the library
//     python  has libcuda.so.1 and not the library     → a stranger
//     sudo    its mappings cannot be read              → perhaps one
//
// Such a program sends nothing, so only a look at /proc finds it. One that ends within a second
// (two, if its mappings cannot be read) is missed, and one whose parent ended before it was seen.
// Cost: one look per second, some 15 µs per process of the machine, and the mappings of each
// descendant that has neither the library nor CUDA.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tidegauge::record {

struct Stranger {
  uint32_t pid = 0;
  uint32_t parent = 0;
  bool is_readable = false;  // it uses CUDA; if not, that is unknown
};

class Strangers {
 public:
  // Those that were not returned before. `root`: the command's process; 0: it has ended.
  std::vector<Stranger> look(uint32_t root);

 private:
  struct Descendant {
    uint64_t began = 0;       // ticks since the machine started: a pid may be used again
    uint64_t stack = 0;       // where its stack begins: another one after each exec
    bool is_settled = false;  // it has the library, or was reported
    bool was_unreadable = false;
  };
  std::map<uint32_t, Descendant> descendants_;
};

enum class UsesCuda { kNo, kWithLibrary, kWithout };
// From the text of /proc/PID/maps.
UsesCuda usesCuda(std::string_view maps);

}  // namespace tidegauge::record
