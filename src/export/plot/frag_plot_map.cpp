// drawMap: the upper part of the picture.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.h"
#include "export/plot/frag_plot.h"
#include "view/map/address_map.h"

namespace tidegauge::exporting {
namespace {

using view::MapQuad;
using view::MapTile;

constexpr size_t kShades = 7;
// Light = small, dark = large.
constexpr std::array<Colour, kShades> kBlue = {{{205, 225, 233},
                                                {170, 204, 218},
                                                {131, 180, 202},
                                                {92, 153, 183},
                                                {58, 124, 160},
                                                {30, 92, 130},
                                                {10, 58, 94}}};
constexpr std::array<Colour, kShades> kRed = {{{250, 214, 214},
                                               {245, 181, 182},
                                               {237, 143, 147},
                                               {225, 103, 111},
                                               {205, 64, 76},
                                               {172, 30, 46},
                                               {127, 8, 24}}};
constexpr Colour kNotOwned{233, 237, 239};
// Small blocks are merged and have no size of their own.
constexpr Colour kCoveredColour{188, 205, 199};
// Cells of the planes per pixel, in both directions. A noisy file needs larger cells: kMaxRuns.
constexpr double kCells[] = {2, 1, 0.5, 0.25};
constexpr size_t kMaxRuns = 60'000;
constexpr size_t kMaxBreaks = 200;
constexpr size_t kMaxLabels = 10;

constexpr size_t kLevels = 4;  // quarters of a cell
size_t levelOf(uint8_t cell) {
  return cell == 0 ? kLevels : std::min<size_t>(cell / 64, kLevels - 1);
}

struct Place {
  const StepScale& x;
  double total_bytes;
  uint32_t columns;
  uint32_t rows;

  double columnX(double column) const {
    return x.panel.x + x.panel.width * column / static_cast<double>(columns);
  }
  double bytesY(double bytes) const {
    return x.panel.y + x.panel.height * (1 - bytes / total_bytes);
  }
};

// Cells of a plane for which `level` is the same, joined along each row: boxes by level.
std::array<std::vector<Box>, kLevels> runsOf(const std::vector<uint8_t>& plane,
                                             const Place& place) {
  std::array<std::vector<Box>, kLevels> boxes;
  double height = place.x.panel.height / static_cast<double>(place.rows);
  for (uint32_t row = 0; row < place.rows; ++row) {
    uint32_t begin = 0;
    while (begin < place.columns) {
      size_t level = levelOf(plane[size_t{row} * place.columns + begin]);
      uint32_t end = begin + 1;
      while (end < place.columns && levelOf(plane[size_t{row} * place.columns + end]) == level) {
        ++end;
      }
      if (level < kLevels) {
        double y = place.x.panel.y + place.x.panel.height - height * (row + 1.0);
        boxes[level].push_back(
            {place.columnX(begin), y, place.columnX(end) - place.columnX(begin), height});
      }
      begin = end;
    }
  }
  return boxes;
}

void drawOwned(Canvas& canvas, const MapTile& tile, const Place& place) {
  canvas.box(place.x.panel, kNotOwned);
  auto boxes = runsOf(tile.owned, place);
  for (size_t level = 0; level < kLevels; ++level) {
    canvas.boxes(boxes[level], {255, 255, 255, (static_cast<double>(level) + 1) / kLevels});
  }
}

void drawCovered(Canvas& canvas, const MapTile& tile, const Place& place) {
  auto boxes = runsOf(tile.covered, place);
  for (size_t level = 0; level < kLevels; ++level) {
    Colour colour = kCoveredColour;
    colour.opacity = (static_cast<double>(level) + 1) / kLevels;
    canvas.boxes(boxes[level], colour);
  }
}

// The scale of shades: log₂ of bytes from `least` to `most`.
struct Shades {
  double least = 9;
  double most = 30;
  size_t of(double log2_bytes) const {
    double share = most > least ? (log2_bytes - least) / (most - least) : 1;
    auto shade = static_cast<size_t>(std::clamp(share, 0.0, 1.0) * kShades);
    return std::min(shade, kShades - 1);
  }
};

double logBytes(const MapQuad& quad) { return quad.log2_bytes / 256.0; }

Shades shadesOf(const MapTile& tile) {
  Shades shades;
  shades.most = shades.least + 1;
  for (const MapQuad& quad : tile.quads) {
    if ((quad.flags & view::kMapSegment) == 0) {
      shades.most = std::max(shades.most, std::ceil(logBytes(quad)));
    }
  }
  return shades;
}

void drawQuads(Canvas& canvas, const MapTile& tile, const Place& place, const Shades& shades) {
  std::array<std::vector<Box>, 2 * kShades> boxes;  // blue, then red
  for (const MapQuad& quad : tile.quads) {
    if ((quad.flags & view::kMapSegment) != 0) continue;
    double left = place.columnX(quad.column_begin);
    double top = place.bytesY(quad.upper_bytes);
    bool red = (quad.flags & view::kMapAtOom) != 0;
    boxes[shades.of(logBytes(quad)) + (red ? kShades : 0)].push_back(
        {left, top, place.columnX(quad.column_end) - left, place.bytesY(quad.lower_bytes) - top});
  }
  for (size_t shade = 0; shade < kShades; ++shade) {
    canvas.boxes(boxes[shade], kBlue[shade]);
    canvas.boxes(boxes[shade + kShades], kRed[shade]);
  }
}

// Where addresses are omitted, and the names of the ranges between.
void drawBreaks(Canvas& canvas, const view::OwnedAxis& axis, const Place& place) {
  const std::vector<view::OwnedRange>& ranges = axis.ranges();
  const Box& panel = place.x.panel;
  size_t stride = std::max<size_t>(1, ranges.size() / kMaxBreaks);
  double free_above = panel.y + panel.height + 1;  // labels must not overlap
  size_t labels = 0;
  constexpr double kMinBetween = 8;
  double last_line = panel.y + panel.height;
  for (size_t i = 0; i < ranges.size(); i += stride) {
    double y = place.bytesY(static_cast<double>(ranges[i].axis_bytes));
    if (i > 0) {
      // Lines that lie close would hide the space between them, so they become marks on the axis.
      bool close = last_line - y < kMinBetween;
      if (!close) last_line = y;
      canvas.rule({panel.x - (close ? 5 : 0), y}, {panel.x + (close ? 0 : panel.width), y},
                  {.colour = {132, 147, 155}, .width = 0.6, .dash = 3});
    }
    if (y > free_above || labels >= 4 * kMaxLabels) continue;
    canvas.text({panel.x - 8, y - 2}, base::hexAddress(ranges[i].address),
                {.colour = PlotColours::kFaint, .size = 10, .align = Align::kRight});
    free_above = y - std::max(13.0, panel.height / (2 * kMaxLabels));
    ++labels;
  }
}

void drawPlainAxis(Canvas& canvas, const Place& place) {
  for (int i = 0; i <= 4; ++i) {
    double y = place.bytesY(place.total_bytes * i / 4.0);
    canvas.text({place.x.panel.x - 8, y + 4}, fmt::format("{:.2f}", i / 4.0),
                {.colour = PlotColours::kFaint, .size = 11, .align = Align::kRight});
  }
}

void drawLegend(Canvas& canvas, const Place& place, const Shades& shades, bool has_oom) {
  double x = place.x.panel.x + place.x.panel.width + 14;
  double y = place.x.panel.y;
  TextStyle faint{.colour = PlotColours::kFaint, .size = 11};
  canvas.text({x, y + 10}, "size of a block", faint);
  for (size_t i = 0; i < kShades; ++i) {
    size_t shade = kShades - 1 - i;
    double top = y + 18 + 18.0 * static_cast<double>(i);
    canvas.box({x, top, 16, 18}, kBlue[shade]);
    if (has_oom) canvas.box({x + 18, top, 16, 18}, kRed[shade]);
    double log2_bytes =
        shades.least + (shades.most - shades.least) * static_cast<double>(shade) / kShades;
    canvas.text(
        {x + (has_oom ? 40 : 22), top + 16},
        (shade == 0 ? "below " : "") +
            base::humanBytes(static_cast<uint64_t>(std::exp2(
                shade == 0 ? log2_bytes + (shades.most - shades.least) / kShades : log2_bytes))),
        faint);
  }
  double below = y + 18 + 18.0 * kShades + 18;
  if (has_oom) {
    canvas.text({x, below}, "red: live when out", faint);
    canvas.text({x, below + 14}, "of memory", faint);
    below += 34;
  }
  canvas.box({x, below, 16, 12}, {255, 255, 255});
  const Point frame[] = {
      {x, below}, {x + 16, below}, {x + 16, below + 12}, {x, below + 12}, {x, below}};
  canvas.line(frame, {.colour = {132, 147, 155}, .width = 0.6});
  canvas.text({x + 22, below + 10}, "hole: owned, free", faint);
  canvas.box({x, below + 20, 16, 12}, kNotOwned);
  canvas.text({x + 22, below + 30}, "not owned then", faint);
  canvas.box({x, below + 40, 16, 12}, kCoveredColour);
  canvas.text({x + 22, below + 50}, "smaller than a pixel,", faint);
  canvas.text({x + 22, below + 64}, "by what they cover", faint);
}

uint32_t cellsOf(double pixels, double per_pixel, uint32_t most) {
  return std::clamp(static_cast<uint32_t>(pixels * per_pixel), uint32_t{1}, most);
}

// Approximate number of boxes for the plane.
size_t changesOf(const std::vector<uint8_t>& plane) {
  size_t changes = 0;
  for (size_t i = 1; i < plane.size(); ++i) changes += levelOf(plane[i]) != levelOf(plane[i - 1]);
  return changes;
}

}  // namespace

void drawMap(Canvas& canvas, const analysis::AnalysedTrace& analysed,
             const analysis::DeviceAnalysis& device, const StepScale& x, bool plain_address) {
  view::AddressMap map(analysed, device, plain_address);
  auto total = static_cast<double>(map.axis().totalBytes());
  if (total == 0) {
    canvas.text({x.panel.x + 8, x.panel.y + 20}, "This device never owned memory.",
                {.colour = PlotColours::kFaint, .size = 12});
    return;
  }
  Place place{x, total, 0, 0};
  MapTile tile;
  for (double cells : kCells) {
    place.columns = cellsOf(x.panel.width, cells, view::kMaxMapColumns);
    place.rows = cellsOf(x.panel.height, cells, view::kMaxMapRows);
    tile = map.tile({.x = {.axis = view::Axis::kStep,
                           .x0 = static_cast<double>(x.first),
                           .x1 = static_cast<double>(x.last) + 1,
                           .columns = place.columns},
                     .y0_bytes = 0,
                     .y1_bytes = total,
                     .rows = place.rows});
    if (changesOf(tile.covered) + changesOf(tile.owned) <= kMaxRuns) break;
  }
  Shades shades = shadesOf(tile);
  drawOwned(canvas, tile, place);
  drawCovered(canvas, tile, place);
  drawQuads(canvas, tile, place, shades);
  canvas.text({x.panel.x, x.panel.y - 10}, "Where blocks lay, while they lived",
              {.colour = PlotColours::kInk, .size = 13, .strong = true});
  if (size_t ranges = map.axis().ranges().size(); ranges > 1) {
    canvas.text(
        {x.panel.x + 260, x.panel.y - 10},
        fmt::format("{} owned, addresses between are left out", base::counted(ranges, "range")),
        {.colour = PlotColours::kFaint, .size = 11});
  }
  bool has_oom = std::any_of(tile.quads.begin(), tile.quads.end(), [](const MapQuad& quad) {
    return (quad.flags & view::kMapAtOom) != 0;
  });
  if (plain_address) {
    drawPlainAxis(canvas, place);
  } else {
    drawBreaks(canvas, map.axis(), place);
  }
  drawLegend(canvas, place, shades, has_oom);
}

}  // namespace tidegauge::exporting
