// tidegauge._engine.Table: rows of a table or of a query, for Arrow and for a look without it.
#pragma once

#include <memory>

#include "python/arrow/rows.h"
#include "python/binding/objects.h"

namespace tidegauge::python {

// False: an exception is set.
bool addTableType(PyObject* module);
// Null with an exception set, or a new Table.
PyObject* newTable(std::shared_ptr<const Rows> rows, bool is_truncated);

}  // namespace tidegauge::python
