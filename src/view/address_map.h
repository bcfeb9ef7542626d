// The address map: time × address, every allocation a rectangle where it lay while it lived. Holes
// are what no rectangle covers.
//
//   address ▲  ┌──────────────┐          exact rectangles from one pixel on, both ways
//           │  │      a       │░░░░░     ░ smaller ones: how much of a cell they cover
//           │  └──────────────┘
//           │  ┌───┐      ┌───────┐      between: owned and free, if the owned plane says so
//           │  │ b │      │   c   │
//           └──────────────────────► step or time
//
// What is covered is a sum over lives, not over samples: nothing between two columns is lost, and a
// hole of any size lowers its cell below 255.
//
// Cost: a tile looks at the rows born in its range, some ns each. Views of millions of births read a
// pyramid instead: how much of each cell blocks lower than a row of the grid cover, in columns of
// 2^n steps; only higher blocks are looked at one by one. At most 64 MiB, and 64 more while it is
// made, when the map is first asked for; only for devices with more than kDirectBirths allocations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "view/columns.h"
#include "view/filter_set.h"
#include "view/mark_set.h"
#include "view/owned_axis.h"

namespace tidegauge::view {

enum MapFlag : uint8_t {
  kMapMarked = 1,
  kMapSegment = 2,  // a piece of a segment: an outline
  kMapAtOom = 4,    // live at an out-of-memory event
  kMapFiltered = 8,
};

// As the page reads it (docs/formats/page-api.md): 32 bytes, little-endian.
struct MapQuad {
  float column_begin = 0;  // in columns of the tile, fractions included; clipped to it
  float column_end = 0;
  float lower_bytes = 0;  // above the tile's y0
  float upper_bytes = 0;
  uint32_t id = UINT32_MAX;  // of the allocation or the segment
  uint32_t stack = UINT32_MAX;
  uint8_t provenance = 0;
  uint8_t flags = 0;  // MapFlag
  uint8_t stack_slot = 0;
  uint8_t category_slot = 0;
  uint8_t stream = 0;
  uint8_t pool = 0;
  uint16_t log2_bytes = 0;  // × 256
};
static_assert(sizeof(MapQuad) == 32);

struct MapQuestion {
  XRange x;
  double y0_bytes = 0;  // on the owned axis
  double y1_bytes = 0;
  uint32_t rows = 1;
  size_t most_quads = 8000;
  size_t most_outlines = 2000;
  const MarkSet* mark = nullptr;      // up to 2,000 members are quads whatever their size
  const FilterSet* filter = nullptr;  // then `passing` is filled
};
inline constexpr uint32_t kMostMapColumns = 1024;
inline constexpr uint32_t kMostMapRows = 1024;

struct MapTile {
  double least_area = 0;       // in pixels: smaller rectangles are in the planes
  std::vector<MapQuad> quads;  // outlines first
  // rows × columns, bottom row first; 0 = nothing, 255 = everything, 1…254 between.
  std::vector<uint8_t> covered;  // by blocks that are no quads
  std::vector<uint8_t> owned;    // by pieces of segments
  std::vector<uint8_t> passing;  // by blocks that are no quads and pass the filter
};

class AddressMap {
 public:
  static constexpr uint64_t kDirectBirths = 1'000'000;

  AddressMap(const analysis::AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
             bool plain = false, uint64_t direct_births = kDirectBirths);

  const OwnedAxis& axis() const { return axis_; }
  MapTile tile(const MapQuestion& question) const;

 private:
  static constexpr uint32_t kGridRows = 4096;
  static constexpr uint32_t kMostGridColumns = 4096;
  struct Level {
    int shift = 0;  // a column has 2^shift steps
    uint32_t columns = 0;
    std::vector<uint16_t> cells;  // column by column; 65,535 = covered
  };
  class TileBuilder;

  void buildPyramid();
  Level finestLevel() const;
  // The height of a row of the grid.
  double gridRowBytes() const {
    return static_cast<double>(std::max<uint64_t>(axis_.totalBytes(), 1)) / kGridRows;
  }
  bool isHigh(uint64_t row) const;
  Step endOf(uint64_t row) const;
  uint64_t axisOf(uint64_t row) const { return uint64_t{axis_units_[row - first_row_]} * unit_; }

  const analysis::AnalysedTrace& analysed_;
  const analysis::DeviceAnalysis& device_;
  OwnedAxis axis_;
  uint64_t direct_births_;
  uint64_t first_row_;
  uint64_t unit_ = 1;                 // bytes; so that any place on the axis has 32 bits
  std::vector<uint32_t> axis_units_;  // by row of the device
  std::vector<Step> ooms_;
  std::vector<Level> levels_;        // shortest columns first
  std::vector<uint32_t> high_rows_;  // those that are in no level, by birth
};

}  // namespace tidegauge::view
