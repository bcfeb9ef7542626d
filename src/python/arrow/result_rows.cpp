#include "python/arrow/result_rows.h"

#include <fmt/format.h>

#include <bit>

#include "base/utf8.h"

namespace tidegauge::python {
namespace {

enum class CellTag : uint8_t { kNull, kInteger, kReal, kText };

template <class T>
Buffer partOf(const Buffer& whole, uint64_t begin) {
  return {static_cast<const T*>(whole.data) + begin, whole.owner};
}

class ResultRows : public Rows {
 public:
  ResultRows(std::vector<Field>&& fields, std::vector<Column>&& columns, uint64_t rows)
      : fields_(std::move(fields)), columns_(std::move(columns)), rows_(rows) {}
  uint64_t count() const override { return rows_; }
  const std::vector<Field>& fields() const override { return fields_; }
  bool isHidden(size_t) const override { return false; }
  Column column(size_t field, uint64_t begin, uint64_t length) const override {
    Column out = columns_[field];
    out.length = length;
    if (out.valid.data != nullptr) {
      out.valid = partOf<uint8_t>(out.valid, begin / 8);
      const auto* bits = static_cast<const uint8_t*>(out.valid.data);
      out.nulls = 0;
      for (uint64_t i = 0; i < length; ++i) out.nulls += (bits[i / 8] >> (i % 8) & 1U) == 0;
    }
    bool is_narrow = fields_[field].type == ArrowType::kText && !out.is_large;
    out.data = is_narrow ? partOf<int32_t>(out.data, begin) : partOf<int64_t>(out.data, begin);
    return out;
  }

 private:
  std::vector<Field> fields_;
  std::vector<Column> columns_;
  uint64_t rows_;
};

}  // namespace

struct ResultCollector::Collected {
  Field field;
  query::ColumnKind declared{};
  std::vector<CellTag> tags;
  std::vector<int64_t> values;  // the number, the bits of a real, or where its text ends
  std::string texts;
  bool has[4] = {};

  void add(const query::CellView& cell) {
    CellTag tag = static_cast<CellTag>(cell.index());
    has[cell.index()] = true;
    tags.push_back(tag);
    if (const auto* number = std::get_if<int64_t>(&cell)) {
      values.push_back(*number);
    } else if (const auto* real = std::get_if<double>(&cell)) {
      values.push_back(std::bit_cast<int64_t>(*real));
    } else {
      // A blob is shown as text, and may be anything.
      if (const auto* text = std::get_if<std::string_view>(&cell))
        texts += base::isUtf8(*text) ? std::string(*text) : base::repairedUtf8(*text);
      values.push_back(static_cast<int64_t>(texts.size()));
    }
  }

  ArrowType type() const {
    auto hasAny = [&](CellTag tag) { return has[static_cast<size_t>(tag)]; };
    if (hasAny(CellTag::kText)) return ArrowType::kText;
    if (hasAny(CellTag::kReal)) return ArrowType::kDouble;
    if (hasAny(CellTag::kInteger)) return ArrowType::kInt64;
    if (declared == query::ColumnKind::kText) return ArrowType::kText;
    return declared == query::ColumnKind::kReal ? ArrowType::kDouble : ArrowType::kInt64;
  }

  Column asText(uint64_t narrow_bytes) const {
    TextBuilder builder(narrow_bytes);
    int64_t begin = 0;
    for (size_t i = 0; i < tags.size(); ++i) {
      switch (tags[i]) {
        case CellTag::kText:
          builder.add(std::string_view(texts).substr(static_cast<size_t>(begin),
                                                     static_cast<size_t>(values[i] - begin)));
          begin = values[i];
          break;
        case CellTag::kInteger:
          builder.add(fmt::format("{}", values[i]));
          break;
        case CellTag::kReal:
          builder.add(fmt::format("{}", std::bit_cast<double>(values[i])));
          break;
        case CellTag::kNull:
          builder.add({});
          break;
      }
    }
    return std::move(builder).finish();
  }

  Column finish(uint64_t narrow_bytes) {
    field.type = type();
    Column column;
    if (field.type == ArrowType::kText) {
      column = asText(narrow_bytes);
    } else {
      for (size_t i = 0; i < tags.size(); ++i) {
        if (tags[i] == CellTag::kNull) values[i] = 0;
        if (field.type == ArrowType::kDouble && tags[i] == CellTag::kInteger)
          values[i] = std::bit_cast<int64_t>(static_cast<double>(values[i]));
      }
      column.data = ownedBuffer(std::move(values));
    }
    column.length = tags.size();
    if (!has[static_cast<size_t>(CellTag::kNull)]) return column;
    std::vector<uint8_t> bits(tags.size() / 8 + 1);
    for (size_t i = 0; i < tags.size(); ++i) {
      if (tags[i] == CellTag::kNull)
        ++column.nulls;
      else
        bits[i / 8] = static_cast<uint8_t>(bits[i / 8] | 1U << (i % 8));
    }
    column.valid = ownedBuffer(std::move(bits));
    return column;
  }
};

ResultCollector::ResultCollector(uint64_t narrow_bytes) : narrow_bytes_(narrow_bytes) {}
ResultCollector::~ResultCollector() = default;

void ResultCollector::onColumns(const std::vector<query::QueryColumn>& columns) {
  for (const query::QueryColumn& column : columns) {
    Collected& collected = columns_.emplace_back();
    collected.field = {column.name, ArrowType::kInt64, std::string(query::name(column.kind)), ""};
    collected.declared = column.kind;
  }
}

void ResultCollector::onRow(std::span<const query::CellView> cells) {
  for (size_t i = 0; i < columns_.size(); ++i) columns_[i].add(cells[i]);
  ++rows_;
}

std::shared_ptr<const Rows> ResultCollector::finish() && {
  std::vector<Field> fields;
  std::vector<Column> columns;
  for (Collected& collected : columns_) {
    columns.push_back(collected.finish(narrow_bytes_));
    fields.push_back(std::move(collected.field));
  }
  return std::make_shared<ResultRows>(std::move(fields), std::move(columns), rows_);
}

}  // namespace tidegauge::python
