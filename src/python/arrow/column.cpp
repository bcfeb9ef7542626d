#include "python/arrow/column.h"

#include <array>
#include <cstring>

namespace tidegauge::python {
namespace {

constexpr int64_t kNullable = 2;  // ARROW_FLAG_NULLABLE

// ---- schema -------------------------------------------------------------------------------------

struct SchemaParts {
  std::string name, metadata;
  std::vector<std::unique_ptr<ArrowSchema>> children;
  std::vector<ArrowSchema*> child_pointers;
  std::unique_ptr<ArrowSchema> dictionary;
};

void releaseSchema(ArrowSchema* schema) {
  std::unique_ptr<SchemaParts> parts(static_cast<SchemaParts*>(schema->private_data));
  for (auto& child : parts->children)
    if (child->release != nullptr) child->release(child.get());
  if (parts->dictionary && parts->dictionary->release != nullptr)
    parts->dictionary->release(parts->dictionary.get());
  schema->release = nullptr;
}

// Pairs of texts with their lengths, as the interface defines it.
std::string metadataOf(const Field& field) {
  std::string out;
  auto number = [&](size_t value) {
    auto narrow = static_cast<int32_t>(value);
    out.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
  };
  auto text = [&](std::string_view value) {
    number(value.size());
    out.append(value);
  };
  number(2);
  text("tidegauge.kind");
  text(field.kind);
  text("tidegauge.doc");
  text(field.doc);
  return out;
}

void fill(ArrowSchema* out, const char* format, std::unique_ptr<SchemaParts> parts) {
  for (auto& child : parts->children) parts->child_pointers.push_back(child.get());
  *out = {};
  out->format = format;
  out->name = parts->name.c_str();
  out->metadata = parts->metadata.empty() ? nullptr : parts->metadata.c_str();
  out->flags = kNullable;
  out->n_children = static_cast<int64_t>(parts->children.size());
  out->children = parts->child_pointers.data();
  out->dictionary = parts->dictionary.get();
  out->release = releaseSchema;
  out->private_data = parts.release();
}

const char* textFormat(bool is_large) { return is_large ? "U" : "u"; }

const char* formatOf(const Field& field, bool is_large) {
  switch (field.type) {
    case ArrowType::kInt64:
      return "l";
    case ArrowType::kUint32:
      return "I";
    case ArrowType::kDouble:
      return "g";
    case ArrowType::kText:
      return textFormat(is_large);
    case ArrowType::kDictionary:
      return "i";
  }
  return "n";
}

// ---- arrays -------------------------------------------------------------------------------------

struct ArrayParts {
  Column column;
  std::array<const void*, 3> buffers{};
  std::vector<std::unique_ptr<ArrowArray>> children;
  std::vector<ArrowArray*> child_pointers;
  std::unique_ptr<ArrowArray> dictionary;
};

void releaseArray(ArrowArray* array) {
  std::unique_ptr<ArrayParts> parts(static_cast<ArrayParts*>(array->private_data));
  for (auto& child : parts->children)  // a consumer may have moved one away
    if (child->release != nullptr) child->release(child.get());
  if (parts->dictionary && parts->dictionary->release != nullptr)
    parts->dictionary->release(parts->dictionary.get());
  array->release = nullptr;
}

void fill(ArrowArray* out, std::unique_ptr<ArrayParts> parts, int64_t buffers) {
  const Column& column = parts->column;
  for (auto& child : parts->children) parts->child_pointers.push_back(child.get());
  *out = {};
  out->length = static_cast<int64_t>(column.length);
  out->null_count = static_cast<int64_t>(column.nulls);
  parts->buffers = {column.valid.data, column.data.data, column.text.data};
  out->n_buffers = buffers;
  out->buffers = parts->buffers.data();
  out->n_children = static_cast<int64_t>(parts->children.size());
  out->children = parts->child_pointers.data();
  out->dictionary = parts->dictionary.get();
  out->release = releaseArray;
  out->private_data = parts.release();
}

void exportColumn(Column&& column, ArrowArray* out) {
  auto parts = std::make_unique<ArrayParts>();
  if (column.dictionary) {
    parts->dictionary = std::make_unique<ArrowArray>();
    exportColumn(Column(*column.dictionary), parts->dictionary.get());
  }
  parts->column = std::move(column);
  bool is_text = parts->column.text.owner != nullptr;
  fill(out, std::move(parts), is_text ? 3 : 2);
}

}  // namespace

Column TextBuilder::finish() && {
  Column column;
  column.length = count();
  column.is_large = bytes_.size() > narrow_bytes_;
  if (column.is_large) {
    column.data = ownedBuffer(std::move(ends_));
  } else {
    std::vector<int32_t> ends(ends_.size());
    for (size_t i = 0; i < ends_.size(); ++i) ends[i] = static_cast<int32_t>(ends_[i]);
    column.data = ownedBuffer(std::move(ends));
  }
  auto owner = std::make_shared<const std::string>(std::move(bytes_));
  column.text = {owner->data(), owner};
  return column;
}

void exportSchema(const std::vector<Field>& fields, const std::vector<bool>& is_large,
                  ArrowSchema* out) {
  auto parts = std::make_unique<SchemaParts>();
  for (size_t i = 0; i < fields.size(); ++i) {
    const Field& field = fields[i];
    bool large = i < is_large.size() && is_large[i];
    auto of_field = std::make_unique<SchemaParts>();
    of_field->name = field.name;
    of_field->metadata = metadataOf(field);
    if (field.type == ArrowType::kDictionary) {
      of_field->dictionary = std::make_unique<ArrowSchema>();
      fill(of_field->dictionary.get(), textFormat(large), std::make_unique<SchemaParts>());
    }
    parts->children.push_back(std::make_unique<ArrowSchema>());
    fill(parts->children.back().get(), formatOf(field, large), std::move(of_field));
  }
  fill(out, "+s", std::move(parts));
}

void exportColumns(std::vector<Column>&& columns, uint64_t rows, ArrowArray* out) {
  auto parts = std::make_unique<ArrayParts>();
  parts->column.length = rows;
  for (Column& column : columns) {
    parts->children.push_back(std::make_unique<ArrowArray>());
    exportColumn(std::move(column), parts->children.back().get());
  }
  fill(out, std::move(parts), 1);
}

}  // namespace tidegauge::python
