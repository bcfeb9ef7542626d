// UniformColumn: a column whose rows may all be equal, as the stream, the pool and the compile
// context of most files are. It stores one value until a row differs.
//
//   N/A × 10,000,000            4 bytes
//   N/A × 10,000,000, f         40 MB: from the first other row on, one value per row
//
// Cost: reading a row takes one branch more than reading a vector.
#pragma once

#include <cstddef>
#include <vector>

namespace tidegauge::model {

// Some consecutive rows of such a column, or of a vector. Valid until the column grows.
template <class T>
struct UniformRows {
  const T* rows = nullptr;  // null: all rows are `value`
  T value{};
  bool present = false;  // false: the file lacks that field

  T operator[](size_t i) const { return rows == nullptr ? value : rows[i]; }
  static UniformRows of(const std::vector<T>& rows) { return {rows.data(), T{}, !rows.empty()}; }
};

template <class T>
class UniformColumn {
 public:
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T operator[](size_t row) const { return rows_.empty() ? value_ : rows_[row]; }
  // All rows have the value of the first.
  bool uniform() const { return rows_.empty(); }

  UniformRows<T> from(size_t row) const {
    return {rows_.empty() ? nullptr : rows_.data() + row, value_, !empty()};
  }

  void push_back(T value) { append(value, 1); }
  void append(T value, size_t count) {
    if (count == 0) return;
    if (size_ == 0) value_ = value;
    if (rows_.empty() && !(value == value_)) {
      rows_.reserve(size_ + count > reserved_ ? size_ + count : reserved_);
      rows_.assign(size_, value_);
    }
    if (!rows_.empty()) rows_.insert(rows_.end(), count, value);
    size_ += count;
  }
  void assign(size_t count, T value) {
    rows_.clear();
    size_ = 0;
    append(value, count);
  }
  void clear() { *this = UniformColumn(); }
  // Keeps the first rows.
  void shorten(size_t rows) {
    if (!rows_.empty()) rows_.resize(rows);
    size_ = rows;
  }
  // For the time when a row differs. Takes no memory before.
  void reserve(size_t rows) { reserved_ = rows; }

 private:
  std::vector<T> rows_;  // empty while all rows are value_
  T value_{};
  size_t size_ = 0;
  size_t reserved_ = 0;
};

}  // namespace tidegauge::model
