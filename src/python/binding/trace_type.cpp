#include "python/binding/trace_type.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/memory/memory.h"
#include "python/arrow/result_rows.h"
#include "python/arrow/table_rows.h"
#include "python/binding/table_type.h"
#include "python/binding/work.h"
#include "python/engine/answers.h"

namespace tidegauge::python {
namespace {

struct TraceObject {
  PyObject_HEAD std::shared_ptr<const OpenFile>* file;  // null: closed
  size_t index;
};

PyObject* trace_type = nullptr;

void close(PyObject* self) {
  auto* object = reinterpret_cast<TraceObject*>(self);
  std::shared_ptr<const OpenFile>* file = std::exchange(object->file, nullptr);
  if (file == nullptr) return;
  WithoutGil others;  // freeing a gigabyte takes a while
  delete file;
}

void traceDealloc(PyObject* self) {
  close(self);
  freeObject(self);
}

PyObject* closeTrace(PyObject* self, PyObject*) {
  close(self);
  Py_RETURN_NONE;
}

PyObject* isClosed(PyObject* self, PyObject*) {
  return PyBool_FromLong(reinterpret_cast<TraceObject*>(self)->file == nullptr);
}

// answer(question, options as JSON): text
PyObject* answerOf(PyObject* self, PyObject* args) {
  const char *question = nullptr, *options = nullptr;
  if (PyArg_ParseTuple(args, "ss:answer", &question, &options) == 0) return nullptr;
  TraceIn in = traceIn(self);
  if (in.trace == nullptr) return nullptr;
  auto work = [in, question = std::string(question),
               options = std::string(options)](std::stop_token stop) -> base::Result<std::string> {
    try {
      return answer(*in.trace, question, nlohmann::json::parse(options), std::move(stop));
    } catch (const nlohmann::json::exception&) {
      return base::Error{base::ErrorKind::kUsage, "an argument has the wrong type", std::nullopt,
                         "help() of the method lists their types."};
    }
  };
  auto text = ownedResult(std::move(work));
  return text ? textObject(*text) : nullptr;
}

// table(name): the columns as they are, without SQL
PyObject* tableOf(PyObject* self, PyObject* args) {
  const char* name = nullptr;
  if (PyArg_ParseTuple(args, "s:table", &name) == 0) return nullptr;
  TraceIn in = traceIn(self);
  if (in.trace == nullptr) return nullptr;
  for (const query::Table& table : in.trace->database->tables())
    if (table.name == name) return guarded([&] { return newTable(rowsOf(table, in.file), false); });
  raise({base::ErrorKind::kUsage, std::string("there is no table ") + name, std::nullopt,
         "Trace.tables lists them."});
  return nullptr;
}

// sql(text, limit, timeout in seconds): the rows
PyObject* sqlOf(PyObject* self, PyObject* args) {
  const char* sql = nullptr;
  unsigned long long limit = 0;
  double timeout_s = 0;
  if (PyArg_ParseTuple(args, "sKd:sql", &sql, &limit, &timeout_s) == 0) return nullptr;
  TraceIn in = traceIn(self);
  if (in.trace == nullptr) return nullptr;
  struct Answer {
    std::shared_ptr<const Rows> rows;
    bool is_truncated = false;
  };
  auto work = [in, sql = std::string(sql), limit,
               timeout_s](std::stop_token stop) -> base::Result<Answer> {
    query::QueryLimits limits;
    limits.rows = limit;
    // More would not fit beside what is there.
    limits.bytes = std::max(uint64_t{256} << 20, base::freeMemoryBytes() / 2);
    limits.milliseconds = static_cast<uint64_t>(timeout_s * 1000);
    limits.stop = std::move(stop);
    ResultCollector collector;
    TG_ASSIGN_OR_RETURN(query::QuerySummary summary,
                        in.trace->database->stream(sql, limits, collector));
    if (summary.truncated && summary.rows < limit)
      return base::Error{
          base::ErrorKind::kLimit,
          fmt::format("the rows take more than {} of memory", base::humanBytes(limits.bytes)),
          std::nullopt, "Select fewer rows or columns, or give a limit."};
    return Answer{std::move(collector).finish(), summary.truncated};
  };
  auto found = ownedResult(std::move(work));
  return found ? newTable(std::move(found->rows), found->is_truncated) : nullptr;
}

// share(): another object of the same trace, which closing this one does not close
PyObject* shareOf(PyObject* self, PyObject*) {
  TraceIn in = traceIn(self);
  if (in.trace == nullptr) return nullptr;
  return newTrace(in.file, reinterpret_cast<TraceObject*>(self)->index);
}

PyMethodDef trace_methods[] = {
    {"share", shareOf, METH_NOARGS, nullptr},
    {"answer", answerOf, METH_VARARGS, nullptr},
    {"table", tableOf, METH_VARARGS, nullptr},
    {"sql", sqlOf, METH_VARARGS, nullptr},
    {"close", closeTrace, METH_NOARGS, nullptr},
    {"closed", isClosed, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot trace_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(traceDealloc)},
    {Py_tp_methods, trace_methods},
    {0, nullptr},
};

PyType_Spec trace_spec = {"tidegauge._engine.Trace", sizeof(TraceObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, trace_slots};

}  // namespace

bool addTraceType(PyObject* module) {
  trace_type = PyType_FromSpec(&trace_spec);
  return trace_type != nullptr && PyModule_AddObjectRef(module, "Trace", trace_type) == 0;
}

PyObject* newTrace(std::shared_ptr<const OpenFile> file, size_t index) {
  PyObject* made = PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(trace_type), 0);
  if (made == nullptr) return nullptr;
  auto* trace = reinterpret_cast<TraceObject*>(made);
  trace->file = new std::shared_ptr<const OpenFile>(std::move(file));
  trace->index = index;
  return made;
}

TraceIn traceIn(PyObject* object) {
  if (PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(trace_type)) == 0) {
    PyErr_SetString(PyExc_TypeError, "not a trace");
    return {};
  }
  auto* trace = reinterpret_cast<TraceObject*>(object);
  if (trace->file == nullptr) {
    raise({base::ErrorKind::kUsage, "the trace is closed", std::nullopt, "Open the file again."});
    return {};
  }
  return {*trace->file, &(*trace->file)->traces[trace->index]};
}

}  // namespace tidegauge::python
