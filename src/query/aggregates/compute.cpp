#include "query/aggregates/compute.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <utility>

#include "query/aggregates/group_codes.h"
#include "query/scan/columns.h"
#include "query/scan/scan.h"

namespace tidegauge::query {
namespace {

constexpr uint32_t kMaxGroups = 1 << 18;
constexpr uint64_t kExactReals = uint64_t{1} << 53;  // whole numbers up to it are exact as reals
constexpr uint64_t kOverflow = uint64_t{1} << 63;
constexpr uint64_t kAtMost = ~uint64_t{0};
// From this version on SQLite rounds the sum of whole numbers once, at the end.
constexpr int kRoundsOnce = 3'043'000;

// The sums of one column in one group.
struct Sums {
  uint64_t count = 0;  // of values that are not NULL
  uint64_t sum = 0;
  uint64_t magnitude =
      0;  // of all values without their signs, or kAtMost: bounds every part of the sum
  double rounded = 0;  // the sum as SQLite adds it up
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t most = kNull;
};

enum Need : int { kNeedsCount = 0, kNeedsSum = 1, kNeedsRounded = 2, kNeedsExtremes = 4 };

template <int kNeeds>
inline void take(Sums& sums, int64_t key) {
  if (key == kNull) return;
  ++sums.count;
  if constexpr ((kNeeds & kNeedsSum) != 0) {
    sums.sum += static_cast<uint64_t>(key);
    uint64_t distance =
        key < 0 ? uint64_t{0} - static_cast<uint64_t>(key) : static_cast<uint64_t>(key);
    sums.magnitude += distance;
    if (sums.magnitude < distance) sums.magnitude = kAtMost;
    if constexpr ((kNeeds & kNeedsRounded) != 0) sums.rounded += static_cast<double>(key);
  }
  if constexpr ((kNeeds & kNeedsExtremes) != 0) {
    sums.least = std::min(sums.least, key);
    sums.most = std::max(sums.most, key);
  }
}

using TakeBatch = void (*)(Sums* groups, const uint32_t* codes, const int64_t* keys, size_t count);

// Without `codes`, all rows are of the first group.
template <int kNeeds>
void takeBatch(Sums* groups, const uint32_t* codes, const int64_t* keys, size_t count) {
  if (codes == nullptr) {
    Sums sums = groups[0];
    for (size_t i = 0; i < count; ++i) take<kNeeds>(sums, keys[i]);
    groups[0] = sums;
    return;
  }
  for (size_t i = 0; i < count; ++i) take<kNeeds>(groups[codes[i]], keys[i]);
}

constexpr TakeBatch kTakeBatch[] = {takeBatch<0>, takeBatch<1>, nullptr, takeBatch<3>,
                                    takeBatch<4>, takeBatch<5>, nullptr, takeBatch<7>};

int needOf(Aggregate what) {
  switch (what) {
    case Aggregate::kCount:
      return kNeedsCount;
    case Aggregate::kSum:
      return kNeedsSum;
    case Aggregate::kTotal:
    case Aggregate::kAverage:
      return kNeedsSum | kNeedsRounded;
    default:
      return kNeedsExtremes;
  }
}

// A column that calls read, with its sums by group.
struct Operand {
  size_t column = 0;
  int needs = 0;
  std::vector<Sums> sums{};
};

class Computer {
 public:
  Computer(const AggregateStatement& statement, bool in_row_order, const Deadline& deadline)
      : statement_(statement),
        table_(*statement.table),
        in_row_order_(in_row_order),
        deadline_(deadline),
        codes_(statement.groups.size()),
        pairs_(statement.groups.size()),
        keys_(statement.groups.size()) {}

  Computing run(const std::vector<RowFilter>& filters, Groups& groups) {
    if (!canCompute()) return Computing::kDeclined;
    if (!statement_.grouped) addGroups(1);
    OrderCache no_orders;
    Scan scan(no_orders, deadline_);
    Scan::Request request;
    request.table = &table_;
    request.filters = filters;
    std::optional<std::vector<RowRange>> ranges = scan.rangesOf(request);
    if (ranges && takeRanges(*ranges)) return write(groups);
    scan.start(std::move(request));
    if (scan.timedOut()) return Computing::kTimedOut;
    Computing end = readAll(scan);
    return end == Computing::kDone ? write(groups) : end;
  }

 private:
  bool canCompute() {
    for (int group : statement_.groups) {
      const Column& column = table_.columns[static_cast<size_t>(group)];
      if (column.isReal() || (column.isText() && !column.encode)) return false;
    }
    for (const AggregateCall& call : statement_.calls) {
      if (call.column < 0) continue;
      size_t column = static_cast<size_t>(call.column);
      bool number = !table_.columns[column].isText() && !table_.columns[column].isReal();
      if (!number && call.what != Aggregate::kCount) return false;
      operandOf(column).needs |= needOf(call.what);
    }
    return true;
  }

  Operand& operandOf(size_t column) {
    auto found = std::find_if(operands_.begin(), operands_.end(),
                              [&](const Operand& operand) { return operand.column == column; });
    return found != operands_.end() ? *found : operands_.emplace_back(Operand{column});
  }

  // Numbers of rows, and extremes that the columns know without reading their rows. False: others
  // are wanted.
  bool takeRanges(const std::vector<RowRange>& ranges) {
    bool by_device = statement_.groups == std::vector<int>{table_.device_column};
    if (statement_.grouped && !by_device) return false;
    for (const AggregateCall& call : statement_.calls) {
      bool extreme = call.what == Aggregate::kMin || call.what == Aggregate::kMax;
      if (call.column >= 0 && !(extreme && columnOf(call).extremes)) return false;
    }
    std::vector<std::vector<Extremes>> found;  // by call and range
    for (const AggregateCall& call : statement_.calls) {
      std::vector<Extremes>& extremes = found.emplace_back();
      for (RowRange range : ranges) {
        if (call.column < 0) continue;
        extremes.push_back(columnOf(call).extremes(range));
        const Extremes& known = extremes.back();
        if (call.what == Aggregate::kMin ? !known.least : !known.most) return false;
      }
    }
    DeviceFinder device_of(table_.devices);
    for (size_t i = 0; i < ranges.size(); ++i) {
      size_t group = 0;
      if (by_device) {
        int64_t device = table_.devices[device_of(ranges[i].begin)].device;
        group = codes_[0].of(device);
        if (group == counts_.size()) addGroups(group + 1);
        keys_[0][group] = device;
      }
      counts_[group] += ranges[i].end - ranges[i].begin;
      for (size_t c = 0; c < found.size(); ++c) {
        const AggregateCall& call = statement_.calls[c];
        if (call.column < 0) continue;
        Sums& sums = operandOf(static_cast<size_t>(call.column)).sums[group];
        sums.count = 1;
        if (found[c][i].least) sums.least = std::min(sums.least, *found[c][i].least);
        if (found[c][i].most) sums.most = std::max(sums.most, *found[c][i].most);
      }
    }
    return true;
  }

  const Column& columnOf(const AggregateCall& call) const {
    return table_.columns[static_cast<size_t>(call.column)];
  }

  Computing readAll(Scan& scan) {
    for (size_t batches = 0; !scan.atEnd(); ++batches, scan.nextBatch()) {
      if (batches % 64 == 63 && deadline_.hasPassed()) return Computing::kTimedOut;
      size_t count = scan.batchSize();
      const uint32_t* codes = statement_.grouped ? groupCodes(scan, count) : nullptr;
      if (counts_.size() > kMaxGroups) return Computing::kDeclined;
      if (codes == nullptr) {
        counts_[0] += count;
      } else {
        for (size_t i = 0; i < count; ++i) ++counts_[codes[i]];
      }
      for (Operand& operand : operands_) {
        kTakeBatch[operand.needs](operand.sums.data(), codes, scan.batchKeys(operand.column),
                                  count);
      }
    }
    return scan.timedOut() ? Computing::kTimedOut : Computing::kDone;
  }

  // The group of each row of the batch. New groups are added.
  const uint32_t* groupCodes(Scan& scan, size_t count) {
    std::array<uint32_t, Scan::kBatch> other;
    for (size_t i = 0; i < codes_.size(); ++i) {
      const int64_t* keys = scan.batchKeys(static_cast<size_t>(statement_.groups[i]));
      uint32_t* codes = i == 0 ? batch_.data() : other.data();
      for (size_t row = 0; row < count; ++row) codes[row] = codes_[i].of(keys[row]);
      if (i == 0) continue;
      for (size_t row = 0; row < count; ++row) {
        batch_[row] = pairs_[i].of(pairOf(batch_[row], other[row]));
      }
    }
    uint32_t groups = codes_.size() == 1 ? codes_[0].size() : pairs_.back().size();
    size_t known = counts_.size();
    if (groups == known) return batch_.data();
    addGroups(groups);
    for (size_t row = 0; row < count; ++row) {
      if (batch_[row] < known) continue;
      for (size_t i = 0; i < codes_.size(); ++i) {
        keys_[i][batch_[row]] = scan.batchKeys(static_cast<size_t>(statement_.groups[i]))[row];
      }
    }
    return batch_.data();
  }

  // One number for two, small if both are: (0, 0) (0, 1) (1, 1) (1, 0) → 0, 1, 3, 2.
  static int64_t pairOf(uint32_t first, uint32_t second) {
    int64_t a = first;
    int64_t b = second;
    return a >= b ? a * a + a + b : b * b + a;
  }

  void addGroups(size_t count) {
    counts_.resize(count);
    for (auto& keys : keys_) keys.resize(count);
    for (Operand& operand : operands_) operand.sums.resize(count);
  }

  Computing write(Groups& groups) {
    groups.count = counts_.size();
    groups.keys = std::move(keys_);
    groups.values.clear();
    for (const AggregateCall& call : statement_.calls) {
      std::vector<int64_t>& values = groups.values.emplace_back(counts_.size());
      if (call.column < 0) {
        std::transform(counts_.begin(), counts_.end(), values.begin(),
                       [](uint64_t count) { return static_cast<int64_t>(count); });
        continue;
      }
      const Operand& operand = operandOf(static_cast<size_t>(call.column));
      for (size_t group = 0; group < values.size(); ++group) {
        if (!valueOf(call.what, operand.sums[group], values[group])) return Computing::kDeclined;
      }
    }
    return Computing::kDone;
  }

  bool valueOf(Aggregate what, const Sums& sums, int64_t& value) const {
    value = kNull;
    switch (what) {
      case Aggregate::kCount:
        value = static_cast<int64_t>(sums.count);
        return true;
      case Aggregate::kSum:
        if (sums.count > 0) value = static_cast<int64_t>(sums.sum);
        return sums.magnitude < kOverflow;
      case Aggregate::kTotal:
        value = keyOfReal(realOf(sums));
        return isKnown(sums);
      case Aggregate::kAverage:
        if (sums.count > 0) value = keyOfReal(realOf(sums) / static_cast<double>(sums.count));
        return isKnown(sums);
      case Aggregate::kMin:
        if (sums.count > 0) value = sums.least;
        return true;
      case Aggregate::kMax:
        value = sums.most;
        return true;
    }
    return false;
  }

  static bool roundsOnce() { return sqlite3_libversion_number() >= kRoundsOnce; }
  static double realOf(const Sums& sums) {
    bool exact = roundsOnce() || sums.magnitude < kExactReals;
    return exact ? static_cast<double>(static_cast<int64_t>(sums.sum)) : sums.rounded;
  }
  bool isKnown(const Sums& sums) const {
    if (sums.magnitude >= kOverflow) return false;
    return roundsOnce() || in_row_order_ || sums.magnitude < kExactReals;
  }

  const AggregateStatement& statement_;
  const Table& table_;
  bool in_row_order_;
  const Deadline& deadline_;
  std::vector<Operand> operands_;
  std::vector<GroupCodes> codes_;  // by group column: its values
  std::vector<GroupCodes> pairs_;  // … the groups of the columns so far and this one
  std::array<uint32_t, Scan::kBatch> batch_;
  std::vector<uint64_t> counts_;            // rows by group
  std::vector<std::vector<int64_t>> keys_;  // by group column and group
};

}  // namespace

Computing computeGroups(const AggregateStatement& statement, const std::vector<RowFilter>& filters,
                        bool in_row_order, const Deadline& deadline, Groups& groups) {
  return Computer(statement, in_row_order, deadline).run(filters, groups);
}

}  // namespace tidegauge::query
