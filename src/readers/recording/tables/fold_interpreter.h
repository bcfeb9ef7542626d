// In stacks with Python functions, the interpreter's frames between them carry no information, and
// may differ for the same line of Python: CPython replaces instructions while they run.
//
//   get             th.py                       get        th.py
//   _PyEval_Eval…   generated_cases.c.h:813  →  Cache.put  th.py      one stack, not two
//   Cache.put       th.py
//   _PyEval_Eval…   generated_cases.c.h:1839
//
// Stacks without Python functions keep all frames. Cost: two passes over frames and stacks, if
// there is Python.
#pragma once

#include "readers/recording/tables/recorded_tables.h"

namespace tidegauge::readers::recording {

// Stacks that become equal are merged into the first.
void foldInterpreter(RecordedTables& tables);

}  // namespace tidegauge::readers::recording
