#include "query/scan/scan.h"

#include <algorithm>
#include <utility>

#include "query/scan/top_rows.h"

namespace tidegauge::query {
namespace {

constexpr Row kFewRows = 512;        // not worth an order index
constexpr size_t kFewListed = 1000;  // members of IN for lookups one by one

// First row of [begin, end) whose key is at least `key`; the keys ascend.
Row lowerBound(const Fill& fill, Row begin, Row end, int64_t key) {
  while (begin < end) {
    Row middle = begin + (end - begin) / 2;
    int64_t at_middle = kNull;
    fill(&middle, 1, &at_middle);
    (at_middle < key) ? begin = middle + 1 : end = middle;
  }
  return begin;
}

}  // namespace

void Scan::start(Request request) {
  if (request_.table != request.table) keys_.clear();
  request_ = std::move(request);
  keys_.resize(request_.table->columns.size());
  ranges_.clear();
  order_.reset();
  list_ = nullptr;
  at_ = count_ = 0;
  timed_out_ = deadline_.hasPassed();
  if (timed_out_) return;
  if (refusesAll()) return;
  if (request_.only != nullptr) {
    list_ = request_.only->data();
    list_begin_ = 0;
    list_end_ = request_.only->size();
  } else if (!request_.order.empty()) {
    timed_out_ = !startInOrder();
  } else {
    narrowRanges();
    timed_out_ = request_.again && !lookUp();
  }
  if (!timed_out_) loadBatch();
}

bool Scan::refusesAll() const {
  return std::any_of(request_.filters.begin(), request_.filters.end(),
                     [](const RowFilter& filter) { return filter.isEmpty(); });
}

std::optional<std::vector<RowRange>> Scan::rangesOf(Request request) {
  request_ = std::move(request);
  ranges_.clear();
  if (refusesAll()) return ranges_;
  narrowRanges();
  return request_.filters.empty() ? std::optional(ranges_) : std::nullopt;
}

bool Scan::startAtTop() {
  narrowRanges();
  bool backward = std::exchange(request_.backward, false);  // rows are read forward
  TopRows top({request_.order, backward, request_.earlier_first}, request_.top);
  loadBatch();
  for (size_t batches = 0; !atEnd(); ++batches) {
    if (batches % 64 == 63 && deadline_.hasPassed()) return false;
    top.take(rows_.data(), count_, [this](size_t column) { return keys(column); });
    loadBatch();
  }
  if (timed_out_) return false;
  request_.filters.clear();  // all of these rows have passed them
  auto order = std::make_shared<const RowOrder>(top.rows());
  OrderRange all{0, order->size()};
  useOrder(std::move(order), all);
  return true;
}

bool Scan::startInOrder() {
  if (request_.top > 0 && !orders_.has(*request_.table, request_.order)) return startAtTop();
  auto order = orders_.get(*request_.table, request_.order, deadline_);
  if (order == nullptr) return false;
  OrderRange range{0, order->size()};
  const SortColumn& first = request_.order.front();
  for (const RowFilter& filter : request_.filters) {
    if (filter.column != first.column || first.descending) continue;
    range = findRange(*request_.table, filter.column, *order, filter.low, filter.high);
  }
  useOrder(std::move(order), range);
  return true;
}

void Scan::useOrder(std::shared_ptr<const RowOrder> order, OrderRange range) {
  order_ = std::move(order);
  list_ = order_->data();
  list_begin_ = range.begin;
  list_end_ = range.end;
}

Row Scan::rowsInRanges() const {
  Row rows = 0;
  for (const RowRange& range : ranges_) rows += range.end - range.begin;
  return rows;
}

void Scan::narrowRanges() {
  const Table& table = *request_.table;
  for (const DeviceRows& device : table.devices) {
    RowRange range{device.begin, device.end};
    for (const RowFilter& filter : request_.filters) {
      if (filter.column == table.device_column) {
        if (device.device < filter.low || device.device > filter.high) range.end = range.begin;
      } else {
        narrowByFilter(filter, &range);
      }
    }
    if (range.begin < range.end) ranges_.push_back(range);
  }
  for (const RowFilter& filter : request_.filters) splitByList(filter);
  std::erase_if(request_.filters, [&](const RowFilter& filter) { return isSettled(filter); });
}

void Scan::narrowByFilter(const RowFilter& filter, RowRange* range) const {
  const Column& column = request_.table->columns[static_cast<size_t>(filter.column)];
  if (range->begin >= range->end) return;
  if (column.sorted == Sorted::kRowNumber) {
    if (filter.high < 0) {
      range->end = range->begin;
      return;
    }
    range->begin = std::max(range->begin, static_cast<Row>(std::max<int64_t>(filter.low, 0)));
    range->end = std::min(range->end, static_cast<Row>(filter.high) + 1);
  } else if (column.sorted == Sorted::kWithinDevices) {
    if (column.narrow && filter.low == kNull) return;  // NULLs may be anywhere
    const Fill& fill = column.narrow ? column.narrow : column.fill;
    range->begin = lowerBound(fill, range->begin, range->end, filter.low);
    if (filter.high != std::numeric_limits<int64_t>::max()) {
      range->end = lowerBound(fill, range->begin, range->end, filter.high + 1);
    }
  }
}

// Have the ranges only rows that pass it?
bool Scan::isSettled(const RowFilter& filter) const {
  const Table& table = *request_.table;
  if (!filter.isRange()) return false;
  if (filter.column == table.device_column) return true;
  const Column& column = table.columns[static_cast<size_t>(filter.column)];
  return column.sorted == Sorted::kRowNumber ||
         (column.sorted == Sorted::kWithinDevices && !column.narrow);
}

// x IN (few values) on a sorted column: only their rows.
void Scan::splitByList(const RowFilter& filter) {
  const Column& column = request_.table->columns[static_cast<size_t>(filter.column)];
  if (column.sorted == Sorted::kNo) return;
  for (const auto& set : filter.sets) {
    if (set->list().empty() || set->list().size() > kFewListed) continue;
    std::vector<RowRange> whole = std::move(ranges_);
    ranges_.clear();
    for (const RowRange& range : whole) {
      for (int64_t key : set->list()) {
        RowFilter one;
        one.column = filter.column;
        one.low = one.high = key;
        RowRange part = range;
        narrowByFilter(one, &part);
        if (part.begin < part.end) ranges_.push_back(part);
      }
    }
    return;
  }
}

// Uses the equality on the column with the most different values. False: time was up.
bool Scan::lookUp() {
  const Table& table = *request_.table;
  if (rowsInRanges() <= kFewRows || table.rows >> 32 != 0) return true;
  const RowFilter* best = nullptr;
  uint64_t most = 0;
  for (const RowFilter& filter : request_.filters) {
    const Column& column = table.columns[static_cast<size_t>(filter.column)];
    if (!filter.isOneKey() || !column.canBeIndexed() || column.distinct <= most) continue;
    best = &filter;
    most = column.distinct;
  }
  if (best == nullptr || most < 16) return true;
  auto order = orders_.get(table, {{best->column, false}}, deadline_);
  if (order == nullptr) return false;
  OrderRange range = findRange(table, best->column, *order, best->low, best->high);
  if (range.end - range.begin < rowsInRanges()) {
    ranges_.clear();
    useOrder(std::move(order), range);
  }
  return true;
}

// Up to a batch of rows from their source.
size_t Scan::takeRows() {
  size_t count = 0;
  if (list_ != nullptr) {
    count = std::min(kBatch, list_end_ - list_begin_);
    if (request_.backward) {
      for (size_t i = 0; i < count; ++i) rows_[i] = list_[list_end_ - 1 - i];
      list_end_ -= count;
    } else {
      for (size_t i = 0; i < count; ++i) rows_[i] = list_[list_begin_ + i];
      list_begin_ += count;
    }
    return count;
  }
  while (count < kBatch && !ranges_.empty()) {
    RowRange& range = request_.backward ? ranges_.back() : ranges_.front();
    size_t taken = static_cast<size_t>(std::min<Row>(kBatch - count, range.end - range.begin));
    for (size_t i = 0; i < taken; ++i) {
      rows_[count + i] = request_.backward ? range.end - 1 - i : range.begin + i;
    }
    request_.backward ? range.end -= taken : range.begin += taken;
    count += taken;
    if (range.begin < range.end) continue;
    request_.backward ? ranges_.pop_back() : void(ranges_.erase(ranges_.begin()));
  }
  return count;
}

// Moves to the next batch with rows, or to the end.
void Scan::loadBatch() {
  std::array<int64_t, kBatch> keys;
  at_ = count_ = 0;
  for (size_t batches = 0;; ++batches) {
    timed_out_ = batches % 64 == 63 && deadline_.hasPassed();
    if (timed_out_) return;
    size_t count = takeRows();
    if (count == 0) return;
    for (const RowFilter& filter : request_.filters) {
      if (count == 0) break;
      request_.table->columns[static_cast<size_t>(filter.column)].fill(rows_.data(), count,
                                                                       keys.data());
      count = filter.keep(rows_.data(), keys.data(), count);
    }
    if (count == 0) continue;
    count_ = count;
    for (auto& column : keys_) {
      if (column) column->filled = false;
    }
    return;
  }
}

const int64_t* Scan::keys(size_t column) {
  if (!keys_[column]) keys_[column] = std::make_unique<Keys>();
  Keys& keys = *keys_[column];
  if (!keys.filled) {
    request_.table->columns[column].fill(rows_.data(), count_, keys.values.data());
    keys.filled = true;
  }
  return keys.values.data();
}

}  // namespace tidegauge::query
