// The effect of an SQL constraint on the keys of one column: a range, and perhaps a set.
//
//   step >= 10 AND step < 20   → low 10, high 19
//   action = 'alloc'           → low 0, high 0         (the key of 'alloc')
//   id IN (1, 5, 9)            → low 1, high 9, set {1, 5, 9}
//   action <> 'oom'            → no NULL, except 7
//   x IS NULL                  → low = high = kNull
//
// Comparisons follow SQLite: 2.5 < x is 3 <= x, NULL equals nothing, text is larger than numbers.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "query/scan/table.h"

namespace tidegauge::query {

enum class Test : uint8_t {
  kEqual,
  kNotEqual,
  kIs,  // as kEqual, and NULL IS NULL
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIsNull,
  kIsNotNull,
  kOneOf,
  kLike,
  kArgument,  // of a table-valued function
};

// A set of keys: bits if they are close together, else a sorted list.
class KeySet {
 public:
  static KeySet ofList(std::vector<int64_t> keys);
  static KeySet ofBits(std::vector<bool> bits);  // bit i = key i

  bool contains(int64_t key) const;
  bool empty() const { return sorted_.empty() && bits_.empty(); }
  int64_t least() const { return least_; }
  int64_t most() const { return most_; }
  // The keys, if there are few and each is known; else empty.
  const std::vector<int64_t>& list() const { return sorted_; }

 private:
  std::vector<int64_t> sorted_;
  std::vector<bool> bits_;
  int64_t least_ = 0;
  int64_t most_ = -1;
};

struct RowFilter {
  int column = 0;
  int64_t low = kNull;
  int64_t high = std::numeric_limits<int64_t>::max();
  std::vector<std::shared_ptr<const KeySet>> sets;  // all must contain the key
  std::vector<int64_t> except;                      // keys that do not pass

  bool isEmpty() const { return low > high; }
  bool isOneKey() const { return low == high; }
  void refuseAll() { low = 0, high = -1; }
  void atLeast(int64_t key) { low = std::max(low, key); }
  void atMost(int64_t key) { high = std::min(high, key); }
  void keepOnly(std::vector<int64_t> keys);
  bool isRange() const { return sets.empty() && except.empty(); }
  // Keeps the rows whose keys pass; returns their number.
  size_t keep(Row* rows, const int64_t* keys, size_t count) const;
};

// The matches of LIKE patterns, kept while the query runs: a join asks once per row.
class LikeMemory {
 public:
  std::shared_ptr<const KeySet> matches(const Column& column, const std::string& pattern);

 private:
  struct Entry {
    const Column* column;
    std::string pattern;
    std::shared_ptr<const KeySet> keys;
  };
  std::vector<Entry> entries_;
};

// Narrows `filter` by "column test value". A test that the column cannot decide leaves it unchanged
// (SQLite checks those again).
void narrow(RowFilter& filter, const Column& column, Test test, sqlite3_value* value,
            LikeMemory& likes);

}  // namespace tidegauge::query
