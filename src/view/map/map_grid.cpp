#include "view/map/map_grid.h"

#include <algorithm>
#include <cmath>

namespace tidegauge::view {
namespace {

constexpr int kMinShift = 10;
constexpr uint32_t kMaxColumns = 4096;
constexpr uint32_t kFewestColumns = 128;

uint16_t cellOf(float covered) {
  if (covered <= 0) return 0;
  if (covered >= 0.99999F) return 65535;
  return static_cast<uint16_t>(std::clamp(std::ceil(covered * 65535.0F), 1.0F, 65534.0F));
}

// Column `c` of a coarser level, whose columns have two of the finer one's.
void halve(const MapGrid::Level& finer, MapGrid::Level& coarser, size_t c) {
  constexpr size_t kRows = MapGrid::kRows;
  for (size_t r = 0; r < kRows; ++r) {
    auto at = [&](size_t column) -> uint32_t {
      return column < finer.columns ? finer.cells[column * kRows + r] : 0;
    };
    coarser.cells[c * kRows + r] = static_cast<uint16_t>((at(2 * c) + at(2 * c + 1) + 1) / 2);
  }
}

}  // namespace

// The coverage of the finest level, as differences from column to column. Unsigned: if a
// contradictory file has a thousand blocks at one address, a sum may wrap.
class MapGrid::Sums {
 public:
  Sums(int shift, double row_bytes)
      : shift_(shift),
        width_(static_cast<double>(uint64_t{1} << shift)),
        row_bytes_(row_bytes),
        sum_(kRows) {}

  size_t columnOf(Step step) const { return step >> shift_; }
  void resize(uint32_t columns) { change_.resize((size_t{columns} + 2) * kRows); }
  void add(const MapRow& block) { change<1>(block); }
  void remove(const MapRow& block) { change<-1>(block); }

  // Writes the cells of the columns from `summed_` on.
  void sumUp(Level& level) {
    for (; summed_ < level.columns; ++summed_) {
      for (size_t r = 0; r < kRows; ++r) {
        sum_[r] += at(summed_, r);
        level.cells[summed_ * kRows + r] = cellOf(static_cast<float>(sum_[r] / kCovered));
      }
    }
  }
  // Before the columns from this one on change.
  void goBackTo(size_t column) {
    while (summed_ > column) {
      --summed_;
      for (size_t r = 0; r < kRows; ++r) sum_[r] -= at(summed_, r);
    }
  }

 private:
  static constexpr double kCovered = 1 << 22;
  static uint32_t share(double part) {  // rounded up: no block is too small to count
    return static_cast<uint32_t>(std::ceil(part * kCovered));
  }
  uint32_t& at(size_t column, size_t r) { return change_[column * kRows + r]; }

  template <int kSign>
  void change(const MapRow& block) {
    if (block.end <= block.first) return;
    auto add = [&](size_t column, size_t r, uint32_t by) {
      at(column, r) += kSign > 0 ? by : 0U - by;
    };
    size_t begin_column = block.first >> shift_;
    size_t end_column = block.end >> shift_;  // the column of the end
    double before = block.first / width_ - static_cast<double>(begin_column);
    double after = block.end / width_ - static_cast<double>(end_column);
    double from = block.y_bytes / row_bytes_;
    double to = from + block.size_bytes / row_bytes_;
    for (auto r = static_cast<size_t>(from); r < kRows && static_cast<double>(r) < to; ++r) {
      double height =
          std::min(to, static_cast<double>(r + 1)) - std::max(from, static_cast<double>(r));
      if (begin_column == end_column) {
        uint32_t all = share(height * (after - before));
        add(begin_column, r, all);
        add(begin_column + 1, r, 0U - all);
        continue;
      }
      uint32_t whole = share(height);
      uint32_t left = share(height * (1 - before));
      uint32_t right = share(height * after);
      add(begin_column, r, left);
      add(begin_column + 1, r, whole - left);
      add(end_column, r, right - whole);
      add(end_column + 1, r, 0U - right);
    }
  }

  int shift_;
  double width_;
  double row_bytes_;
  std::vector<uint32_t> change_;  // column by column
  std::vector<uint32_t> sum_;     // of the columns before summed_
  size_t summed_ = 0;
};

MapGrid::MapGrid(MapGrid&&) noexcept = default;
MapGrid& MapGrid::operator=(MapGrid&&) noexcept = default;
MapGrid::~MapGrid() = default;

MapGrid::MapGrid(const model::Device& device, const MapRows& rows, const FilterSet* filter)
    : MapGrid(device, rows, filter, false) {}

MapGrid MapGrid::continuable(const model::Device& device, const MapRows& rows) {
  return MapGrid(device, rows, nullptr, true);
}

MapGrid::MapGrid(const model::Device& device, const MapRows& rows, const FilterSet* filter,
                 bool is_continuable) {
  levels_.push_back({.shift = kMinShift, .columns = 0, .cells = {}});
  Level& finest = levels_.front();
  while ((device.steps() >> finest.shift) >= kMaxColumns) ++finest.shift;
  auto sums = std::make_unique<Sums>(finest.shift, rows.bandBytes());
  sums->resize((device.steps() >> finest.shift) + 1);
  for (uint64_t row = device.allocation_begin; row < device.allocation_end; ++row) {
    if (!rows.isHigh(row) && passes(filter, row)) sums->add(rows.lowAt(row));
  }
  sumUp(*sums, device.steps(), 0);
  if (is_continuable) sums_ = std::move(sums);
}

bool MapGrid::continueOn(const model::Device& device, Step from, const MapChanges& changes) {
  const Level& finest = levels_.front();
  if (!sums_ || (device.steps() >> finest.shift) >= kMaxColumns) return false;
  size_t column = std::min<size_t>(sums_->columnOf(from), finest.columns);
  sums_->goBackTo(column);
  uint32_t columns = (device.steps() >> finest.shift) + 1;
  sums_->resize(std::max(columns, finest.columns));
  for (const MapRow& block : changes.gone) sums_->remove(block);
  for (const MapRow& block : changes.come) sums_->add(block);
  sumUp(*sums_, device.steps(), column);
  return true;
}

// All levels, from this column of the finest on.
void MapGrid::sumUp(Sums& sums, Step steps, size_t from_column) {
  auto resize = [&](Level& level) {
    level.columns = (steps >> level.shift) + 1;
    level.cells.resize(size_t{level.columns} * kRows);
  };
  resize(levels_.front());
  sums.sumUp(levels_.front());
  size_t i = 1;
  for (; levels_[i - 1].columns >= kFewestColumns; ++i) {
    if (i == levels_.size()) {
      levels_.push_back({.shift = levels_[i - 1].shift + 1, .columns = 0, .cells = {}});
      from_column = 0;
    }
    resize(levels_[i]);
    from_column /= 2;
    for (size_t c = from_column; c < levels_[i].columns; ++c) halve(levels_[i - 1], levels_[i], c);
  }
  levels_.resize(i);
}

const MapGrid::Level* MapGrid::levelFor(double column_steps) const {
  const Level* best = nullptr;
  for (const Level& level : levels_) {
    if (static_cast<double>(uint64_t{1} << level.shift) <= column_steps) best = &level;
  }
  return best;
}

}  // namespace tidegauge::view
