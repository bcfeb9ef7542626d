#include "python/binding/errors.h"

#include "python/binding/objects.h"

namespace tidegauge::python {
namespace {

const char* name(base::ErrorKind kind) {
  switch (kind) {
    case base::ErrorKind::kUsage:
      return "usage";
    case base::ErrorKind::kUnreadable:
      return "unreadable";
    case base::ErrorKind::kMissingFeature:
      return "missing_feature";
    case base::ErrorKind::kLimit:
      return "limit";
  }
  return "unreadable";
}

}  // namespace

void raise(const base::Error& error) {
  Ref module(PyImport_ImportModule("tidegauge.errors"));
  if (!module) return;
  Ref what(textObject(error.what)), hint(textObject(error.hint));
  Ref offset(error.byte_offset ? PyLong_FromUnsignedLongLong(*error.byte_offset) : nullptr);
  if (!what || !hint || (error.byte_offset && !offset)) return;
  Ref made(PyObject_CallMethod(module.get(), "of", "sOOO", name(error.kind), what.get(),
                               offset ? offset.get() : Py_None, hint.get()));
  if (made) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.get())), made.get());
}

}  // namespace tidegauge::python
