// The coverage of the address map by low blocks, summed once in columns of 2^n steps and rows of a
// band, so that a tile over millions of births reads sums.
//
//   level 0   |▒|░|▓|▒|░|░|▒|▒|     columns of 2^10 steps or more, at most 4,096
//   level 1   | ▒ | ▓ | ░ | ▒ |     two columns in one; … down to 128
//
// Coverage is a sum over lives, in integers: a life adds an amount where it begins and subtracts
// exactly that where it ends, so long lives cost no more than short ones. Rounded up: existing
// blocks never vanish. Cost: at most 64 MiB, and 64 more while it is built.
#pragma once

#include <cstdint>
#include <vector>

#include "view/filter/filter_set.h"
#include "view/map/map_rows.h"

namespace tidegauge::view {

class MapGrid {
 public:
  static constexpr uint32_t kRows = MapRows::kBands;

  struct Level {
    int shift = 0;  // a column has 2^shift steps
    uint32_t columns = 0;
    std::vector<uint16_t> cells;  // column by column; 65,535 = covered
  };

  // With a filter: only rows that pass it.
  MapGrid(const model::Device& device, const MapRows& rows, const FilterSet* filter = nullptr);

  // The level with the widest columns that are not wider; nullptr if all are wider.
  const Level* levelFor(double column_steps) const;

 private:
  std::vector<Level> levels_;  // shortest columns first
};

}  // namespace tidegauge::view
