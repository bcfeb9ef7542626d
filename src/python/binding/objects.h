// CPython's objects in C++: references that free themselves, and the GIL.
//
//   Ref list(PyList_New(0));          released at the end of the scope
//   return list.release();            … or handed to Python
//
// Only the limited API of CPython 3.10 is used (Py_LIMITED_API, set by CMake).
#pragma once

#include <Python.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

namespace tidegauge::python {

class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object_(owned) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// Calls a function of CPython that waits for the GIL. If Python ends meanwhile, CPython before 3.14
// ends this thread inside of it, by unwinding, which may not pass through a destructor: the thread
// then waits for the end of the process.
template <class Take>
auto takingGil(const Take& take) {
  try {
    return take();
  } catch (...) {
    for (;;) pause();
  }
}

// Other threads of Python run while it lives.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;
  ~WithoutGil() {
    takingGil([this] { PyEval_RestoreThread(state_); });
  }

 private:
  PyThreadState* state_;
};

// In any thread.
class WithGil {
 public:
  WithGil() : state_(takingGil([] { return PyGILState_Ensure(); })) {}
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;
  ~WithGil() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

// The memory of an object of a type made by PyType_FromSpec, and its reference to that.
inline void freeObject(PyObject* self) {
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(self));
  reinterpret_cast<freefunc>(PyType_GetSlot(Py_TYPE(self), Py_tp_free))(self);
  Py_DECREF(type);
}

inline PyObject* textObject(std::string_view text) {
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

// Empty with an exception set if it is not a text.
inline std::string_view viewOf(PyObject* text) {
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text, &size);
  return bytes == nullptr ? std::string_view() : std::string_view(bytes, static_cast<size_t>(size));
}

}  // namespace tidegauge::python
