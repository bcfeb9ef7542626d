#include "python/arrow/table_rows.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <mutex>
#include <numeric>
#include <span>
#include <type_traits>

#include "model/trace.h"

namespace tidegauge::python {
namespace {

using query::kNull;

constexpr size_t kKeysAtOnce = 4096;

class ValidBits {
 public:
  explicit ValidBits(uint64_t rows) : rows_(rows) {}
  void clear(uint64_t row) {
    if (bits_.empty()) bits_.assign(rows_ / 8 + 1, 0xff);
    bits_[row / 8] = static_cast<uint8_t>(bits_[row / 8] & ~(1U << (row % 8)));
    ++nulls_;
  }
  void finish(Column& column) && {
    column.nulls = nulls_;
    if (nulls_ > 0) column.valid = ownedBuffer(std::move(bits_));
  }

 private:
  uint64_t rows_, nulls_ = 0;
  std::vector<uint8_t> bits_;
};

// Calls visit(first row of the part, its keys).
template <class Visit>
void forKeys(const query::Column& column, uint64_t begin, uint64_t length, const Visit& visit) {
  std::vector<query::Row> rows(std::min<uint64_t>(kKeysAtOnce, length));
  std::vector<int64_t> keys(rows.size());
  for (uint64_t done = 0; done < length; done += kKeysAtOnce) {
    size_t count = std::min<uint64_t>(kKeysAtOnce, length - done);
    std::iota(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(count), begin + done);
    column.fill(rows.data(), count, keys.data());
    visit(done, std::span<const int64_t>(keys.data(), count));
  }
}

// The vector that the model has, if each of its values is what SQL shows.
template <class T>
bool storedColumn(const query::Stored& stored, T null, uint64_t begin, Column& column) {
  const T* values = static_cast<const T*>(stored.data) + begin;
  ValidBits valid(column.length);
  constexpr bool may_be_too_large = std::is_same_v<T, uint64_t>;
  for (uint64_t i = 0; i < column.length; ++i) {
    if (stored.marks_null && values[i] == null) {
      valid.clear(i);
    } else if (may_be_too_large && values[i] > static_cast<T>(INT64_MAX)) {
      return false;  // SQL shows another number
    }
  }
  std::move(valid).finish(column);
  column.data.data = values;
  return true;
}

// T: uint32_t for a column whose vector has that width, if the file lacks it.
template <class T>
Column numbers(const query::Column& column, uint64_t begin, uint64_t length) {
  Column out;
  out.length = length;
  std::vector<T> values(length);
  ValidBits valid(length);
  forKeys(column, begin, length, [&](uint64_t at, std::span<const int64_t> keys) {
    for (size_t i = 0; i < keys.size(); ++i) {
      values[at + i] = static_cast<T>(keys[i]);
      if (keys[i] == kNull) valid.clear(at + i);
    }
  });
  std::move(valid).finish(out);
  out.data = ownedBuffer(std::move(values));
  return out;
}

class TableRows : public Rows {
 public:
  TableRows(const query::Table& table, std::shared_ptr<const void> owner, uint64_t narrow_bytes)
      : table_(table),
        owner_(std::move(owner)),
        narrow_bytes_(narrow_bytes),
        texts_(table.columns.size()) {
    for (const query::Column& column : table.columns) {
      Field field{column.name, ArrowType::kInt64, std::string(query::name(column.kind)),
                  column.doc};
      if (column.isText()) field.type = ArrowType::kDictionary;
      if (column.isReal()) field.type = ArrowType::kDouble;
      if (column.stored.width == query::Stored::Width::kUint32) field.type = ArrowType::kUint32;
      fields_.push_back(std::move(field));
    }
  }

  uint64_t count() const override { return table_.rows; }
  const std::vector<Field>& fields() const override { return fields_; }
  bool isHidden(size_t field) const override { return table_.columns[field].hidden; }

  Column column(size_t field, uint64_t begin, uint64_t length) const override {
    const query::Column& column = table_.columns[field];
    if (column.isText()) return codes(field, begin, length);
    Column out;
    out.length = length;
    if (isAsStored(column.stored, begin, out)) return out;
    if (column.stored.width == query::Stored::Width::kUint32)
      return numbers<uint32_t>(column, begin, length);
    return numbers<int64_t>(column, begin, length);
  }

 private:
  struct Texts {
    std::once_flag made;
    boost::unordered_flat_map<int64_t, int32_t> codes;
    std::shared_ptr<const Column> texts;
  };

  bool isAsStored(const query::Stored& stored, uint64_t begin, Column& out) const {
    if (stored.data == nullptr) return false;
    out.data.owner = owner_;
    switch (stored.width) {
      case query::Stored::Width::kUint32:
        return storedColumn<uint32_t>(stored, model::kNoStep, begin, out);
      case query::Stored::Width::kUint64:
        return storedColumn<uint64_t>(stored, model::kUnknownBytes, begin, out);
      case query::Stored::Width::kInt64:
        return storedColumn<int64_t>(stored, kNull, begin, out);
    }
    return false;
  }

  // Of the whole table, so that all batches have the same.
  const Texts& textsOf(size_t field) const {
    Texts& texts = texts_[field];
    std::call_once(texts.made, [&] {
      const query::Column& column = table_.columns[field];
      TextBuilder builder(narrow_bytes_);
      // Two keys may have the same text, and categories of pandas must differ.
      boost::unordered_flat_map<std::string, int32_t> known;
      std::string scratch;
      int64_t last = kNull;
      forKeys(column, 0, table_.rows, [&](uint64_t, std::span<const int64_t> keys) {
        for (int64_t key : keys) {
          if (key == kNull || key == last) continue;
          last = key;
          auto [place, is_new] = texts.codes.try_emplace(key, 0);
          if (!is_new) continue;
          std::string_view text = column.text(key, scratch);
          auto code = static_cast<int32_t>(builder.count());
          auto [same, is_new_text] = known.try_emplace(std::string(text), code);
          place->second = same->second;
          if (is_new_text) builder.add(text);
        }
      });
      texts.texts = std::make_shared<const Column>(std::move(builder).finish());
    });
    return texts;
  }

  Column codes(size_t field, uint64_t begin, uint64_t length) const {
    const Texts& texts = textsOf(field);
    Column out;
    out.length = length;
    std::vector<int32_t> codes(length);
    ValidBits valid(length);
    int64_t last = kNull;
    int32_t last_code = 0;
    forKeys(table_.columns[field], begin, length, [&](uint64_t at, std::span<const int64_t> keys) {
      for (size_t i = 0; i < keys.size(); ++i) {
        if (keys[i] == kNull) {
          valid.clear(at + i);
          continue;
        }
        if (keys[i] != last) {
          last = keys[i];
          last_code = texts.codes.find(last)->second;
        }
        codes[at + i] = last_code;
      }
    });
    std::move(valid).finish(out);
    out.data = ownedBuffer(std::move(codes));
    out.dictionary = texts.texts;
    return out;
  }

  const query::Table& table_;
  std::shared_ptr<const void> owner_;
  uint64_t narrow_bytes_;
  std::vector<Field> fields_;
  mutable std::vector<Texts> texts_;
};

}  // namespace

std::shared_ptr<const Rows> rowsOf(const query::Table& table, std::shared_ptr<const void> owner,
                                   uint64_t narrow_bytes) {
  return std::make_shared<TableRows>(table, std::move(owner), narrow_bytes);
}

}  // namespace tidegauge::python
