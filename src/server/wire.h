// Pictures as bytes: the tables of docs/formats/page-api.md, little-endian.
#pragma once

#include <string>
#include <vector>

#include "view/columns.h"
#include "view/stack_tile.h"

namespace tidegauge::server {

std::string tileBytes(const view::StackTile& tile, const view::XRange& range, double engine_ms);
std::string linesBytes(const std::vector<view::ColumnState>& columns, const view::XRange& range);
// `lower` as view::lowerEdges gives it.
std::string shapeBytes(const std::vector<double>& lower, uint64_t block_bytes);

}  // namespace tidegauge::server
