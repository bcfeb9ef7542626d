#include "view/map/map_rows.h"

namespace tidegauge::view {

MapRows::MapRows(const analysis::AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
                 const OwnedAxis& axis, bool with_bands)
    : a_(&analysed.trace.allocations),
      without_events_(device.device.steps() == 0),
      first_row_(device.device.allocation_begin),
      band_bytes_(static_cast<double>(std::max<uint64_t>(axis.totalBytes(), 1)) / kBands) {
  while (axis.totalBytes() / unit_ > UINT32_MAX) unit_ *= 2;
  axis_units_.reserve(device.device.allocation_end - first_row_);
  placeRows(first_row_, device.device.allocation_end, axis);
  if (with_bands) sortIntoBands(device.device);
}

void MapRows::placeRows(uint64_t begin, uint64_t end, const OwnedAxis& axis) {
  const std::vector<OwnedRange>& ranges = axis.ranges();
  OwnedRange last;  // most blocks are in the same range as the one before
  for (uint64_t row = begin; row < end; ++row) {
    uint64_t address = a_->address[row];
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
  std::vector<size_t> counts(kBands);
  for (uint64_t row = first_row_; row < device.allocation_end; ++row) {
    if (isHigh(row)) {
      high_.push_back(at(row));
    } else {
      counts[bandOf(yOf(row))]++;
    }
  }
  bands_.resize(kBands);
  for (size_t band = 0; band < kBands; ++band) bands_[band].reserve(counts[band]);
  for (uint64_t row = first_row_; row < device.allocation_end; ++row) {
    if (!isHigh(row)) bandWith(row).push_back(lowOf(at(row)));
  }
}

bool MapRows::continueOn(const analysis::AnalysedTrace& analysed,
                         const analysis::DeviceAnalysis& device, const OwnedAxis& axis,
                         const std::vector<uint32_t>& live, const model::Continuation& continuation,
                         MapChanges& changes) {
  a_ = &analysed.trace.allocations;
  uint64_t end_row = device.device.allocation_end;
  uint64_t new_row = device.live.bornIn(continuation.steps, device.device.steps()).first;
  while (!high_.empty() && high_.back().row >= new_row) high_.pop_back();
  for (std::vector<LowRow>& band : bands_) {
    for (; !band.empty() && band.back().row >= new_row; band.pop_back())
      changes.gone.push_back(at(band.back()));
  }
  axis_units_.resize(new_row - first_row_);
  if (!changeLive(live, continuation.resized, changes)) return false;
  placeRows(new_row, end_row, axis);
  if (bands_.empty()) return true;
  for (uint64_t row = new_row; row < end_row; ++row) {
    if (isHigh(row)) {
      high_.push_back(at(row));
      continue;
    }
    bandWith(row).push_back(lowOf(at(row)));
    changes.come.push_back(at(bandWith(row).back()));
  }
  return true;
}

// Blocks that were there before and have another end now, and maybe another size.
bool MapRows::changeLive(const std::vector<uint32_t>& live,
                         const std::vector<model::Continuation::Resized>& resized,
                         MapChanges& changes) {
  if (bands_.empty()) return true;
  for (const model::Continuation::Resized& it : resized) {
    bool was_high = static_cast<double>(it.bytes_before) >= band_bytes_;
    if (was_high != isHigh(it.row)) return false;
  }
  // Its place in a list that is sorted by birth.
  auto placeIn = [&](auto& list, uint32_t row) {
    auto at = std::partition_point(list.begin(), list.end(),
                                   [&](const auto& other) { return other.row < row; });
    return at != list.end() && at->row == row ? &*at : nullptr;
  };
  for (uint32_t row : live) {
    MapRow now = at(row);
    if (isHigh(row)) {
      MapRow* place = placeIn(high_, row);
      if (place == nullptr) return false;
      *place = now;
    } else {
      LowRow* place = placeIn(bandWith(row), row);
      if (place == nullptr) return false;
      changes.gone.push_back(at(*place));
      *place = lowOf(now);
      changes.come.push_back(at(*place));
    }
  }
  return true;
}

MapRow MapRows::at(uint64_t row) const {
  // A file without events has one state; it is drawn over [0, 1).
  return {.y_bytes = yOf(row),
          .size_bytes = sizeOf(row),
          .first = a_->first_step[row],
          .end = without_events_ ? 1 : a_->last_step[row],
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
  std::span<const LowRow> all(bands_[band]);
  auto from = [&](Step step) {
    return std::partition_point(all.begin(), all.end(),
                                [&](const LowRow& row) { return row.first < step; });
  };
  return {from(begin), from(std::max(begin, end))};
}

}  // namespace tidegauge::view
