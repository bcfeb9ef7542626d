// Pictures as bytes: the tables of docs/formats/page-api.md, little-endian.
#pragma once

#include <string>
#include <vector>

#include "view/map/address_map.h"
#include "view/timeline/columns.h"
#include "view/timeline/stack_tile.h"

namespace tidegauge::server {

std::string tileBytes(const view::StackTile& tile, const view::XRange& range, double engine_ms);
std::string linesBytes(const std::vector<view::ColumnState>& columns, const view::XRange& range);
std::string mapBytes(const view::MapTile& tile, const view::MapQuestion& question,
                     double axis_bytes, double engine_ms);
// `lower` from view::lowerEdges.
std::string shapeBytes(const std::vector<double>& lower, uint64_t block_bytes);

}  // namespace tidegauge::server
