// Pythons: finds CPython among the mappings of a process, and gives the kernel's walk the places
// of its frames.
//
//   look(42): /usr/bin/python3.11 at 0x400000 ─► pythons[42] = {_PyRuntime, offsets …}
//             python_code_freed on the function that frees code objects, once per file
//
// If the interpreter runs already, its own data must agree with the offsets: the first thread
// belongs to the first interpreter, and its newest frame has a code object. If they do not, it is
// not walked, and the result says why. (The walk itself checks the number of each thread, and the
// type of each code object.) Cost: some µs per look; for a new file a pass over its symbols.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "record/kernel/programs.h"
#include "record/process/process_maps.h"
#include "record/python/python_program.h"

namespace tidegauge::record {

// The CPython of a process.
struct RunningPython {
  std::vector<AddressRange> loops;  // its evaluation loops, as addresses in the process
  std::string problem;              // why its frames are not walked; empty: they are
};

// The files that were examined.
class PythonFiles {
 public:
  struct Found {
    const PythonProgram* program = nullptr;
    Mapping mapping;
    uint64_t moved = 0;  // from its addresses in the file to those in the process

    std::vector<AddressRange> loops() const;
    std::string problem(const std::string& why) const;  // "Python 3.8: why"
  };
  // The CPython among the mappings of a process; absent: it runs none.
  std::optional<Found> look(uint32_t tgid);

 private:
  std::map<FileId, std::optional<PythonProgram>> files_;
};

class Pythons {
 public:
  explicit Pythons(const Programs& programs) : programs_(programs) {}
  ~Pythons();
  Pythons(const Pythons&) = delete;
  Pythons& operator=(const Pythons&) = delete;

  // Absent: it runs none.
  std::optional<RunningPython> look(uint32_t tgid);
  void detach();  // removes the probes

 private:
  std::string watchFreed(uint32_t tgid, const PythonFiles::Found& found);

  const Programs& programs_;
  PythonFiles files_;
  std::set<FileId> watched_;   // the freeing of their code objects
  std::set<uint32_t> agreed_;  // processes whose data agreed with their layout
  std::vector<int> links_;
};

// Whether the data of a running interpreter agree with its layout; the problem if not. Absent: it
// cannot be said yet.
std::optional<std::string> layoutProblem(uint32_t tgid, const python_layout& layout);

}  // namespace tidegauge::record
