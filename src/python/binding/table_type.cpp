#include "python/binding/table_type.h"

#include <vector>

#include "python/binding/errors.h"
#include "python/binding/work.h"

namespace tidegauge::python {
namespace {

struct TableObject {
  PyObject_HEAD std::shared_ptr<const Rows>* rows;
  bool is_truncated;
};

PyObject* table_type = nullptr;

const std::shared_ptr<const Rows>& rowsIn(PyObject* self) {
  return *reinterpret_cast<TableObject*>(self)->rows;
}

void tableDealloc(PyObject* self) {
  delete reinterpret_cast<TableObject*>(self)->rows;
  freeObject(self);
}

// [(name, type, kind, doc, hidden), …]
PyObject* fieldsOf(PyObject* self, PyObject*) {
  constexpr const char* kTypes[] = {"int64", "uint32", "double", "text", "dictionary"};
  const Rows& rows = *rowsIn(self);
  Ref list(PyList_New(0));
  for (size_t i = 0; list && i < rows.fields().size(); ++i) {
    const Field& field = rows.fields()[i];
    Ref name(textObject(field.name)), doc(textObject(field.doc));
    if (!name || !doc) return nullptr;
    Ref one(Py_BuildValue("OssOO", name.get(), kTypes[static_cast<size_t>(field.type)],
                          field.kind.c_str(), doc.get(), rows.isHidden(i) ? Py_True : Py_False));
    if (!one || PyList_Append(list.get(), one.get()) != 0) return nullptr;
  }
  return list.release();
}

PyObject* countOf(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(rowsIn(self)->count());
}

PyObject* truncatedOf(PyObject* self, PyObject*) {
  return PyBool_FromLong(reinterpret_cast<TableObject*>(self)->is_truncated);
}

// A tuple of indexes of fields.
bool indexesOf(PyObject* tuple, const Rows& rows, std::vector<size_t>& indexes) {
  if (!PyTuple_Check(tuple)) {
    PyErr_SetString(PyExc_TypeError, "columns must be a tuple of indexes");
    return false;
  }
  for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); ++i) {
    size_t index = PyLong_AsSize_t(PyTuple_GetItem(tuple, i));
    if (PyErr_Occurred() != nullptr) return false;
    if (index >= rows.fields().size()) {
      PyErr_SetString(PyExc_IndexError, "there is no such column");
      return false;
    }
    indexes.push_back(index);
  }
  return true;
}

void freeStream(PyObject* capsule) {
  auto* stream =
      static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, "arrow_array_stream"));
  if (stream == nullptr) return;
  if (stream->release != nullptr) stream->release(stream);
  delete stream;
}

// stream(columns): a capsule "arrow_array_stream".
PyObject* streamOf(PyObject* self, PyObject* args) {
  PyObject* columns = nullptr;
  if (PyArg_ParseTuple(args, "O:stream", &columns) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<size_t> indexes;
    if (!indexesOf(columns, *rowsIn(self), indexes)) return nullptr;
    auto stream = std::make_unique<ArrowArrayStream>();
    exportStream(rowsIn(self), std::move(indexes), stream.get());
    PyObject* capsule = PyCapsule_New(stream.get(), "arrow_array_stream", freeStream);
    if (capsule == nullptr) {
      stream->release(stream.get());
      return nullptr;
    }
    stream.release();
    return capsule;
  });
}

std::string_view textAt(const Column& texts, int64_t index) {
  const char* bytes = static_cast<const char*>(texts.text.data);
  auto cut = [&](const auto* ends) {
    return std::string_view(bytes + ends[index],
                            static_cast<size_t>(ends[index + 1] - ends[index]));
  };
  return texts.is_large ? cut(static_cast<const int64_t*>(texts.data.data))
                        : cut(static_cast<const int32_t*>(texts.data.data));
}

// Values of one column as Python's objects. A text of a dictionary is made once.
class PythonValues {
 public:
  PythonValues(const Field& field, const Column& column)
      : type_(field.type),
        column_(column),
        texts_(column.dictionary ? column.dictionary->length : 0) {}

  // A new reference; null with an exception set.
  PyObject* at(uint64_t row) {
    const auto* valid = static_cast<const uint8_t*>(column_.valid.data);
    if (valid != nullptr && (valid[row / 8] >> (row % 8) & 1U) == 0) Py_RETURN_NONE;
    switch (type_) {
      case ArrowType::kInt64:
        return PyLong_FromLongLong(number<int64_t>(row));
      case ArrowType::kUint32:
        return PyLong_FromUnsignedLong(number<uint32_t>(row));
      case ArrowType::kDouble:
        return PyFloat_FromDouble(number<double>(row));
      case ArrowType::kText:
        return textObject(textAt(column_, static_cast<int64_t>(row)));
      case ArrowType::kDictionary:
        break;
    }
    auto code = number<int32_t>(row);
    Ref& text = texts_[static_cast<size_t>(code)];
    if (!text) text = Ref(textObject(textAt(*column_.dictionary, code)));
    Py_XINCREF(text.get());
    return text.get();
  }

 private:
  template <class T>
  T number(uint64_t row) const {
    return static_cast<const T*>(column_.data.data)[row];
  }

  ArrowType type_;
  const Column& column_;
  std::vector<Ref> texts_;
};

// Null with an exception set; Ctrl-C ends it.
PyObject* listOf(const Field& field, const Column& column, uint64_t begin, uint64_t count) {
  constexpr uint64_t kBetweenLooks = 1 << 16;
  Ref list(PyList_New(static_cast<Py_ssize_t>(count)));
  PythonValues values(field, column);
  for (uint64_t i = 0; list && i < count; ++i) {
    if (i % kBetweenLooks == 0 && PyErr_CheckSignals() != 0) return nullptr;
    PyObject* value = values.at(begin + i);
    if (value == nullptr) return nullptr;
    PyList_SetItem(list.get(), static_cast<Py_ssize_t>(i), value);
  }
  return list.release();
}

// values(column, begin, count): a list. `begin` is rounded down to a multiple of 8 inside.
PyObject* valuesOf(PyObject* self, PyObject* args) {
  Py_ssize_t index = 0;
  unsigned long long begin = 0, count = 0;
  if (PyArg_ParseTuple(args, "nKK:values", &index, &begin, &count) == 0) return nullptr;
  const std::shared_ptr<const Rows>& rows = rowsIn(self);
  if (index < 0 || static_cast<size_t>(index) >= rows->fields().size()) {
    PyErr_SetString(PyExc_IndexError, "there is no such column");
    return nullptr;
  }
  begin = std::min<unsigned long long>(begin, rows->count());
  count = std::min<unsigned long long>(count, rows->count() - begin);
  uint64_t aligned = begin - begin % 8;
  auto column = ownedResult(
      [rows, index, aligned, end = begin + count](std::stop_token) -> base::Result<Column> {
        return rows->column(static_cast<size_t>(index), aligned, end - aligned);
      });
  if (!column) return nullptr;
  return guarded([&] {
    return listOf(rows->fields()[static_cast<size_t>(index)], *column, begin - aligned, count);
  });
}

PyMethodDef table_methods[] = {
    {"fields", fieldsOf, METH_NOARGS, nullptr},       {"count", countOf, METH_NOARGS, nullptr},
    {"truncated", truncatedOf, METH_NOARGS, nullptr}, {"stream", streamOf, METH_VARARGS, nullptr},
    {"values", valuesOf, METH_VARARGS, nullptr},      {nullptr, nullptr, 0, nullptr},
};

PyType_Slot table_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(tableDealloc)},
    {Py_tp_methods, table_methods},
    {0, nullptr},
};

PyType_Spec table_spec = {"tidegauge._engine.Table", sizeof(TableObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, table_slots};

}  // namespace

bool addTableType(PyObject* module) {
  table_type = PyType_FromSpec(&table_spec);
  return table_type != nullptr && PyModule_AddObjectRef(module, "Table", table_type) == 0;
}

PyObject* newTable(std::shared_ptr<const Rows> rows, bool is_truncated) {
  auto* type = reinterpret_cast<PyTypeObject*>(table_type);
  PyObject* made = PyType_GenericAlloc(type, 0);
  if (made == nullptr) return nullptr;
  auto* table = reinterpret_cast<TableObject*>(made);
  table->rows = new std::shared_ptr<const Rows>(std::move(rows));
  table->is_truncated = is_truncated;
  return made;
}

}  // namespace tidegauge::python
