// What a file shows of the CPython in it: its version, where it keeps its frames, and the code
// of its evaluation loop.
//
//   PythonProgram::of("/usr/bin/python3.11", file)  →  3.11, layout, _PyEval_EvalFrameDefault
//   … of a library that is no CPython               →  absent
//
// The offsets are in bpf/python/python_layouts.h; 3.13 names its own (_Py_DebugOffsets). `problem`
// says why there is no walk. Cost: one pass over the symbols of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bpf/python/python_records.h"
#include "record/code/elf_file.h"

namespace tidegauge::record {

struct AddressRange {
  uint64_t begin = 0, end = 0;
};

struct PythonProgram {
  static std::optional<PythonProgram> of(const std::string& path, const ElfFile& file);

  std::string version;                 // "3.11"; empty: unknown
  std::string problem;                 // empty: its frames can be walked
  python_layout layout{};              // runtime and code_type: as in the file
  std::vector<AddressRange> loops;     // parts of the evaluation loop, as in the file
  std::optional<uint64_t> code_freed;  // offset of the function that frees code objects
};

// The offsets of 3.9 to 3.12, and what 3.13 and newer do not name. Absent: another version.
std::optional<python_layout> pythonLayout(uint32_t minor);
// Fills in what _Py_DebugOffsets names. `bytes`: the begin of _PyRuntime. Returns the problem.
std::string readDebugOffsets(std::span<const uint8_t> bytes, python_layout& layout);

}  // namespace tidegauge::record
