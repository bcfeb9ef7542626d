#include "export/page/page_pyramid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "export/page/distinct_ids.h"
#include "view/timeline/stack_tile.h"

namespace tidegauge::exporting {
namespace {

using analysis::Step;

constexpr uint64_t kColumns = 512;
constexpr uint64_t kRows = 4096;
constexpr uint64_t kUsedRows = 2048;
// docs/formats/page-api.md: the header of a tile, and the position of the engine's time in it.
constexpr size_t kHeadBytes = 64;
constexpr size_t kEngineTimeAt = 56;

// The same file must give the same page, so the time to compute a tile is removed.
void forgetEngineTime(std::string& tile) {
  if (tile.size() >= kHeadBytes) tile.replace(kEngineTimeAt, sizeof(double), sizeof(double), '\0');
}

void collectDrawn(std::string_view tile, DistinctIds& drawn) {
  for (size_t at = kHeadBytes; at + sizeof(view::Quad) <= tile.size(); at += sizeof(view::Quad)) {
    view::Quad quad;
    std::memcpy(&quad, tile.data() + at, sizeof quad);
    if (quad.allocation != view::kNoId) drawn.add(quad.allocation);
  }
}

struct Level {
  PagePack pack;
  DistinctIds drawn;
  bool fits = false;
};

base::Result<Level> levelOf(const Ask& ask, const analysis::DeviceAnalysis& device,
                            const analysis::StepRange& range, uint32_t level, size_t most_bytes) {
  Level made;
  uint64_t span = kColumns << level;
  double row_bytes =
      std::ldexp(1.0, static_cast<int>(rowLevelFor(device.totals.peakActive().bytes)));
  double height = row_bytes * kRows;
  for (uint64_t index = range.first / span; index <= range.last / span; ++index) {
    std::string x = fmt::format("device={}&axis=step&x0={}&x1={}&columns={}", device.device.ordinal,
                                index * span, (index + 1) * span, kColumns);
    std::string key =
        fmt::format("?device={}&index={}&level={}", device.device.ordinal, index, level);
    TG_ASSIGN_OR_RETURN(std::string tile,
                        ask(fmt::format("tile?{}&y0=0&y1={:.0f}&px={:.0f}", x, height, row_bytes)));
    forgetEngineTime(tile);
    collectDrawn(tile, made.drawn);
    made.pack.add("tile" + key, bytePlanes(tile, kHeadBytes, sizeof(view::Quad)));
    TG_ASSIGN_OR_RETURN(std::string lines, ask("lines?" + x));
    made.pack.add("lines" + key, lines);
    if (made.pack.htmlBytes() > most_bytes) return made;  // it only grows
  }
  made.pack.close();
  made.fits = made.pack.htmlBytes() <= most_bytes;
  return made;
}

}  // namespace

uint32_t rowLevelFor(uint64_t highest_bytes) {
  uint32_t level = 0;
  while (level < 64 && (highest_bytes >> level) > kUsedRows) ++level;
  return level;
}

uint32_t coarsestLevelFor(Step steps) {
  uint32_t level = 0;
  while ((kColumns << level) < steps) ++level;
  return level;
}

base::Result<Pyramid> pyramidOf(const Ask& ask, const analysis::DeviceAnalysis& device,
                                const analysis::StepRange& range, size_t most_bytes) {
  Pyramid pyramid;
  pyramid.coarsest_level = pyramid.finest_level = coarsestLevelFor(device.totals.steps());
  for (uint32_t level = pyramid.coarsest_level + 1; level-- > 0;) {
    size_t used = pyramid.pack.htmlBytes();
    size_t left = most_bytes - std::min(most_bytes, used);
    TG_ASSIGN_OR_RETURN(Level made, levelOf(ask, device, range, level, left));
    if (!made.fits) {
      if (level < pyramid.coarsest_level) break;
      return base::Error{
          base::ErrorKind::kLimit, "not even one picture of the timeline fits", {}, {}};
    }
    pyramid.pack.append(std::move(made.pack));
    std::vector<uint32_t> drawn = made.drawn.take(), all;
    std::set_union(pyramid.drawn.begin(), pyramid.drawn.end(), drawn.begin(), drawn.end(),
                   std::back_inserter(all));
    pyramid.drawn = std::move(all);
    pyramid.finest_level = level;
  }
  return pyramid;
}

}  // namespace tidegauge::exporting
