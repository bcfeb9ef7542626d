#include "wss/measure/heat_map.h"

#include <algorithm>
#include <bit>

#include "wss/pages/page_sums.h"

namespace tidegauge::wss {
namespace {

constexpr size_t kPagesOfCell = 16;  // of the smallest cell, and the bits of an uint16_t

}  // namespace

void HeatMap::addCell(std::vector<Cell>& cells, const Cell& cell) const {
  uint64_t address = cell.address >> shift_ << shift_;
  if (cells.empty() || cells.back().address != address) cells.push_back({address, 0, 0});
  cells.back().there += cell.there;
  cells.back().touched += cell.touched;
}

void HeatMap::coarsen() {
  shift_ += 1;
  for (Column& column : columns_) {
    std::vector<Cell> cells;
    for (const Cell& cell : column.cells) addCell(cells, cell);
    column.cells = std::move(cells);
  }
}

namespace {

std::vector<HeatMap::Cell> together(const std::vector<HeatMap::Cell>& one,
                                    const std::vector<HeatMap::Cell>& other) {
  std::vector<HeatMap::Cell> both;
  auto a = one.begin(), b = other.begin();
  while (a != one.end() || b != other.end()) {
    if (b == other.end() || (a != one.end() && a->address < b->address)) {
      both.push_back(*a++);
    } else if (a == one.end() || b->address < a->address) {
      both.push_back(*b++);
    } else {
      both.push_back({a->address, a->there + b->there, a->touched + b->touched});
      ++a, ++b;
    }
  }
  return both;
}

}  // namespace

std::vector<HeatMap::Cell> cellsOf(std::span<const PageBits> tables) {
  std::vector<HeatMap::Cell> cells;
  for (const PageBits& bits : tables) {
    for (size_t word = 0; word < bits.there.size(); ++word) {
      for (size_t part = 0; part < 64; part += kPagesOfCell) {
        auto there = static_cast<uint16_t>(bits.there[word] >> part);
        auto touched = static_cast<uint16_t>(bits.touched[word] >> part);
        if (there == 0) continue;
        cells.push_back({bits.table + (word * 64 + part) * kPage,
                         static_cast<uint32_t>(std::popcount(there)),
                         static_cast<uint32_t>(std::popcount(touched))});
      }
    }
  }
  return cells;
}

void HeatMap::add(double begin_s, double end_s, std::span<const PageBits> tables) {
  addCells(begin_s, end_s, cellsOf(tables));
}

void HeatMap::addCells(double begin_s, double end_s, std::span<const Cell> small) {
  Column column{begin_s, end_s, {}};
  for (const Cell& cell : small) addCell(column.cells, cell);
  bool goes_on = in_last_ != 0 && in_last_ < windows_;
  if (goes_on) {
    columns_.back().cells = together(columns_.back().cells, column.cells);
    columns_.back().end_s = end_s;
  } else {
    columns_.push_back(std::move(column));
  }
  in_last_ = goes_on ? in_last_ + 1 : 1;
  while (columns_.back().cells.size() > kMaxCells) coarsen();
  static_assert(kMaxColumns % 2 == 0);
  if (columns_.size() <= kMaxColumns || in_last_ < windows_) return;
  // One more than fits: pairs are merged, and an odd last one waits for its partner.
  std::vector<Column> halved;
  for (size_t i = 0; i < columns_.size(); i += 2) {
    halved.push_back(std::move(columns_[i]));
    if (i + 1 == columns_.size()) break;
    halved.back().cells = together(halved.back().cells, columns_[i + 1].cells);
    halved.back().end_s = columns_[i + 1].end_s;
  }
  windows_ *= 2;
  columns_ = std::move(halved);
  // Two columns with different addresses are longer together.
  auto isTooLong = [](const Column& it) { return it.cells.size() > kMaxCells; };
  while (std::ranges::any_of(columns_, isTooLong)) coarsen();
}

std::vector<uint64_t> HeatMap::addresses() const {
  std::vector<uint64_t> all;
  for (const Column& column : columns_)
    for (const Cell& cell : column.cells) all.push_back(cell.address);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

HeatPicture pictureOf(const HeatMap& map, size_t most_rows, size_t most_columns) {
  HeatPicture picture;
  std::vector<uint64_t> addresses = map.addresses();
  size_t columns = std::min(map.columns().size(), most_columns);
  size_t rows = std::min(addresses.size(), most_rows);
  if (columns == 0 || rows == 0) return picture;
  auto rowOf = [&](size_t cell) { return cell * rows / addresses.size(); };
  for (size_t i = 0; i < addresses.size(); ++i) {
    uint64_t end = addresses[i] + map.cellBytes();
    if (rowOf(i) == picture.rows.size()) picture.rows.push_back({addresses[i], end});
    picture.rows.back().end = end;
  }
  std::vector<uint64_t> there(rows * columns), touched(rows * columns);
  for (size_t i = 0; i < map.columns().size(); ++i) {
    const HeatMap::Column& column = map.columns()[i];
    size_t x = i * columns / map.columns().size();
    if (x == picture.ends_s.size()) picture.ends_s.push_back(0);
    picture.ends_s.back() = column.end_s;
    size_t at = 0;
    for (const HeatMap::Cell& cell : column.cells) {
      while (addresses[at] < cell.address) ++at;
      there[rowOf(at) * columns + x] += cell.there;
      touched[rowOf(at) * columns + x] += cell.touched;
    }
  }
  for (size_t i = 0; i < there.size(); ++i)
    picture.heat.push_back(
        there[i] == 0 ? -1.0F : static_cast<float>(touched[i]) / static_cast<float>(there[i]));
  return picture;
}

}  // namespace tidegauge::wss
