#include "view/map/map_rows.h"

namespace tidegauge::view {

MapRows::MapRows(const analysis::AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
                 const OwnedAxis& axis, bool with_bands)
    : a_(analysed.trace.allocations),
      without_events_(device.device.steps() == 0),
      first_row_(device.device.allocation_begin),
      band_bytes_(static_cast<double>(std::max<uint64_t>(axis.totalBytes(), 1)) / kBands) {
  while (axis.totalBytes() / unit_ > UINT32_MAX) unit_ *= 2;
  placeRows(axis, device.device);
  if (with_bands) sortIntoBands(device.device);
}

void MapRows::placeRows(const OwnedAxis& axis, const model::Device& device) {
  const std::vector<OwnedRange>& ranges = axis.ranges();
  axis_units_.reserve(device.allocation_end - first_row_);
  OwnedRange last;  // most blocks are in the same range as the one before
  for (uint64_t row = first_row_; row < device.allocation_end; ++row) {
    uint64_t address = a_.address[row];
    if (address - last.address >= last.size_bytes) {
      auto after = std::partition_point(ranges.begin(), ranges.end(),
                                        [&](const OwnedRange& r) { return r.address <= address; });
      last = after == ranges.begin() ? OwnedRange{} : *(after - 1);
      if (address - last.address >= last.size_bytes) last = {address, 1, axis.axisOf(address)};
    }
    axis_units_.push_back(
        static_cast<uint32_t>((last.axis_bytes + (address - last.address)) / unit_));
  }
}

// Counted, then placed: within a band they stay in order of birth.
void MapRows::sortIntoBands(const model::Device& device) {
  band_begin_.resize(kBands + 2);
  for (uint64_t row = first_row_; row < device.allocation_end; ++row) {
    if (isHigh(row)) {
      high_.push_back(at(row));
    } else {
      band_begin_[bandOf(yOf(row)) + 2]++;
    }
  }
  for (size_t band = 2; band < band_begin_.size(); ++band) {
    band_begin_[band] += band_begin_[band - 1];
  }
  low_.resize(band_begin_.back());
  for (uint64_t row = first_row_; row < device.allocation_end; ++row) {
    if (isHigh(row)) continue;
    MapRow block = at(row);
    low_[band_begin_[bandOf(block.y_bytes) + 1]++] = {axis_units_[row - first_row_],
                                                      static_cast<float>(block.size_bytes),
                                                      block.first, block.end, block.row};
  }
  band_begin_.pop_back();
}

MapRow MapRows::at(uint64_t row) const {
  // A file without events has one state; it is drawn over [0, 1).
  return {.y_bytes = yOf(row),
          .size_bytes = sizeOf(row),
          .first = a_.first_step[row],
          .end = without_events_ ? 1 : a_.last_step[row],
          .row = static_cast<uint32_t>(row)};
}

std::pair<uint32_t, uint32_t> MapRows::bandsIn(double y0_bytes, double y1_bytes) const {
  // A block of the band below may reach up, and its position may be a unit too low.
  double begin = y0_bytes - band_bytes_ - static_cast<double>(unit_);
  return {bandOf(begin), bandOf(y1_bytes) + 1};
}

std::span<const MapRow> MapRows::high(Step begin, Step end) const {
  auto from = [&](Step step) {
    return std::partition_point(high_.begin(), high_.end(),
                                [&](const MapRow& row) { return row.first < step; });
  };
  return {from(begin), from(std::max(begin, end))};
}

std::span<const MapRows::LowRow> MapRows::low(uint32_t band, Step begin, Step end) const {
  std::span<const LowRow> all(low_.data() + band_begin_[band],
                              band_begin_[band + 1] - band_begin_[band]);
  auto from = [&](Step step) {
    return std::partition_point(all.begin(), all.end(),
                                [&](const LowRow& row) { return row.first < step; });
  };
  return {from(begin), from(std::max(begin, end))};
}

}  // namespace tidegauge::view
