// Which part of the memory was touched when: address by time.
//
//   address ▲  ░░▓▓░░░░     a column: one window, or several consecutive ones
//           │  ████████     a cell: some KiB of addresses; its heat is the share of its pages
//           └──────────►    that were touched, 0 to 1; unmapped addresses have no cell
//
// Cells start with 64 KiB. If there are too many cells or columns, pairs are merged. So the memory
// is bounded (some 130 MB), however large the process is and however long it is watched.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wss/pages/page_bits.h"

namespace tidegauge::wss {

class HeatMap {
 public:
  struct Cell {
    uint64_t address = 0;
    uint32_t there = 0, touched = 0;  // pages, summed over the windows of its column
  };
  struct Column {
    double begin_s = 0, end_s = 0;  // since the beginning
    std::vector<Cell> cells;        // in the order of addresses
  };
  static constexpr size_t kMaxColumns = 512,
                          kMaxCells = 16384;  // and one more column until it is full

  // Adds the next window; tables in the order of addresses.
  void add(double begin_s, double end_s, std::span<const PageBits> tables);
  // The same for cells of an earlier measurement (cellsOf): 64 KiB each, in order.
  void addCells(double begin_s, double end_s, std::span<const Cell> small);

  const std::vector<Column>& columns() const { return columns_; }
  uint64_t cellBytes() const { return uint64_t{1} << shift_; }
  // All addresses with a cell in some column, in order.
  std::vector<uint64_t> addresses() const;

 private:
  void addCell(std::vector<Cell>& cells, const Cell& cell) const;
  void coarsen();

  std::vector<Column> columns_;
  uint32_t shift_ = 16;
  uint32_t windows_ = 1;  // per column
  uint32_t in_last_ = 0;  // of these, in the last column
};

// The smallest cells of one window: 64 KiB each.
std::vector<HeatMap::Cell> cellsOf(std::span<const PageBits> tables);

// The map in the size to be drawn: adjacent cells are merged.
struct HeatPicture {
  struct Row {
    uint64_t begin = 0, end = 0;  // addresses; unmapped ones between are left out
  };
  std::vector<Row> rows;       // lowest addresses first
  std::vector<double> ends_s;  // of each column
  std::vector<float> heat;     // row by row; below 0: unmapped
  float at(size_t row, size_t column) const { return heat[row * ends_s.size() + column]; }
};
HeatPicture pictureOf(const HeatMap& map, size_t most_rows, size_t most_columns);

}  // namespace tidegauge::wss
