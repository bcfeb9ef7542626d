#include "query/scan/order_index.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace tidegauge::query {
namespace {

constexpr size_t kBatch = 512;
constexpr int kDigitBits = 16;
constexpr size_t kDigits = size_t{1} << kDigitBits;

// The texts of a column in their order: places()[key].
class TextPlaces {
 public:
  // False if time was up.
  bool find(const Column& column, Row rows, const Deadline& deadline) {
    std::array<Row, kBatch> batch;
    std::array<int64_t, kBatch> keys;
    for (Row begin = 0; begin < rows; begin += kBatch) {
      if (begin % (64 * kBatch) == 0 && deadline.hasPassed()) return false;
      size_t count = static_cast<size_t>(std::min<Row>(kBatch, rows - begin));
      std::iota(batch.begin(), batch.begin() + static_cast<ptrdiff_t>(count), begin);
      column.fill(batch.data(), count, keys.data());
      for (size_t i = 0; i < count; ++i) note(keys[i]);
    }
    std::sort(seen_.begin(), seen_.end(),
              [&](int64_t a, int64_t b) { return compareValues(column, a, b) < 0; });
    for (size_t i = 0; i < seen_.size(); ++i) {
      places_[static_cast<size_t>(seen_[i])] = static_cast<int64_t>(i);
    }
    return true;
  }
  int64_t of(int64_t key) const { return key == kNull ? kNull : places_[static_cast<size_t>(key)]; }

 private:
  void note(int64_t key) {
    if (key == kNull) return;
    size_t at = static_cast<size_t>(key);
    if (at >= places_.size()) places_.resize(std::max(at + 1, places_.size() * 2), -1);
    if (places_[at] >= 0) return;
    places_[at] = 0;
    seen_.push_back(key);
  }

  std::vector<int64_t> places_;
  std::vector<int64_t> seen_;
};

// Reads the column's keys in the given row order, as numbers that ascend in the wanted order. Each
// pass reads the keys again instead of moving them with the rows: that would cost 16 more bytes per
// row.
class OrderedKeys {
 public:
  OrderedKeys(const Table& table, SortColumn by, const Deadline& deadline)
      : column_(table.columns[static_cast<size_t>(by.column)]),
        flip_((uint64_t{1} << 63) ^ (by.descending ? ~uint64_t{0} : 0)),
        deadline_(deadline),
        rows_(table.rows) {}

  // False if time was up.
  bool start() { return !column_.isText() || places_.find(column_, rows_, deadline_); }

  template <class F>  // f(row, key). False if time was up.
  bool read(const RowOrder& order, F&& f) {
    std::array<Row, kBatch> rows;
    std::array<int64_t, kBatch> keys;
    for (size_t begin = 0; begin < order.size(); begin += kBatch) {
      if (begin % (64 * kBatch) == 0 && deadline_.hasPassed()) return false;
      size_t count = std::min(kBatch, order.size() - begin);
      for (size_t i = 0; i < count; ++i) rows[i] = order[begin + i];
      column_.fill(rows.data(), count, keys.data());
      if (column_.isText()) {
        for (size_t i = 0; i < count; ++i) keys[i] = places_.of(keys[i]);
      }
      for (size_t i = 0; i < count; ++i) {
        f(order[begin + i], static_cast<uint64_t>(keys[i]) ^ flip_);
      }
    }
    return true;
  }

 private:
  const Column& column_;
  uint64_t flip_;
  const Deadline& deadline_;
  Row rows_;
  TextPlaces places_;
};

// One column of the stable sort: digits of 16 bits, lowest first. Digits that all rows share, and
// orders that are sorted already, need no pass. False if time was up.
bool sortBy(const Table& table, SortColumn by, const Deadline& deadline, RowOrder& order,
            RowOrder& scratch) {
  OrderedKeys keys(table, by, deadline);
  if (!keys.start()) return false;
  uint64_t least = ~uint64_t{0};
  uint64_t most = 0;
  uint64_t previous = 0;
  bool sorted = true;
  bool all = keys.read(order, [&](uint32_t, uint64_t key) {
    // NULL, the lowest key, would widen the range to all 64 bits; see rank below.
    sorted = sorted && previous <= key;
    previous = key;
    if (key == 0 || key == ~uint64_t{0}) return;
    least = std::min(least, key);
    most = std::max(most, key);
  });
  if (!all || sorted) return all;
  // 0 for NULLs (first or, descending, last), else the distance from the least key.
  uint64_t span = least <= most ? most - least : 0;
  auto rank = [&](uint64_t key) {
    if (key == 0) return uint64_t{0};
    return key == ~uint64_t{0} ? span + 2 : key - least + 1;
  };
  scratch.resize(order.size());
  std::vector<uint32_t> next(kDigits);
  for (int shift = 0; shift < 64 && (span + 2) >> shift != 0; shift += kDigitBits) {
    auto digit = [&](uint64_t key) {
      return static_cast<size_t>(rank(key) >> shift) & (kDigits - 1);
    };
    std::fill(next.begin(), next.end(), 0);
    if (!keys.read(order, [&](uint32_t, uint64_t key) { ++next[digit(key)]; })) return false;
    if (std::find(next.begin(), next.end(), order.size()) != next.end()) continue;
    std::exclusive_scan(next.begin(), next.end(), next.begin(), uint32_t{0});
    auto place = [&](uint32_t row, uint64_t key) { scratch[next[digit(key)]++] = row; };
    if (!keys.read(order, place)) return false;
    order.swap(scratch);
  }
  return true;
}

}  // namespace

std::optional<RowOrder> rowsBy(const Table& table, const std::vector<SortColumn>& columns,
                               const Deadline& deadline) {
  RowOrder order(table.rows);
  std::iota(order.begin(), order.end(), uint32_t{0});
  RowOrder scratch;
  for (size_t i = columns.size(); i-- > 0;) {
    if (!sortBy(table, columns[i], deadline, order, scratch)) return std::nullopt;
  }
  return order;
}

OrderRange findRange(const Table& table, int column, const RowOrder& order, int64_t low,
                     int64_t high) {
  const Column& of = table.columns[static_cast<size_t>(column)];
  if (of.isText() && low != high) return {0, order.size()};  // no range of texts
  auto compare = [&](uint32_t row, int64_t key) {
    return compareValues(of, table.key(column, row), key);
  };
  auto begin = std::partition_point(order.begin(), order.end(),
                                    [&](uint32_t row) { return compare(row, low) < 0; });
  auto end = std::partition_point(begin, order.end(),
                                  [&](uint32_t row) { return compare(row, high) <= 0; });
  return {static_cast<size_t>(begin - order.begin()), static_cast<size_t>(end - order.begin())};
}

OrderCache::Entries::iterator OrderCache::find(const Table& table,
                                               const std::vector<SortColumn>& columns) {
  return std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.table == &table && entry.columns == columns;
  });
}

bool OrderCache::has(const Table& table, const std::vector<SortColumn>& columns) {
  std::lock_guard lock(mutex_);
  auto entry = find(table, columns);
  return entry != entries_.end() && entry->order != nullptr;
}

std::shared_ptr<const RowOrder> OrderCache::get(const Table& table,
                                                const std::vector<SortColumn>& columns,
                                                const Deadline& deadline) {
  constexpr std::chrono::milliseconds kBetweenChecks(20);
  std::unique_lock lock(mutex_);
  auto entry = find(table, columns);
  while (entry != entries_.end() && entry->order == nullptr) {
    if (deadline.hasPassed()) return nullptr;
    built_.wait_for(lock, kBetweenChecks);
    entry = find(table, columns);  // its builder may have given up
  }
  if (entry != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, entry);
    return entry->order;
  }
  entry = entries_.insert(entries_.begin(), {&table, columns, nullptr});
  lock.unlock();
  std::shared_ptr<const RowOrder> order;
  try {
    if (auto rows = rowsBy(table, columns, deadline)) {
      order = std::make_shared<const RowOrder>(*std::move(rows));
    }
  } catch (...) {  // out of memory: others must not wait forever
    lock.lock();
    entries_.erase(entry);
    built_.notify_all();
    throw;
  }
  lock.lock();
  if (order == nullptr) {
    entries_.erase(entry);
  } else {
    entry->order = order;
    entries_.splice(entries_.begin(), entries_, entry);
    dropOldest();
  }
  built_.notify_all();
  return order;
}

// Never the newest, which is about to be used, nor one that is still being built.
void OrderCache::dropOldest() {
  size_t bytes = 0;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (entry->order != nullptr) bytes += entry->order->size() * sizeof(uint32_t);
    bool keep = entry == entries_.begin() || entry->order == nullptr || bytes <= budget_bytes_;
    entry = keep ? std::next(entry) : entries_.erase(entry);
  }
}

}  // namespace tidegauge::query
