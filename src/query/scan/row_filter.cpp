#include "query/scan/row_filter.h"

#include <algorithm>
#include <cmath>

#include "query/scan/columns.h"

namespace tidegauge::query {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kMinNumber = kNull + 1;
constexpr uint64_t kDenseSpan = uint64_t{1} << 26;  // at most 8 MiB of bits

void narrowByInteger(RowFilter& filter, Test test, int64_t value) {
  switch (test) {
    case Test::kEqual:
    case Test::kIs:
      filter.atLeast(value);
      filter.atMost(value);
      break;
    case Test::kLess:
      value == kNull ? filter.refuseAll() : filter.atMost(value - 1);
      break;
    case Test::kLessEqual:
      filter.atMost(value);
      break;
    case Test::kNotEqual:
      filter.atLeast(kMinNumber);
      filter.except.push_back(value);
      break;
    case Test::kGreater:
      value == kMost ? filter.refuseAll() : filter.atLeast(value + 1);
      break;
    case Test::kGreaterEqual:
      filter.atLeast(value);
      break;
    default:
      break;
  }
}

bool isUpperBound(Test test) { return test == Test::kLess || test == Test::kLessEqual; }
bool isEquality(Test test) { return test == Test::kEqual || test == Test::kIs; }
// True for every number, if the value is not a whole number.
bool isInequality(Test test) { return test == Test::kNotEqual; }

// Integers against a number that may not be one.
void narrowByReal(RowFilter& filter, Test test, double value) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (value >= kLimit || value < -kLimit) {
    bool all = isInequality(test) || (!isEquality(test) && isUpperBound(test) == (value > 0));
    if (!all) filter.refuseAll();
    return;
  }
  double floor = std::floor(value);
  int64_t below = static_cast<int64_t>(floor);
  if (floor == value) return narrowByInteger(filter, test, below);
  if (isInequality(test)) return;
  if (isEquality(test)) return filter.refuseAll();
  narrowByInteger(filter, isUpperBound(test) ? Test::kLessEqual : Test::kGreater, below);
}

void narrowNumber(RowFilter& filter, Test test, sqlite3_value* value) {
  filter.atLeast(kMinNumber);
  switch (sqlite3_value_numeric_type(value)) {
    case SQLITE_INTEGER:
      return narrowByInteger(filter, test, sqlite3_value_int64(value));
    case SQLITE_FLOAT:
      return narrowByReal(filter, test, sqlite3_value_double(value));
    case SQLITE_NULL:
      return filter.refuseAll();
    default:  // text and blobs are larger than any number
      if (!isUpperBound(test) && !isInequality(test)) filter.refuseAll();
  }
}

std::string_view textOf(sqlite3_value* value) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return text == nullptr ? std::string_view()
                         : std::string_view(text, static_cast<size_t>(sqlite3_value_bytes(value)));
}

void narrowText(RowFilter& filter, const Column& column, Test test, sqlite3_value* value) {
  if (sqlite3_value_type(value) == SQLITE_NULL) return filter.refuseAll();
  if (sqlite3_value_type(value) != SQLITE_TEXT) return;
  std::optional<int64_t> key = column.encode(textOf(value));
  if (key) return narrowByInteger(filter, test, *key);
  isInequality(test) ? filter.atLeast(kMinNumber) : filter.refuseAll();
}

// The members that a value list contains for the column. False: one of them cannot be decided here.
bool membersOf(const Column& column, sqlite3_value* list, std::vector<int64_t>* keys) {
  sqlite3_value* value = nullptr;
  for (int rc = sqlite3_vtab_in_first(list, &value); rc == SQLITE_OK && value != nullptr;
       rc = sqlite3_vtab_in_next(list, &value)) {
    if (sqlite3_value_type(value) == SQLITE_NULL) continue;
    if (column.isText() && sqlite3_value_type(value) != SQLITE_TEXT) return false;
    RowFilter one;
    column.isText() ? narrowText(one, column, Test::kEqual, value)
                    : narrowNumber(one, Test::kEqual, value);
    if (!one.isEmpty()) keys->push_back(one.low);
  }
  return true;
}

}  // namespace

KeySet KeySet::ofList(std::vector<int64_t> keys) {
  KeySet set;
  if (keys.empty()) return set;
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  set.least_ = keys.front();
  set.most_ = keys.back();
  uint64_t span = static_cast<uint64_t>(set.most_) - static_cast<uint64_t>(set.least_);
  if (span < kDenseSpan) {
    set.bits_.resize(span + 1);
    for (int64_t key : keys) set.bits_[static_cast<size_t>(key - set.least_)] = true;
  }
  set.sorted_ = std::move(keys);
  return set;
}

KeySet KeySet::ofBits(std::vector<bool> bits) {
  KeySet set;
  set.most_ = static_cast<int64_t>(bits.size()) - 1;
  set.bits_ = std::move(bits);
  return set;
}

bool KeySet::contains(int64_t key) const {
  if (key < least_ || key > most_) return false;
  if (!bits_.empty()) return bits_[static_cast<size_t>(key - least_)];
  return std::binary_search(sorted_.begin(), sorted_.end(), key);
}

void RowFilter::keepOnly(std::vector<int64_t> keys) {
  if (keys.empty()) return refuseAll();
  KeySet set = KeySet::ofList(std::move(keys));
  atLeast(set.least());
  atMost(set.most());
  sets.push_back(std::make_shared<const KeySet>(std::move(set)));
}

size_t RowFilter::keep(Row* rows, const int64_t* keys, size_t count) const {
  size_t kept = 0;
  if (isRange()) {
    for (size_t i = 0; i < count; ++i) {
      rows[kept] = rows[i];
      kept += static_cast<size_t>(keys[i] >= low && keys[i] <= high);
    }
    return kept;
  }
  for (size_t i = 0; i < count; ++i) {
    bool passes = keys[i] >= low && keys[i] <= high &&
                  std::all_of(sets.begin(), sets.end(),
                              [&](const auto& set) { return set->contains(keys[i]); }) &&
                  std::find(except.begin(), except.end(), keys[i]) == except.end();
    if (passes) rows[kept++] = rows[i];
  }
  return kept;
}

std::shared_ptr<const KeySet> LikeMemory::matches(const Column& column,
                                                  const std::string& pattern) {
  for (const Entry& entry : entries_) {
    if (entry.column == &column && entry.pattern == pattern) return entry.keys;
  }
  auto keys = std::make_shared<const KeySet>(KeySet::ofBits(column.like(pattern)));
  entries_.push_back({&column, pattern, keys});
  return keys;
}

void narrow(RowFilter& filter, const Column& column, Test test, sqlite3_value* value,
            LikeMemory& likes) {
  switch (test) {
    case Test::kIsNull:
      return filter.atMost(kNull);
    case Test::kIsNotNull:
      return filter.atLeast(kMinNumber);
    case Test::kLike:
      filter.atLeast(kMinNumber);
      filter.sets.push_back(likes.matches(column, std::string(textOf(value))));
      return;
    case Test::kOneOf: {
      std::vector<int64_t> keys;
      if (!membersOf(column, value, &keys)) return;
      return filter.keepOnly(std::move(keys));
    }
    case Test::kIs:
      if (sqlite3_value_type(value) == SQLITE_NULL) return filter.atMost(kNull);
      [[fallthrough]];
    default:
      column.isText() ? narrowText(filter, column, test, value) : narrowNumber(filter, test, value);
  }
}

}  // namespace tidegauge::query
