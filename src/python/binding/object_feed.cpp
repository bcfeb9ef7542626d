#include "python/binding/object_feed.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <vector>

#include "readers/torch/pickle/machine.h"

namespace tidegauge::python {
namespace {

using readers::torch::Machine;
using readers::torch::Tag;
using readers::torch::Value;
using readers::torch::Values;

constexpr Py_ssize_t kBatchItems = 1000;  // as Python's pickler

class Walk {
 public:
  Walk(Machine& machine, Values& values) : machine_(machine), values_(values) {}

  uint64_t foreignObjects() const { return foreign_; }

  bool run(PyObject* root, Value& top) {
    if (!begin(root)) return false;
    while (!open_.empty()) {
      if (!step()) return false;
    }
    top = machine_.top();
    return true;
  }

 private:
  struct Open {
    PyObject* object;  // held by `kept`
    enum class Kind : uint8_t { kDict, kList, kTuple } kind;
    Py_ssize_t at = 0;  // the next item; of a dict, PyDict_Next's own position
    Py_ssize_t in_batch = 0;
    uint64_t identity = 0;
    bool is_shared = false;
    Ref kept{};
  };

  // Another reference may lead to it, so it is sent by its number the second time.
  static bool isShared(PyObject* object) { return Py_REFCNT(object) > 1; }

  void push(Open::Kind kind, PyObject* object) {
    Open open{object, kind, 0, 0, next_identity_++, isShared(object), {}};
    // The collector may run code of others while an error is made, and that may drop objects.
    Py_INCREF(object);
    open.kept = Ref(object);
    if (kind == Open::Kind::kDict) machine_.pushEmptyDict(open.identity);
    if (kind == Open::Kind::kList) machine_.pushEmptyList(open.identity);
    if (kind != Open::Kind::kTuple && open.is_shared) remember(object, open.identity);
    machine_.mark();
    open_.push_back(std::move(open));
  }

  void remember(PyObject* object, uint64_t identity) {
    slots_.emplace(object, next_slot_);
    machine_.put(identity, next_slot_++);
  }

  // A value, or the beginning of a container.
  bool begin(PyObject* object) {
    if (object == Py_None) return plain(Value::of(Tag::kNone, 0));
    if (PyBool_Check(object)) return plain(Value::of(Tag::kBool, object == Py_True ? 1 : 0));
    if (PyLong_Check(object)) return plain(integer(object));
    if (PyUnicode_Check(object)) return plain(text(object));
    if (PyFloat_Check(object)) return plain(values_.floating(PyFloat_AsDouble(object)));
    bool is_dict = PyDict_Check(object), is_list = PyList_Check(object);
    if (!is_dict && !is_list && !PyTuple_Check(object)) return plain(foreign());
    if (auto known = slots_.find(object); known != slots_.end())
      return machine_.get(next_identity_, known->second);
    push(is_dict ? Open::Kind::kDict : is_list ? Open::Kind::kList : Open::Kind::kTuple, object);
    return true;
  }

  bool plain(Value value) {
    machine_.push(value);
    return true;
  }

  Value integer(PyObject* object) {
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow == 0) return values_.integer(number);
    if (overflow < 0) return values_.hugeInteger(true);
    unsigned long long large = PyLong_AsUnsignedLongLong(object);
    if (PyErr_Occurred() == nullptr) return values_.unsignedInteger(large);
    PyErr_Clear();
    return values_.hugeInteger(false);
  }

  Value text(PyObject* object) {
    if (auto known = texts_.find(object); known != texts_.end()) return known->second;
    Value value;
    Py_ssize_t size = 0;
    if (const char* bytes = PyUnicode_AsUTF8AndSize(object, &size)) {
      value = values_.text({bytes, static_cast<size_t>(size)});
    } else {  // half of a surrogate pair
      PyErr_Clear();
      Ref encoded(PyUnicode_AsEncodedString(object, "utf-8", "replace"));
      PyErr_Clear();
      char* repaired = nullptr;
      if (encoded && PyBytes_AsStringAndSize(encoded.get(), &repaired, &size) == 0)
        value = values_.text({repaired, static_cast<size_t>(size)});
      else
        value = values_.text({});
    }
    if (isShared(object)) texts_.emplace(object, value);
    return value;
  }

  // Even its type's name may be made by code of others.
  Value foreign() {
    ++foreign_;
    return values_.text("<object>");
  }

  // The next item of the innermost container, or its end.
  bool step() {
    Open& open = open_.back();
    if (open.kind == Open::Kind::kDict) {
      PyObject *key = nullptr, *value = nullptr;
      if (!PyDict_Next(open.object, &open.at, &key, &value)) return end();
      bool is_plain_key = PyUnicode_Check(key) || PyLong_Check(key);
      machine_.push(!is_plain_key ? foreign() : PyUnicode_Check(key) ? text(key) : integer(key));
      return begin(value);
    }
    bool is_list = open.kind == Open::Kind::kList;
    Py_ssize_t size = is_list ? PyList_Size(open.object) : PyTuple_Size(open.object);
    if (open.at >= size) return end();
    if (is_list && open.in_batch == kBatchItems) {
      if (!machine_.appends(open.identity)) return false;
      machine_.mark();
      open.in_batch = 0;
    }
    PyObject* item =
        is_list ? PyList_GetItem(open.object, open.at) : PyTuple_GetItem(open.object, open.at);
    ++open.at;
    ++open.in_batch;
    return begin(item);
  }

  bool end() {
    Open open = std::move(open_.back());
    open_.pop_back();
    switch (open.kind) {
      case Open::Kind::kDict:
        return machine_.setItems(open.identity);
      case Open::Kind::kList:
        return machine_.appends(open.identity);
      case Open::Kind::kTuple:
        if (!machine_.tupleFromMark(open.identity)) return false;
        if (open.is_shared) remember(open.object, open.identity);
        return true;
    }
    return false;
  }

  Machine& machine_;
  Values& values_;
  std::vector<Open> open_;
  boost::unordered_flat_map<PyObject*, uint64_t> slots_;
  boost::unordered_flat_map<PyObject*, Value> texts_;
  uint64_t foreign_ = 0;
  uint64_t next_slot_ = 0;
  uint64_t next_identity_ = 1;
};

}  // namespace

readers::torch::FeedObjects feedOf(PyObject* root, uint64_t& foreign) {
  return [root, &foreign](Machine& machine, Values& values, Value& top) {
    WithGil gil;
    Walk walk(machine, values);
    bool is_read = walk.run(root, top);
    foreign = walk.foreignObjects();
    return is_read;
  };
}

}  // namespace tidegauge::python
