// How much of the address map its low blocks cover, added up once in columns of 2^n steps and rows
// of a band, so that a tile over millions of births reads sums.
//
//   level 0   |▒|░|▓|▒|░|░|▒|▒|     columns of 2^10 steps or more, at most 4,096
//   level 1   | ▒ | ▓ | ░ | ▒ |     two in one; … down to 128
//
// What is covered is a sum over lives, in whole numbers: what a life adds where it begins it takes
// away again to the last bit where it ends, and a life costs the same however long it is. Rounded
// up: what is there stays there. Cost: at most 64 MiB, and 64 more while it is made.
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

  // With a filter: of those that pass.
  MapGrid(const model::Device& device, const MapRows& rows, const FilterSet* filter = nullptr);

  // The one whose columns are just not wider; nullptr if all are.
  const Level* levelFor(double column_steps) const;

 private:
  std::vector<Level> levels_;  // shortest columns first
};

}  // namespace tidegauge::view
