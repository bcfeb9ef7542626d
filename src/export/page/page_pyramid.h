// The pictures of an exported page: tiles and lines of a device, level by level, from the one tile
// that shows everything to the finest that fits.
//
//   level 2   |               0               |          a tile is 512 columns of 2^level steps
//   level 1   |       0       |       1       |          and one row of 4096 pixel rows of
//   level 0   |   0   |   1   |   2   |   3   |          2^row_level bytes
//                         [ range ]                      kept: tiles that touch it
//
// The grid is the page's own (web/src/gl/tile_address.ts), so that a tile means the same there.
#pragma once

#include "export/page/one_file_page.h"
#include "export/page/page_pack.h"

namespace tidegauge::exporting {

struct Pyramid {
  PagePack pack;
  uint32_t coarsest_level = 0;
  uint32_t finest_level = 0;
  std::vector<uint32_t> drawn;  // allocations drawn individually, ascending
};

// log2 of the bytes per pixel row: the highest state takes 1,024 to 2,048 rows.
uint32_t rowLevelFor(uint64_t highest_bytes);
// The level whose first tile covers all steps.
uint32_t coarsestLevelFor(analysis::Step steps);

// Levels in `range` until `most_bytes` of text are full. An error (kLimit) if the first does not
// fit.
base::Result<Pyramid> pyramidOf(const Ask& ask, const analysis::DeviceAnalysis& device,
                                const analysis::StepRange& range, size_t most_bytes);

}  // namespace tidegauge::exporting
