// A tile of the stacked timeline: every allocation a block as high as it is large, on top of older
// ones, from its first step to its last.
//
//   bytes  ▲     ┌──c──┐           per column: the blocks live at the column's sample, stacked
//          │  ┌──┴──┬──┴─┐  ┌─d─┐  in drawing order. A block becomes one quad per run of
//          │  │  b  │ b  └──┴─b─┤  columns in which it has the same height.
//          │  └─────┴────┴──────┘
//          │  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒  blocks lower than the threshold are merged with neighbours
//          └───────────────────────►
//
// Edges are rounded to pixel rows (multiples of px from 0), so the picture is exact to half a row,
// neighbours meet without a gap, and an invisible shift does not end a run. With too many quads,
// the threshold is raised until they fit; for a busy recording, it starts from an estimate.
//
// Cost: finding the parts of the stack (stack_parts.h), then O(sum over the parts of their
// samples), a few ns each. Measured in bench/tile_bench.cpp.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "view/filter/filter_set.h"
#include "view/filter/mark_set.h"
#include "view/timeline/columns.h"

namespace tidegauge::view {

enum QuadFlag : uint8_t {
  kQuadMarked = 1,   // a member of the mark, or merged blocks with a member among them
  kQuadMerged = 2,   // blocks lower than the threshold, in the colours of the largest of them
  kQuadWaiting = 4,  // freed by the program, but waiting for other streams
  // Does not pass the filter. Merged: the largest of the blocks does not.
  kQuadFiltered = 8,
};

inline constexpr uint32_t kNoId = UINT32_MAX;

// As the page reads it (docs/formats/page-api.md): 32 bytes, little-endian.
struct Quad {
  uint16_t column_begin = 0;
  uint16_t column_end = 0;
  float lower_bytes = 0;  // above the tile's origin
  float upper_bytes = 0;
  uint32_t allocation = kNoId;
  uint32_t stack = kNoId;
  uint8_t provenance = 0;  // model::Provenance
  uint8_t flags = 0;       // QuadFlag
  uint8_t stack_slot = 0;
  uint8_t category_slot = 0;
  uint8_t stream = 0;
  uint8_t pool = 0;
  uint16_t log2_bytes = 0;  // of the block, × 256
  uint32_t first_step = 0;  // merged: number of blocks at the first column
};
static_assert(sizeof(Quad) == 32);

struct TileRequest {
  XRange x;  // at most kMaxTileColumns
  double y0_bytes = 0;
  double y1_bytes = 0;
  double row_bytes = 1;           // bytes per pixel row, at least 1
  const MarkSet* mark = nullptr;  // its members are never merged
  const FilterSet* filter = nullptr;
  size_t most_quads = 8000;
  std::stop_token stop{};  // nobody waits for the tile any more
};
inline constexpr uint32_t kMaxTileColumns = 1024;

struct StackTile {
  double origin_bytes = 0;
  double threshold_bytes = 0;
  bool threshold_raised = false;
  bool stopped = false;  // the rest is not usable
  uint64_t highest_active_bytes = 0;
  std::vector<Quad> quads;
};

StackTile stackTile(const analysis::AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
                    const TileRequest& request);

}  // namespace tidegauge::view
