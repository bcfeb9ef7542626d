// The extension module tidegauge._engine. Its functions are used by the package tidegauge alone,
// which checks arguments and gives results their types (python/tidegauge/_engine.pyi).
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/version.h"
#include "python/binding/object_feed.h"
#include "python/binding/table_type.h"
#include "python/binding/trace_type.h"
#include "python/binding/work.h"
#include "python/engine/answers.h"

namespace tidegauge::python {
namespace {

// ([Trace, …], [warning, …])
PyObject* tracesOf(const std::shared_ptr<const OpenFile>& file) {
  Ref traces(PyList_New(0)), warnings(PyList_New(0));
  if (!traces || !warnings) return nullptr;
  for (size_t i = 0; i < file->traces.size(); ++i) {
    Ref trace(newTrace(file, i));
    if (!trace || PyList_Append(traces.get(), trace.get()) != 0) return nullptr;
  }
  for (const std::string& text : file->warnings) {
    Ref warning(textObject(text));
    if (!warning || PyList_Append(warnings.get(), warning.get()) != 0) return nullptr;
  }
  return Py_BuildValue("OO", traces.get(), warnings.get());
}

template <class Open>
PyObject* openedBy(const char* categories, const Open& open) {
  auto file = workResult([&](std::stop_token stop) {
    return open(OpenWish{categories, std::move(stop)});
  });
  return file ? tracesOf(*file) : nullptr;
}

// open_file(path, categories)
PyObject* openFileOf(PyObject*, PyObject* args) {
  PyObject* name = nullptr;  // as bytes: a name of a file need not be UTF-8
  const char* categories = nullptr;
  if (PyArg_ParseTuple(args, "O&s:open_file", PyUnicode_FSConverter, &name, &categories) == 0)
    return nullptr;
  Ref held(name);
  char* path = nullptr;
  if (PyBytes_AsStringAndSize(name, &path, nullptr) != 0) return nullptr;
  auto file = ownedResult(
      [path = std::string(path), categories = std::string(categories)](std::stop_token stop) {
        return openFile(path, {categories, std::move(stop)});
      });
  return file ? tracesOf(*file) : nullptr;
}

// open_bytes(bytes, name, categories)
PyObject* openBytesOf(PyObject*, PyObject* args) {
  PyObject* object = nullptr;
  const char *name = nullptr, *categories = nullptr;
  if (PyArg_ParseTuple(args, "Oss:open_bytes", &object, &name, &categories) == 0) return nullptr;
  char* bytes = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(object, &bytes, &size) != 0) return nullptr;
  std::span<const uint8_t> input(reinterpret_cast<const uint8_t*>(bytes),
                                 static_cast<size_t>(size));
  return openedBy(categories, [&](const OpenWish& wish) { return openBytes(input, name, wish); });
}

// open_objects(objects, name, categories)
PyObject* openObjectsOf(PyObject*, PyObject* args) {
  PyObject* root = nullptr;
  const char *name = nullptr, *categories = nullptr;
  if (PyArg_ParseTuple(args, "Oss:open_objects", &root, &name, &categories) == 0) return nullptr;
  uint64_t foreign = 0;
  auto feed = feedOf(root, foreign);
  return openedBy(categories, [&](const OpenWish& wish) -> FileResult {
    TG_ASSIGN_OR_RETURN(std::shared_ptr<OpenFile> file, openObjects(feed, name, wish));
    if (foreign > 0)
      file->warnings.push_back(fmt::format(
          "{} {} neither a dict, list, tuple, text nor number of Python. Figures lack what was in "
          "its place; convert numbers of numpy with int()",
          base::counted(foreign, "object"), foreign == 1 ? "is" : "are"));
    return file;
  });
}

// compare(traces, question, options as JSON)
PyObject* compareOf(PyObject*, PyObject* args) {
  PyObject* list = nullptr;
  const char *question = nullptr, *options = nullptr;
  if (PyArg_ParseTuple(args, "Oss:compare", &list, &question, &options) == 0) return nullptr;
  if (!PyTuple_Check(list)) {
    PyErr_SetString(PyExc_TypeError, "compare() takes a tuple of traces");
    return nullptr;
  }
  std::vector<TraceIn> kept;
  std::vector<const OpenTrace*> traces;
  for (Py_ssize_t i = 0; i < PyTuple_Size(list); ++i) {
    kept.push_back(traceIn(PyTuple_GetItem(list, i)));
    if (kept.back().trace == nullptr) return nullptr;
    traces.push_back(kept.back().trace);
  }
  auto work = [kept = std::move(kept), traces, question = std::string(question),
               options = std::string(options)](std::stop_token) -> base::Result<std::string> {
    try {
      return compare(traces, question, nlohmann::json::parse(options));
    } catch (const nlohmann::json::exception&) {
      return base::Error{base::ErrorKind::kUsage, "an argument has the wrong type", std::nullopt,
                         "help() of the function lists their types."};
    }
  };
  auto text = ownedResult(std::move(work));
  return text ? textObject(*text) : nullptr;
}

PyMethodDef functions[] = {
    {"open_file", openFileOf, METH_VARARGS, nullptr},
    {"open_bytes", openBytesOf, METH_VARARGS, nullptr},
    {"open_objects", openObjectsOf, METH_VARARGS, nullptr},
    {"compare", compareOf, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_engine", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

// What static objects were is gone soon, and a work that still runs needs them: then the process
// ends at once. All of Python has ended by now; what was printed is written.
void endIfWorksRun(int status, void*) {
  if (works_running == 0) return;
  fflush(nullptr);
  _exit(status);
}

// Python calls it at its very end, so what it registers is called before all that was before.
void atEndOfPython() { on_exit(endIfWorksRun, nullptr); }

}  // namespace
}  // namespace tidegauge::python

PyMODINIT_FUNC PyInit__engine() {
  using namespace tidegauge;
  python::Ref module(PyModule_Create(&python::definition));
  if (!module || !python::addTableType(module.get()) || !python::addTraceType(module.get()))
    return nullptr;
  Py_AtExit(python::atEndOfPython);
  python::watchForks();
  if (PyModule_AddStringConstant(module.get(), "version", base::version().data()) != 0)
    return nullptr;
  return module.release();
}
