// The key `tidegauge`: names of tensors (docs/formats/snapshot.md). What cannot be used becomes an
// issue, never an error: the rest of the snapshot is worth reading without names.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "base/sizes.h"
#include "model/tensors/tensors.h"
#include "readers/torch/assemble.h"

namespace tidegauge::readers::torch {
namespace {

constexpr int64_t kVersion = 1;
constexpr size_t kMaxTensors = size_t{1} << 22;
// A list may refer to one dict many times, in two bytes each. A real entry takes more than this.
constexpr uint64_t kLeastBytesPerTensor = 16;
constexpr int kMaxDimensions = 64;

struct TensorRow {
  std::optional<int32_t> device;
  std::optional<uint64_t> address;
  uint64_t size_bytes = model::kUnknownBytes;
  model::StringId name, of, state, shape, dtype;
  std::optional<model::TensorKind> kind;
  int64_t time_us = model::kNoTime;
};

class TensorReader {
 public:
  TensorReader(model::Tensors& tensors, Columns& columns)
      : tensors_(tensors),
        values_(columns.values()),
        odd_(columns.oddities()),
        most_(std::min<uint64_t>(kMaxTensors, values_.inputBytes() / kLeastBytesPerTensor)) {}

  void read(Value list) {
    values_.tree().forEachItem(list.index(), [&](Value item) {
      if (tensors_.size() >= most_) {
        odd_.other(model::IssueKind::kBadValue,
                   fmt::format("named tensors after the first {}: left out", most_));
      } else if (!isOtherDict(values_, item)) {
        odd_.badValue(Place::kNames, "tensors");
      } else {
        add(rowOf(item));
      }
    });
  }

 private:
  TensorRow rowOf(Value dict) {
    TensorRow row;
    values_.tree().forEachPair(dict.index(), [&](Value key, Value value) {
      if (!take(row, values_.textOf(key), value)) odd_.unknownKey(Place::kTensor, key);
    });
    return row;
  }

  // Later pairs override earlier ones. False if the key is unknown.
  bool take(TensorRow& row, std::string_view key, Value value) {
    if (key == "device") {
      auto ordinal = values_.signedOf(value);
      bool known = ordinal && *ordinal >= kHostOrdinal && *ordinal < kMaxDevices;
      if (known) row.device = static_cast<int32_t>(*ordinal);
    } else if (key == "address") {
      row.address = values_.addressOf(value);
    } else if (key == "bytes") {
      auto size_bytes = values_.unsignedOf(value);
      bool known = size_bytes && *size_bytes <= base::kMaxSizeBytes;
      row.size_bytes = known ? *size_bytes : model::kUnknownBytes;
      if (!known) odd_.badValue(Place::kTensor, "bytes");
    } else if (key == "name") {
      row.name = values_.intern(value);
    } else if (key == "kind") {
      row.kind = model::tensorKindOf(values_.textOf(value));
      if (!row.kind) odd_.badValue(Place::kTensor, "kind");
      if (!row.kind) row.kind = model::TensorKind::kOther;
    } else if (key == "of") {
      row.of = textOrNone(value, "of");
    } else if (key == "state") {
      row.state = textOrNone(value, "state");
    } else if (key == "shape") {
      row.shape = shapeOf(value);
    } else if (key == "dtype") {
      row.dtype = textOrNone(value, "dtype");
    } else if (key == "time_us") {
      auto time_us = values_.signedOf(value);
      bool known = time_us && Columns::isTime(*time_us);
      row.time_us = known ? *time_us : model::kNoTime;
      if (!known && value.tag() != Tag::kNone) odd_.badValue(Place::kTensor, "time_us");
    } else {
      return false;
    }
    return true;
  }

  model::StringId textOrNone(Value value, std::string_view key) {
    if (value.tag() == Tag::kNone) return {};
    if (!value.isString()) {
      odd_.badValue(Place::kTensor, key);
      return {};
    }
    return values_.textOf(value).empty() ? model::StringId() : values_.intern(value);
  }

  // "[4096, 1024]"
  model::StringId shapeOf(Value value) {
    if (value.tag() == Tag::kNone) return {};
    std::string text = "[";
    int dimensions = 0;
    bool usable = true;
    auto addDimension = [&](std::optional<uint64_t> size) {
      usable &= size.has_value() && ++dimensions <= kMaxDimensions;
      if (usable) text += fmt::format("{}{}", text.size() > 1 ? ", " : "", *size);
    };
    if (value.tag() == Tag::kPair) {
      addDimension(values_.pairOf(value).first);
      addDimension(values_.pairOf(value).second);
    } else if (value.isSequence()) {
      values_.tree().forEachItem(value.index(),
                                 [&](Value item) { addDimension(values_.unsignedOf(item)); });
    } else {
      usable = value.tag() == Tag::kEmptyList;
    }
    if (!usable) odd_.badValue(Place::kTensor, "shape");
    text += ']';
    if (!usable || !values_.takeText(text.size())) return {};
    return values_.strings().intern(text);
  }

  void add(const TensorRow& row) {
    bool named = row.name.valid() && !values_.strings().text(row.name).empty();
    if (!named || !row.device || !row.address) {
      std::string_view key = !named ? "name" : !row.device ? "device" : "address";
      odd_.other(model::IssueKind::kBadValue, fmt::format("'{}' of a named tensor: left out", key));
      return;
    }
    if (!row.kind) odd_.missingKey(Place::kTensor, "kind");
    tensors_.device.push_back(*row.device);
    tensors_.address.push_back(*row.address);
    tensors_.size_bytes.push_back(row.size_bytes);
    tensors_.name.push_back(row.name);
    tensors_.kind.push_back(row.kind.value_or(model::TensorKind::kOther));
    tensors_.of.push_back(row.of);
    tensors_.state.push_back(row.state);
    tensors_.shape.push_back(row.shape);
    tensors_.dtype.push_back(row.dtype);
    tensors_.time_us.push_back(row.time_us);
  }

  model::Tensors& tensors_;
  Values& values_;
  Oddities& odd_;
  uint64_t most_;
};

}  // namespace

void assembleTensors(model::Trace& trace, Columns& columns, Value dict) {
  if (dict.tag() == Tag::kNothing || dict.tag() == Tag::kNone) return;
  Values& values = columns.values();
  Oddities& odd = columns.oddities();
  if (!isOtherDict(values, dict)) {
    odd.badValue(Place::kTopLevel, "tidegauge");
    return;
  }
  Value version, list;
  values.tree().forEachPair(dict.index(), [&](Value key, Value value) {
    if (values.textOf(key) == "version") {
      version = value;
    } else if (values.textOf(key) == "tensors") {
      list = value;
    } else {
      odd.unknownKey(Place::kNames, key);
    }
  });
  // What another version means by its keys is not known.
  if (values.signedOf(version) != kVersion) {
    odd.other(
        model::IssueKind::kBadValue,
        fmt::format("'version' of tidegauge is not {}: names of tensors are left out", kVersion));
    return;
  }
  bool empty = list.tag() == Tag::kEmptyList || list.tag() == Tag::kNothing;
  if (empty) return;
  if (!list.isSequence()) {
    odd.badValue(Place::kNames, "tensors");
    return;
  }
  auto tensors = std::make_shared<model::Tensors>();
  TensorReader(*tensors, columns).read(list);
  if (tensors->size() > 0) trace.tensors = std::move(tensors);
}

}  // namespace tidegauge::readers::torch
