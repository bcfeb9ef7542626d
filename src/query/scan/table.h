// A table of SQL as functions over the model's columns, without copies.
//
//   events   row    0      1      2          A column fills *keys* for a batch of rows:
//            step   0      1      2            fill({0, 1, 2}) = {0, 1, 2}
//            action alloc  free…  alloc        fill({0, 1, 2}) = {0, 1, 0}, text(1) =
//            "free_requested"
//
// Every value is a 64-bit key. In number columns, the key is the value; in text columns, it
// represents the text, like an id. So filters, orders and groups work on integers only, a batch at
// a time (about 1 ns per row and column), and SQLite only sees the remaining rows. Reals are the
// exception: their keys are bits, which only SQLite compares.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "query/scan/schema.h"

namespace tidegauge::query {

using Row = uint64_t;
inline constexpr int64_t kNull = std::numeric_limits<int64_t>::min();  // sorts first, as in SQL

// keys[i] = the value at rows[i].
using Fill = std::function<void(const Row* rows, size_t count, int64_t* keys)>;

// A vector of the model whose numbers are those of the column, for readers that want no copy.
struct Stored {
  enum class Width : uint8_t { kUint32, kUint64, kInt64 };
  Width width = Width::kInt64;
  const void* data = nullptr;  // by row; null: there is no such vector
  bool marks_null = false;     // NULL is kNoStep, kUnknownBytes or kNull; else there is none
};

enum class Sorted : uint8_t {
  kNo,
  kRowNumber,      // the key is the row number
  kWithinDevices,  // keys ascend within the rows of each device
};

// The least and the most of some values; absent where it is not known.
struct Extremes {
  std::optional<int64_t> least{};
  std::optional<int64_t> most{};
};

// Rows [begin, end).
struct RowRange {
  Row begin = 0;
  Row end = 0;
};

struct Column {
  std::string name;
  ColumnKind kind = ColumnKind::kInteger;
  std::string doc;
  Fill fill;
  Stored stored{};
  bool hidden = false;

  Sorted sorted = Sorted::kNo;
  // Keys to search instead of the column's own: ascending within each device, and equal to the
  // column's own unless that is NULL. Empty: the column itself ascends.
  Fill narrow;
  uint64_t distinct = 0;  // approximate number of different values; 0 = unknown, many

  // Text columns only. A text that is not part of the trace is written to `scratch`.
  std::function<std::string_view(int64_t key, std::string& scratch)> text;
  // The key of a text, if any row could have it. Empty if texts and keys do not correspond one to
  // one.
  std::function<std::optional<int64_t>(std::string_view text)> encode;
  // By key: is the text LIKE the pattern?
  std::function<std::vector<bool>(const std::string& pattern)> like;

  // It finds them for rows of one device, at least one, without reading each. Empty: read them.
  std::function<Extremes(RowRange rows)> extremes;

  bool in_row_order_only = false;  // keys of distant rows are slow to fill: no order index

  bool isText() const { return kind == ColumnKind::kText; }
  bool isReal() const { return kind == ColumnKind::kReal; }
  // Whether an order index can serve it: equal values have equal keys, and keys of numbers have the
  // order of the numbers.
  bool canBeIndexed() const { return !in_row_order_only && !isReal() && (!isText() || encode); }
};

// Below 0: the value of key a sorts first. NULL is first; texts are compared by their bytes. No
// reals.
int compareValues(const Column& column, int64_t a, int64_t b);

// Inclusive; NULL is the lowest key.
struct KeyRange {
  int column = 0;
  int64_t low = kNull;
  int64_t high = std::numeric_limits<int64_t>::max();
};

struct DeviceRows {
  int64_t device = 0;
  Row begin = 0;
  Row end = 0;
};

struct Table {
  std::string name;
  std::string doc;
  Row rows = 0;
  std::vector<Column> columns;
  int device_column = -1;
  std::vector<DeviceRows> devices;   // cover all rows, in row order; one entry if no device column
  std::vector<int> natural_order{};  // columns by which the rows are sorted
  std::vector<KeyRange> within{};    // a scan shows only rows with all of these
  bool only_recordings = false;      // empty for snapshots
  bool of_recording = false;         // and the same for each process of a recording

  int findColumn(std::string_view column_name) const;  // −1 if there is none
  int64_t key(int column, Row row) const;
  TableDoc describe() const;
};

}  // namespace tidegauge::query
