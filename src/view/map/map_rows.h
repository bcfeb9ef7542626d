// The positions of a device's blocks on the axis of the address map, so that a tile finds those in
// its range of steps and addresses without scanning all.
//
//   axis ▲   high blocks   one list, by birth        ┌────────┐  at least a band high: few
//        │   ----------------------------------------│--------│-----------------------------
//        │   low blocks    band 2: c f g …           └────────┘  a list per band, by birth:
//        │                 band 1: a d e …            ▫ ▪ ▫ ▪     the band they begin in
//        └──────────────────────────────────────────────────────► birth
//
// Cost: 4 bytes per allocation; with bands 24, since reading a list is many times faster than
// reading distant rows. Built in two passes. Those of a trace that is continued: what is new, and
// the blocks that were live.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "analysis/trace/analysed_trace.h"
#include "model/lives/continuation.h"
#include "view/map/owned_axis.h"

namespace tidegauge::view {

using analysis::Step;

struct MapRow {
  double y_bytes = 0;  // its begin on the axis; slightly too low on axes of over 4 GiB
  double size_bytes = 0;
  Step first = 0;  // drawn over steps [first, end)
  Step end = 0;
  uint32_t row = 0;  // of trace.allocations
};

// The low blocks that a continued trace has no more as they were, and those that it has instead.
struct MapChanges {
  std::vector<MapRow> gone;
  std::vector<MapRow> come;
};

class MapRows {
 public:
  struct LowRow {
    uint32_t y_units = 0;
    float size_bytes = 0;
    Step first = 0;
    Step end = 0;
    uint32_t row = 0;
  };

  static constexpr uint32_t kBands = 4096;

  // Without bands, low() and high() must not be called.
  MapRows(const analysis::AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
          const OwnedAxis& axis, bool with_bands);

  // Continues those of the trace before, on the same axis. `live`: the rows of the device that
  // began before step continuation.steps and did not end before it. False: a block has become high
  // or low, so they must be built anew.
  bool continueOn(const analysis::AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
                  const OwnedAxis& axis, const std::vector<uint32_t>& live,
                  const model::Continuation& continuation, MapChanges& changes);

  MapRow at(uint64_t row) const;
  MapRow at(const LowRow& low) const {
    return {static_cast<double>(low.y_units * unit_), static_cast<double>(low.size_bytes),
            low.first, low.end, low.row};
  }
  // A low block, as the lists of the bands have it.
  MapRow lowAt(uint64_t row) const { return at(lowOf(at(row))); }
  // Whether the row may be in that range of the axis; cheap, since most are not.
  bool isIn(uint64_t row, double y0_bytes, double y1_bytes) const {
    return isIn(yOf(row), sizeOf(row), y0_bytes, y1_bytes);
  }
  bool isIn(const MapRow& row, double y0_bytes, double y1_bytes) const {
    return isIn(row.y_bytes, row.size_bytes, y0_bytes, y1_bytes);
  }
  double bandBytes() const { return band_bytes_; }
  bool isHigh(uint64_t row) const { return sizeOf(row) >= band_bytes_; }
  // Bands with low blocks that may reach into that range of the axis.
  std::pair<uint32_t, uint32_t> bandsIn(double y0_bytes, double y1_bytes) const;

  // Rows born at steps [begin, end), by birth.
  std::span<const MapRow> high(Step begin, Step end) const;
  std::span<const LowRow> low(uint32_t band, Step begin, Step end) const;

 private:
  bool isIn(double y_bytes, double size_bytes, double y0_bytes, double y1_bytes) const {
    return y_bytes < y1_bytes && y_bytes + size_bytes + static_cast<double>(unit_) > y0_bytes;
  }
  double yOf(uint64_t row) const {
    return static_cast<double>(uint64_t{axis_units_[row - first_row_]} * unit_);
  }
  double sizeOf(uint64_t row) const { return static_cast<double>(a_->block_bytes[row]); }
  uint32_t bandOf(double y_bytes) const {
    return static_cast<uint32_t>(std::clamp(y_bytes / band_bytes_, 0.0, double{kBands - 1}));
  }
  LowRow lowOf(const MapRow& block) const {
    return {axis_units_[block.row - first_row_], static_cast<float>(block.size_bytes), block.first,
            block.end, block.row};
  }
  std::vector<LowRow>& bandWith(uint64_t row) { return bands_[bandOf(yOf(row))]; }
  void placeRows(uint64_t begin, uint64_t end, const OwnedAxis& axis);
  void sortIntoBands(const model::Device& device);
  bool changeLive(const std::vector<uint32_t>& live,
                  const std::vector<model::Continuation::Resized>& resized, MapChanges& changes);

  const model::Allocations* a_;
  bool without_events_;
  uint64_t first_row_;
  double band_bytes_;
  uint64_t unit_ = 1;                       // bytes; so that any position on the axis has 32 bits
  std::vector<uint32_t> axis_units_;        // by row of the device
  std::vector<MapRow> high_;                // by birth
  std::vector<std::vector<LowRow>> bands_;  // kBands lists, by birth; none without bands
};

}  // namespace tidegauge::view
