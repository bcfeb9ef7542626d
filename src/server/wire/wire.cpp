#include "server/wire/wire.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tidegauge::server {
namespace {

static_assert(std::endian::native == std::endian::little, "the page reads little-endian columns");

template <class T>
void append(std::string& bytes, T value) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  bytes.append(raw, sizeof(T));
}

}  // namespace

std::string tileBytes(const view::StackTile& tile, const view::XRange& range, double engine_ms) {
  std::string bytes;
  bytes.reserve(64 + tile.quads.size() * sizeof(view::Quad));
  append<uint32_t>(bytes, 0x31544754);  // "TGT1"
  append<uint32_t>(bytes, range.columns);
  append<uint32_t>(bytes, static_cast<uint32_t>(tile.quads.size()));
  append<uint32_t>(bytes, tile.threshold_raised ? 1 : 0);
  append<double>(bytes, range.x0);
  append<double>(bytes, range.x1);
  append<double>(bytes, tile.origin_bytes);
  append<double>(bytes, tile.threshold_bytes);
  append<double>(bytes, static_cast<double>(tile.highest_active_bytes));
  append<double>(bytes, engine_ms);
  bytes.append(reinterpret_cast<const char*>(tile.quads.data()),
               tile.quads.size() * sizeof(view::Quad));
  return bytes;
}

std::string linesBytes(const std::vector<view::ColumnState>& columns, const view::XRange& range) {
  std::string bytes;
  bytes.reserve(32 + columns.size() * 44);
  append<uint32_t>(bytes, 0x314c4754);  // "TGL1"
  append<uint32_t>(bytes, static_cast<uint32_t>(columns.size()));
  append<uint64_t>(bytes, 0);
  append<double>(bytes, range.x0);
  append<double>(bytes, range.x1);
  auto appendColumn = [&](uint64_t analysis::Span::*field) {
    for (const view::ColumnState& column : columns) {
      bool outside = column.sample == model::kNoStep;
      append<double>(bytes, outside ? std::numeric_limits<double>::quiet_NaN()
                                    : static_cast<double>(column.span.*field));
    }
  };
  appendColumn(&analysis::Span::active_min);
  appendColumn(&analysis::Span::active_max);
  appendColumn(&analysis::Span::reserved_min);
  appendColumn(&analysis::Span::reserved_max);
  appendColumn(&analysis::Span::requested_max);
  for (const view::ColumnState& column : columns) append<uint32_t>(bytes, column.sample);
  return bytes;
}

std::string mapBytes(const view::MapTile& tile, const view::MapQuestion& question,
                     double axis_bytes, double engine_ms) {
  std::string bytes;
  bytes.reserve(80 + tile.quads.size() * sizeof(view::MapQuad) + tile.covered.size() * 3);
  append<uint32_t>(bytes, 0x314d4754);  // "TGM1"
  append<uint32_t>(bytes, question.x.columns);
  append<uint32_t>(bytes, question.rows);
  append<uint32_t>(bytes, static_cast<uint32_t>(tile.quads.size()));
  append<uint32_t>(bytes, tile.passing.empty() ? 2 : 3);  // planes
  append<uint32_t>(bytes, 0);
  append<double>(bytes, question.x.x0);
  append<double>(bytes, question.x.x1);
  append<double>(bytes, question.y0_bytes);
  append<double>(bytes, question.y1_bytes);
  append<double>(bytes, axis_bytes);
  append<double>(bytes, tile.least_area);
  append<double>(bytes, engine_ms);
  bytes.append(reinterpret_cast<const char*>(tile.quads.data()),
               tile.quads.size() * sizeof(view::MapQuad));
  for (const auto* plane : {&tile.covered, &tile.owned, &tile.passing}) {
    bytes.append(reinterpret_cast<const char*>(plane->data()), plane->size());
  }
  return bytes;
}

std::string shapeBytes(const std::vector<double>& lower, uint64_t block_bytes) {
  double origin = 0;
  for (double edge : lower) {
    if (!std::isnan(edge)) {
      origin = edge;
      break;
    }
  }
  std::string bytes;
  bytes.reserve(32 + lower.size() * 4);
  append<uint32_t>(bytes, 0x31534754);  // "TGS1"
  append<uint32_t>(bytes, static_cast<uint32_t>(lower.size()));
  append<double>(bytes, origin);
  append<double>(bytes, static_cast<double>(block_bytes));
  append<double>(bytes, 0);
  for (double edge : lower) append<float>(bytes, static_cast<float>(edge - origin));
  return bytes;
}

}  // namespace tidegauge::server
