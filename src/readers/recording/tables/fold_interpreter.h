// In stacks with Python functions, the interpreter's frames between them carry no information, and
// may differ for the same line of Python: CPython replaces instructions while they run.
//
//   get             th.py                       get        th.py
//   _PyEval_Eval…   generated_cases.c.h:813  →  Cache.put  th.py      one stack, not two
//   Cache.put       th.py
//   _PyEval_Eval…   generated_cases.c.h:1839
//
// Stacks without Python functions keep all frames. Cost: a pass over the frames, and one over the
// new stacks, if there is Python.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "readers/recording/tables/recorded_tables.h"

namespace tidegauge::readers::recording {

class InterpreterFold {
 public:
  // False: what an earlier frame is has changed, since its file has become known. Then the stacks
  // that were folded before must be read again.
  bool takeFrames(const RecordedTables& tables);
  // Folds the stacks from row `first` on; `fresh` has their ids, each with its row. Stacks that
  // become equal are merged into the first.
  void fold(RecordedTables& tables, size_t first, std::vector<std::pair<int64_t, uint32_t>>& fresh);

 private:
  enum class Code : uint8_t { kOther, kPython, kInterpreter };
  static Code codeOf(const RecordedTables& tables, const RecordedFrame& frame);

  std::vector<Code> code_;  // by row of frames
  bool has_python_ = false;
  std::unordered_map<std::u32string, uint32_t> known_;  // folded stacks with Python functions
};

// All stacks at once.
void foldInterpreter(RecordedTables& tables);

}  // namespace tidegauge::readers::recording
