// One column of rows as Arrow stores it, and its export.
//
//   Field {"action", dictionary of utf8}    Column {length 3, codes [0, 1, 0], texts ["alloc", …]}
//   Field {"address", int64}                Column {length 3, data: the trace's own vector}
//
// A column may point into the trace: its owner keeps that alive for as long as anybody uses it.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "python/arrow/c_data.h"

namespace tidegauge::python {

enum class ArrowType : uint8_t {
  kInt64,
  kUint32,
  kDouble,
  kText,        // UTF-8, 32-bit offsets; or 64-bit ones: Column::is_large
  kDictionary,  // 32-bit codes of texts
};

struct Field {
  std::string name;
  ArrowType type = ArrowType::kInt64;
  std::string kind;  // "bytes", "step", "time", …: metadata "tidegauge.kind"
  std::string doc;   // metadata "tidegauge.doc"
};

struct Buffer {
  const void* data = nullptr;
  std::shared_ptr<const void> owner{};
};

template <class T>
Buffer ownedBuffer(std::vector<T>&& values) {
  auto owner = std::make_shared<const std::vector<T>>(std::move(values));
  return {owner->data(), owner};
}

struct Column {
  uint64_t length = 0;
  uint64_t nulls = 0;
  Buffer valid{};  // one bit per row; no data: no row is NULL
  Buffer data{};   // numbers, codes or offsets
  Buffer text{};   // kText: the bytes
  bool is_large = false;
  std::shared_ptr<const Column> dictionary{};  // kDictionary: its texts
};

// The most bytes of texts that 32-bit offsets reach: utf8. Above, it is large_utf8.
inline constexpr uint64_t kNarrowTextBytes = std::numeric_limits<int32_t>::max();

// Texts, one after the other. `narrow_bytes`: tests make it small.
class TextBuilder {
 public:
  explicit TextBuilder(uint64_t narrow_bytes = kNarrowTextBytes) : narrow_bytes_(narrow_bytes) {}
  void add(std::string_view text) {
    bytes_.append(text);
    ends_.push_back(bytes_.size());
  }
  uint64_t count() const { return ends_.size() - 1; }
  Column finish() &&;

 private:
  std::string bytes_;
  std::vector<uint64_t> ends_{0};
  uint64_t narrow_bytes_;
};

// `is_large`: of the texts of each field, once they are known; else empty.
void exportSchema(const std::vector<Field>& fields, const std::vector<bool>& is_large,
                  ArrowSchema* out);
// As one struct array, a row of the stream.
void exportColumns(std::vector<Column>&& columns, uint64_t rows, ArrowArray* out);

}  // namespace tidegauge::python
