// The share of each cell of a grid that rectangles cover, from 0 to 1.
//
//   add({0.5, 3.25, 0, 1})     | ½ | 1 | 1 | ¼ |      the middle is stored as a difference, so
//                                                     wide rectangles cost no more than narrow ones
//
// Rectangles should not overlap; if they do, a cell is full too early. Stored by column: blocks
// come in order of birth, so each is near the one before. Cost: O(rows it touches).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace tidegauge::view {

struct Box {  // in columns and rows; may extend beyond the grid
  double left = 0, right = 0, lower = 0, upper = 0;

  bool isIn(uint32_t columns, uint32_t rows) const {
    return left < right && right > 0 && left < columns && lower < upper && upper > 0 &&
           lower < rows;
  }
};

class Coverage {
 public:
  Coverage(uint32_t columns, uint32_t rows)
      : columns_(columns), rows_(rows), cells_(size_t{columns} * rows), steps_(cells_.size()) {}

  // The part outside is cut off.
  void add(const Box& box) {
    double left = std::max(box.left, 0.0);
    double right = std::min(box.right, static_cast<double>(columns_));
    double lower = std::max(box.lower, 0.0);
    double upper = std::min(box.upper, static_cast<double>(rows_));
    if (!(left < right && lower < upper)) return;
    auto first = static_cast<size_t>(left);
    auto last = static_cast<size_t>(right);  // the column of the right edge
    auto begin_row = static_cast<size_t>(lower);
    auto end_row = std::min<size_t>(rows_, static_cast<size_t>(std::ceil(upper)));
    auto addTo = [&](auto& cells, size_t column, double share) {
      auto* cell = cells.data() + column * rows_;
      for (size_t r = begin_row; r < end_row; ++r) {
        double height =
            std::min(upper, static_cast<double>(r + 1)) - std::max(lower, static_cast<double>(r));
        cell[r] += static_cast<std::remove_reference_t<decltype(*cell)>>(height * share);
      }
    };
    if (first == last) return addTo(cells_, first, right - left);
    addTo(cells_, first, static_cast<double>(first + 1) - left);
    if (last < columns_) addTo(cells_, last, right - static_cast<double>(last));
    if (last > first + 1) {
      addTo(steps_, first + 1, 1);
      if (last < columns_) addTo(steps_, last, -1);
    }
  }

  // Adds further coverage of each row of one column.
  void addColumn(uint32_t column, std::span<const float> by_row) {
    float* cells = cells_.data() + size_t{column} * rows_;
    for (size_t r = 0; r < rows_; ++r) cells[r] += by_row[r];
  }

  // Row by row. 0 = nothing, 255 = everything, else 1…254: neither a small block nor a small hole
  // vanishes.
  std::vector<uint8_t> levels() const {
    constexpr double kNothing = 1e-9;       // rounding error of adding and subtracting
    constexpr float kEverything = 0.9995F;  // sums of many parts are not exact
    std::vector<uint8_t> levels(cells_.size());
    std::vector<double> running(rows_);
    for (size_t c = 0; c < columns_; ++c) {
      for (size_t r = 0; r < rows_; ++r) {
        running[r] += steps_[c * rows_ + r];
        float covered =
            cells_[c * rows_ + r] + static_cast<float>(running[r] > kNothing ? running[r] : 0);
        if (covered <= 0) continue;
        float wanted = std::min(covered, 1.0F) * 254.0F;
        auto level = static_cast<uint32_t>(wanted);
        level += static_cast<float>(level) < wanted ? 1 : 0;  // up
        levels[r * columns_ + c] =
            static_cast<uint8_t>(covered >= kEverything ? 255 : std::clamp(level, 1U, 254U));
      }
    }
    return levels;
  }

 private:
  uint32_t columns_;
  uint32_t rows_;
  std::vector<float> cells_;
  std::vector<double> steps_;  // the difference of each cell to its left neighbour
};

}  // namespace tidegauge::view
