// The coverage of the address map by low blocks, summed once in columns of 2^n steps and rows of a
// band, so that a tile over millions of births reads sums.
//
//   level 0   |▒|░|▓|▒|░|░|▒|▒|     columns of 2^10 steps or more, at most 4,096
//   level 1   | ▒ | ▓ | ░ | ▒ |     two columns in one; … down to 128
//
// Coverage is a sum over lives, in integers: a life adds an amount where it begins and subtracts
// exactly that where it ends, so long lives cost no more than short ones. Rounded up: existing
// blocks never vanish. Cost: at most 64 MiB, and 64 more while it is built, or as long as it may be
// continued.
#pragma once

#include <cstdint>
#include <memory>
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
  MapGrid(MapGrid&&) noexcept;
  MapGrid& operator=(MapGrid&&) noexcept;
  ~MapGrid();

  // From now on, or until it returns false, continueOn() may be called.
  static MapGrid continuable(const model::Device& device, const MapRows& rows);
  // Now of `device`. Nothing has changed before step `from`. False: the columns are wider now, so
  // it must be built anew.
  bool continueOn(const model::Device& device, Step from, const MapChanges& changes);

  // The level with the widest columns that are not wider; nullptr if all are wider.
  const Level* levelFor(double column_steps) const;

 private:
  class Sums;
  MapGrid(const model::Device& device, const MapRows& rows, const FilterSet* filter,
          bool is_continuable);
  void sumUp(Sums& sums, Step steps, size_t from_column);

  std::vector<Level> levels_;  // shortest columns first
  std::unique_ptr<Sums> sums_;
};

}  // namespace tidegauge::view
