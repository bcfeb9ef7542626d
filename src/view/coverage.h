// How much of each cell of a grid some rectangles cover, from 0 to 1.
//
//   add(0.5, 3.25, 0, 1)      | ½ | 1 | 1 | ¼ |       the middle is kept as a difference, so that a
//                                                     wide rectangle costs no more than a narrow one
//
// Rectangles should not overlap; where they do, a cell is full earlier. Cost: O(rows it touches).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace tidegauge::view {

class Coverage {
 public:
  Coverage(uint32_t columns, uint32_t rows)
      : columns_(columns), rows_(rows), cells_(size_t{columns} * rows), steps_(cells_.size()) {}

  // In columns and rows; what lies outside is cut off.
  void add(double left, double right, double lower, double upper) {
    left = std::max(left, 0.0);
    right = std::min(right, static_cast<double>(columns_));
    lower = std::max(lower, 0.0);
    upper = std::min(upper, static_cast<double>(rows_));
    if (!(left < right && lower < upper)) return;
    auto first = static_cast<size_t>(left);
    auto last = static_cast<size_t>(right);  // the column that holds the right edge
    for (auto r = static_cast<size_t>(lower); r < rows_ && static_cast<double>(r) < upper; ++r) {
      double height =
          std::min(upper, static_cast<double>(r + 1)) - std::max(lower, static_cast<double>(r));
      float* cells = cells_.data() + r * columns_;
      if (first == last) {
        cells[first] += static_cast<float>(height * (right - left));
        continue;
      }
      cells[first] += static_cast<float>(height * (static_cast<double>(first + 1) - left));
      if (last < columns_)
        cells[last] += static_cast<float>(height * (right - static_cast<double>(last)));
      if (last > first + 1) {
        double* steps = steps_.data() + r * columns_;
        steps[first + 1] += height;
        if (last < columns_) steps[last] -= height;
      }
    }
  }

  // What each row of one column is covered by besides.
  void addColumn(uint32_t column, std::span<const float> by_row) {
    for (size_t r = 0; r < rows_; ++r) cells_[r * columns_ + column] += by_row[r];
  }

  // 0 = nothing, 255 = everything, else 1…254: neither a small block nor a small hole disappears.
  std::vector<uint8_t> levels() const {
    constexpr double kNothing = 1e-9;       // what adding and taking away again may leave
    constexpr float kEverything = 0.9995F;  // sums of many parts are not exact
    std::vector<uint8_t> levels(cells_.size());
    for (size_t r = 0; r < rows_; ++r) {
      double running = 0;
      for (size_t c = 0; c < columns_; ++c) {
        size_t i = r * columns_ + c;
        running += steps_[i];
        float covered = cells_[i] + static_cast<float>(running > kNothing ? running : 0);
        if (covered <= 0) continue;
        levels[i] =
            covered >= kEverything
                ? 255
                : static_cast<uint8_t>(std::clamp(std::ceil(covered * 254.0F), 1.0F, 254.0F));
      }
    }
    return levels;
  }

 private:
  uint32_t columns_;
  uint32_t rows_;
  std::vector<float> cells_;
  std::vector<double> steps_;  // what each cell has more than the one to the left of it
};

}  // namespace tidegauge::view
