// Where a stack names the functions of Python, the interpreter's own code between them says
// nothing, and may differ for one and the same line of Python: CPython replaces instructions while
// they run.
//
//   get             th.py                       get        th.py
//   _PyEval_Eval…   generated_cases.c.h:813  →  Cache.put  th.py      one stack, not two
//   Cache.put       th.py
//   _PyEval_Eval…   generated_cases.c.h:1839
//
// Stacks without such a name keep all frames. Cost: two passes over frames and stacks, if there is
// Python.
#pragma once

#include "readers/recording/tables/recorded_tables.h"

namespace tidegauge::readers::recording {

// Stacks that are then equal become one row, the first.
void foldInterpreter(RecordedTables& tables);

}  // namespace tidegauge::readers::recording
