// The address map: time × address, every allocation a rectangle at its address during its life.
// Holes are the area that no rectangle covers.
//
//   address ▲  ┌──────────────┐          exact rectangles from one pixel on, in both directions
//           │  │      a       │░░░░░     ░ smaller ones: how much of a cell they cover
//           │  └──────────────┘
//           │  ┌───┐      ┌───────┐      between: owned and free, if the owned plane says so
//           │  │ b │      │   c   │
//           └──────────────────────► step or time
//
// Coverage is a sum over lives, not over samples: nothing between two columns is lost, and a hole
// of any size lowers its cell below 255.
//
// Cost: a tile scans the rows born in its range of steps, some ns each, or only those in its range
// of addresses (map_rows.h). With millions of rows, low blocks are read from sums (map_grid.h).
// Both are built with the map, for devices with more than kDirectBirths allocations. The map of a
// recording that grows costs what is new, as long as the axis stays: 1 ms for 10,000 calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "view/filter/filter_set.h"
#include "view/filter/mark_set.h"
#include "view/map/map_grid.h"
#include "view/map/map_rows.h"
#include "view/map/owned_axis.h"
#include "view/timeline/columns.h"

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
  const MarkSet* mark = nullptr;          // up to 2,000 members are quads of any size
  const FilterSet* filter = nullptr;      // if set, `passing` is filled
  const MapGrid* passing_grid = nullptr;  // gridOf(*filter), for many tiles of one filter
};
inline constexpr uint32_t kMaxMapColumns = 1024;
inline constexpr uint32_t kMaxMapRows = 1024;

struct MapTile {
  double least_area = 0;       // in pixels: smaller rectangles are added to the planes
  std::vector<MapQuad> quads;  // outlines first
  // rows × columns, bottom row first; 0 = nothing, 255 = everything, 1…254 in between.
  std::vector<uint8_t> covered;  // by blocks without quads
  std::vector<uint8_t> owned;    // by pieces of segments
  std::vector<uint8_t> passing;  // by blocks without quads that pass the filter
};

class AddressMap {
 public:
  static constexpr uint64_t kDirectBirths = 1'000'000;

  AddressMap(const analysis::AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
             bool plain = false, uint64_t direct_births = kDirectBirths)
      : AddressMap(analysed, device, plain, direct_births, false) {}
  // The map of the first device of a recording that grows. It continues `before`, that of the trace
  // that this one continues; null or unusable: it is built anew. For the next one it takes 64 MiB
  // more, and once it was continued, up to twice its cost.
  static std::shared_ptr<AddressMap> following(const analysis::AnalysedTrace& analysed,
                                               const analysis::DeviceAnalysis& device, bool plain,
                                               std::shared_ptr<AddressMap> before,
                                               const model::Continuation& continuation,
                                               uint64_t direct_births = kDirectBirths);
  // May following() be given it?
  bool isFollowed() const { return is_followed_; }
  // Was another one continued for it?
  bool isContinued() const { return is_continued_; }

  const OwnedAxis& axis() const { return axis_; }
  MapTile tile(const MapQuestion& question) const;
  // nullptr if scanning rows is cheap.
  std::unique_ptr<const MapGrid> gridOf(const FilterSet& filter) const;

 private:
  class TileBuilder;

  AddressMap(const analysis::AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
             bool plain, uint64_t direct_births, bool is_followed);
  bool hasManyBirths() const {
    const model::Device& d = device_->device;
    return d.allocation_end - d.allocation_begin > direct_births_;
  }
  void addOoms(Step from);
  bool continueOn(const analysis::AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
                  const model::Continuation& continuation);

  const analysis::AnalysedTrace* analysed_;
  const analysis::DeviceAnalysis* device_;
  bool is_plain_, is_followed_;
  OwnedAxis axis_;
  uint64_t direct_births_;
  MapRows rows_;
  std::optional<MapGrid> grid_;  // and bands in rows_
  std::vector<Step> ooms_;
  bool is_continued_ = false;
};

}  // namespace tidegauge::view
