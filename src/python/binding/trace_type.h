// tidegauge._engine.Trace: one trace of an open file.
#pragma once

#include <memory>

#include "python/binding/objects.h"
#include "python/engine/open_file.h"

namespace tidegauge::python {

bool addTraceType(PyObject* module);
// Null with an exception set, or a new Trace.
PyObject* newTrace(std::shared_ptr<const OpenFile> file, size_t index);

struct TraceIn {
  std::shared_ptr<const OpenFile> file;
  const OpenTrace* trace = nullptr;
};
// Null with an exception set if it is no Trace, or closed.
TraceIn traceIn(PyObject* object);

}  // namespace tidegauge::python
