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

// Stored as differences from column to column. Unsigned: if a contradictory file has a thousand
// blocks at one address, a sum may wrap.
class Differences {
 public:
  Differences(int shift, uint32_t columns, double row_bytes)
      : shift_(shift),
        width_(static_cast<double>(uint64_t{1} << shift)),
        row_bytes_(row_bytes),
        change_((size_t{columns} + 2) * MapGrid::kRows) {}

  void add(const MapRow& block) {
    if (block.end <= block.first) return;
    size_t begin_column = block.first >> shift_;
    size_t end_column = block.end >> shift_;  // the column of the end
    double before = block.first / width_ - static_cast<double>(begin_column);
    double after = block.end / width_ - static_cast<double>(end_column);
    double from = block.y_bytes / row_bytes_;
    double to = from + block.size_bytes / row_bytes_;
    for (auto r = static_cast<size_t>(from); r < MapGrid::kRows && static_cast<double>(r) < to;
         ++r) {
      double height =
          std::min(to, static_cast<double>(r + 1)) - std::max(from, static_cast<double>(r));
      if (begin_column == end_column) {
        uint32_t all = share(height * (after - before));
        change(begin_column, r) += all;
        change(begin_column + 1, r) -= all;
        continue;
      }
      uint32_t whole = share(height);
      uint32_t left = share(height * (1 - before));
      uint32_t right = share(height * after);
      change(begin_column, r) += left;
      change(begin_column + 1, r) += whole - left;
      change(end_column, r) += right - whole;
      change(end_column + 1, r) -= right;
    }
  }

  void sumUp(std::vector<uint16_t>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i >= MapGrid::kRows) change_[i] += change_[i - MapGrid::kRows];
      cells[i] = cellOf(static_cast<float>(change_[i] / kCovered));
    }
  }

 private:
  static constexpr double kCovered = 1 << 22;
  static uint32_t share(double part) {  // rounded up: no block is too small to count
    return static_cast<uint32_t>(std::ceil(part * kCovered));
  }
  uint32_t& change(size_t column, size_t r) { return change_[column * MapGrid::kRows + r]; }

  int shift_;
  double width_;
  double row_bytes_;
  std::vector<uint32_t> change_;
};

MapGrid::Level halved(const MapGrid::Level& finer, Step steps) {
  constexpr size_t kRows = MapGrid::kRows;
  MapGrid::Level level{.shift = finer.shift + 1, .columns = 0, .cells = {}};
  level.columns = (steps >> level.shift) + 1;
  level.cells.resize(level.columns * kRows);
  for (size_t c = 0; c < level.columns; ++c) {
    for (size_t r = 0; r < kRows; ++r) {
      auto at = [&](size_t column) -> uint32_t {
        return column < finer.columns ? finer.cells[column * kRows + r] : 0;
      };
      level.cells[c * kRows + r] = static_cast<uint16_t>((at(2 * c) + at(2 * c + 1) + 1) / 2);
    }
  }
  return level;
}

}  // namespace

MapGrid::MapGrid(const model::Device& device, const MapRows& rows, const FilterSet* filter) {
  Level finest{.shift = kMinShift, .columns = 0, .cells = {}};
  while ((device.steps() >> finest.shift) >= kMaxColumns) ++finest.shift;
  finest.columns = (device.steps() >> finest.shift) + 1;
  {
    Differences differences(finest.shift, finest.columns, rows.bandBytes());
    for (uint64_t row = device.allocation_begin; row < device.allocation_end; ++row) {
      if (!rows.isHigh(row) && passes(filter, row)) differences.add(rows.at(row));
    }
    finest.cells.resize(size_t{finest.columns} * kRows);
    differences.sumUp(finest.cells);
  }
  levels_.push_back(std::move(finest));
  while (levels_.back().columns >= kFewestColumns) {
    levels_.push_back(halved(levels_.back(), device.steps()));
  }
}

const MapGrid::Level* MapGrid::levelFor(double column_steps) const {
  const Level* best = nullptr;
  for (const Level& level : levels_) {
    if (static_cast<double>(uint64_t{1} << level.shift) <= column_steps) best = &level;
  }
  return best;
}

}  // namespace tidegauge::view
