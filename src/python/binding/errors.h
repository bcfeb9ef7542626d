// Errors of the engine as exceptions of tidegauge.errors.
#pragma once

#include <Python.h>

#include <exception>
#include <new>

#include "base/result.h"

namespace tidegauge::python {

// Sets the exception. The GIL must be held.
void raise(const base::Error& error);

// Calls what makes an object. No exception of C++ may pass through CPython.
template <class Make>
PyObject* guarded(const Make& make) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
}

}  // namespace tidegauge::python
