#include <algorithm>
#include <cmath>
#include <span>

#include "view/map/address_map.h"
#include "view/timeline/coverage.h"
#include "view/timeline/slots.h"

namespace tidegauge::view {
namespace {

constexpr size_t kMaxMarkedQuads = 2000;

uint16_t log2Of(uint64_t bytes) {
  return static_cast<uint16_t>(std::log2(std::max(static_cast<double>(bytes), 1.0)) * 256);
}

// Maps the rows of the grid to those of the tile, which are not lower: each is in one of them or in
// two.
class GridRows {
 public:
  GridRows(double grid_row_bytes, double y0_bytes, double row_bytes, uint32_t rows)
      : tile_(size_t{rows} + 2) {
    double height = grid_row_bytes / row_bytes;
    for (uint32_t r = 0; r < MapGrid::kRows; ++r) {
      double lower = (r * grid_row_bytes - y0_bytes) / row_bytes;
      if (lower < -1 || lower >= rows) continue;
      if (places_.empty()) begin_ = r;
      double whole = std::floor(lower);
      double first = std::min(height, whole + 1 - lower);
      // One extra row below the tile and one above it receive the parts outside.
      places_.push_back({static_cast<uint32_t>(whole + 1), static_cast<float>(first),
                         static_cast<float>(height - first)});
    }
  }

  // The rows of the grid inside the tile.
  uint32_t begin() const { return begin_; }
  size_t size() const { return places_.size(); }

  // By row of the tile.
  std::span<const float> inTile(const std::vector<float>& grid) {
    std::fill(tile_.begin(), tile_.end(), 0.0F);
    for (size_t r = 0; r < places_.size(); ++r) {
      tile_[places_[r].row] += grid[r] * places_[r].first;
      tile_[places_[r].row + 1] += grid[r] * places_[r].second;
    }
    return std::span<const float>(tile_).subspan(1, tile_.size() - 2);
  }

 private:
  struct Place {
    uint32_t row = 0;
    float first = 0;
    float second = 0;
  };
  uint32_t begin_ = 0;
  std::vector<Place> places_;
  std::vector<float> tile_;
};

}  // namespace

class AddressMap::TileBuilder {
 public:
  TileBuilder(const AddressMap& map, const MapQuestion& question)
      : map_(map),
        trace_(map.analysed_->trace),
        a_(trace_.allocations),
        q_(question),
        steps_(map.device_->device.steps()),
        column_width_((question.x.x1 - question.x.x0) / question.x.columns),
        row_bytes_((question.y1_bytes - question.y0_bytes) / question.rows),
        covered_(question.x.columns, question.rows),
        passing_(question.x.columns, question.filter == nullptr ? 0 : question.rows) {}

  MapTile build() {
    MapTile tile;
    addPieces(tile);
    findStepRange();
    if (begin_step_ < end_step_) {
      if (const MapGrid::Level* level = usableLevel()) {
        addGrid(*level, covered_);
        forLive([&](const MapRow& block) {
          if (map_.rows_.isHigh(block.row)) addBlock(block);
        });
        forHighBorn([&](const MapRow& block) { addBlock(block); });
        if (const MapGrid::Level* passing = passingLevel()) {
          addGrid(*passing, passing_);
        } else if (q_.filter != nullptr) {
          auto addLow = [&](const MapRow& block) {
            if (!map_.rows_.isHigh(block.row)) addPassing(block);
          };
          forLive(addLow);
          forLowBorn(addLow);
        }
      } else {
        forLive([&](const MapRow& block) { addBlock(block); });
        if (map_.grid_) {
          forHighBorn([&](const MapRow& block) { addBlock(block); });
          forLowBorn([&](const MapRow& block) { addBlock(block); });
        } else {
          forBorn([&](const MapRow& block) { addBlock(block); });
        }
      }
      chooseQuads(tile);
    }
    tile.covered = covered_.levels();
    if (q_.filter != nullptr) tile.passing = passing_.levels();
    return tile;
  }

 private:
  struct Candidate {
    uint32_t row;
    float area;
  };
  // The begin of a step, in columns; the end of the recording for steps beyond it.
  double columnOf(Step step) const {
    double x = step;
    if (q_.x.axis == Axis::kTime) {
      const analysis::TimeAxis& time = map_.device_->time;
      x = step < steps_ ? static_cast<double>(time.timeOf(step))
                        : static_cast<double>(time.lastUs()) + 1;
    } else if (step >= steps_) {
      x = std::max<double>(steps_, 1);
    }
    return (x - q_.x.x0) / column_width_;
  }

  // The steps drawn in the tile.
  void findStepRange() {
    Step all = std::max<Step>(steps_, 1);
    if (q_.x.axis == Axis::kTime) {
      const analysis::TimeAxis& time = map_.device_->time;
      if (!time.present()) return;
      Step first = time.stepAfter(static_cast<int64_t>(std::floor(q_.x.x0)));
      begin_step_ = first > 0 ? first - 1 : 0;
      end_step_ = std::min(time.stepAtOrAfter(static_cast<int64_t>(std::ceil(q_.x.x1))), all);
      if (q_.x.x0 > static_cast<double>(time.lastUs()) + 1) end_step_ = begin_step_;
      return;
    }
    double last = static_cast<double>(all);
    begin_step_ = static_cast<Step>(std::clamp(std::floor(q_.x.x0), 0.0, last));
    end_step_ = static_cast<Step>(std::clamp(std::ceil(q_.x.x1), 0.0, last));
  }

  Box boxOf(double y_bytes, double size_bytes, Step first, Step end) const {
    double lower = (y_bytes - q_.y0_bytes) / row_bytes_;
    return {columnOf(first), columnOf(end), lower, lower + size_bytes / row_bytes_};
  }
  Box boxOf(const MapRow& block) const {
    return boxOf(block.y_bytes, block.size_bytes, block.first, block.end);
  }

  bool isInRows(uint64_t row) const { return map_.rows_.isIn(row, q_.y0_bytes, q_.y1_bytes); }

  // Calls f for the blocks that are live when the tile begins and are in its range of addresses.
  template <class F>
  void forLive(F&& f) {
    for (uint32_t row : map_.device_->live.liveAt(begin_step_)) {
      if (isInRows(row)) f(map_.rows_.at(row));
    }
  }
  // The same for blocks born later in the tile; with bands, the high and the low ones separately.
  template <class F>
  void forBorn(F&& f) {
    if (steps_ == 0) return;
    auto [begin, end] = map_.device_->live.bornIn(begin_step_ + 1, end_step_);
    for (uint64_t row = begin; row < end; ++row) {
      if (isInRows(row)) f(map_.rows_.at(row));
    }
  }
  template <class F>
  void forHighBorn(F&& f) {
    for (const MapRow& block : map_.rows_.high(begin_step_ + 1, end_step_)) {
      if (map_.rows_.isIn(block, q_.y0_bytes, q_.y1_bytes)) f(block);
    }
  }
  template <class F>
  void forLowBorn(F&& f) {
    auto [begin, end] = map_.device_->live.bornIn(begin_step_ + 1, end_step_);
    auto [first_band, end_band] = map_.rows_.bandsIn(q_.y0_bytes, q_.y1_bytes);
    // If the tile shows few of the births, most bands are not worth reading.
    constexpr uint64_t kBandCost = 50;  // in rows
    constexpr uint64_t kWorth = 2;
    uint64_t in_bands = 0;
    for (uint32_t band = first_band; band < end_band; ++band) {
      in_bands += kBandCost + map_.rows_.low(band, begin_step_ + 1, end_step_).size();
    }
    if (in_bands * kWorth > end - begin) {
      return forBorn([&](const MapRow& block) {
        if (!map_.rows_.isHigh(block.row)) f(block);
      });
    }
    for (uint32_t band = first_band; band < end_band; ++band) {
      for (const MapRows::LowRow& low : map_.rows_.low(band, begin_step_ + 1, end_step_)) {
        MapRow block = map_.rows_.at(low);
        if (map_.rows_.isIn(block, q_.y0_bytes, q_.y1_bytes)) f(block);
      }
    }
  }

  void addBlock(const MapRow& block) {
    Box box = boxOf(block);
    if (!box.isIn(q_.x.columns, q_.rows)) return;
    if (isQuad(box)) {
      candidates_.push_back({block.row, areaOf(box)});
    } else {
      cover(block.row, box);
    }
  }
  // Adds a block that the grid has covered already.
  void addPassing(const MapRow& block) {
    if (q_.filter != nullptr && q_.filter->has(block.row)) passing_.add(boxOf(block));
  }
  void cover(uint64_t row, const Box& box) {
    covered_.add(box);
    if (q_.filter != nullptr && q_.filter->has(row)) passing_.add(box);
  }
  static bool isQuad(const Box& box) {
    return box.right - box.left >= 1 && box.upper - box.lower >= 1;
  }

  float areaOf(const Box& box) const {
    double width = std::min<double>(box.right, q_.x.columns) - std::max(box.left, 0.0);
    double height = std::min<double>(box.upper, q_.rows) - std::max(box.lower, 0.0);
    return static_cast<float>(width * height);
  }

  // The level whose columns are narrower than the tile's; absent if scanning rows is cheap, or if
  // the tile shows more detail than the grid has.
  const MapGrid::Level* usableLevel() const {
    auto [begin, end] = map_.device_->live.bornIn(begin_step_, end_step_);
    // Reading a level takes as long as a quarter of the births that justify one.
    if (!map_.grid_ || end - begin <= map_.direct_births_ / 4) return nullptr;
    if (row_bytes_ < map_.rows_.bandBytes()) return nullptr;  // a low block could be a rectangle
    return map_.grid_->levelFor(static_cast<double>(end_step_ - begin_step_) / q_.x.columns);
  }

  const MapGrid::Level* passingLevel() const {
    if (q_.filter == nullptr || q_.passing_grid == nullptr) return nullptr;
    return q_.passing_grid->levelFor(static_cast<double>(end_step_ - begin_step_) / q_.x.columns);
  }

  void addGrid(const MapGrid::Level& level, Coverage& to) {
    uint32_t first = begin_step_ >> level.shift;
    uint32_t end = std::min(((end_step_ - 1) >> level.shift) + 1, level.columns);
    GridRows rows(map_.rows_.bandBytes(), q_.y0_bytes, row_bytes_, q_.rows);
    std::vector<float> sums(rows.size());
    uint32_t at = UINT32_MAX;  // the tile's current column
    auto flush = [&] {
      if (at == UINT32_MAX) return;
      to.addColumn(at, rows.inTile(sums));
      std::fill(sums.begin(), sums.end(), 0.0F);
    };
    for (uint32_t g = first; g < end; ++g) {
      uint64_t past = (uint64_t{g} + 1) << level.shift;
      double left = columnOf(g << level.shift);
      double right = past >= steps_ ? columnOf(steps_) : columnOf(static_cast<Step>(past));
      // The last column of the grid extends beyond the recording: its content belongs to the part
      // inside.
      double stretch =
          static_cast<double>(uint64_t{1} << level.shift) /
          static_cast<double>(std::min<uint64_t>(past, steps_) - (uint64_t{g} << level.shift));
      const uint16_t* cells = level.cells.data() + size_t{g} * MapGrid::kRows + rows.begin();
      for (auto c = static_cast<int64_t>(std::floor(std::max(left, 0.0)));
           c < q_.x.columns && static_cast<double>(c) < right; ++c) {
        double part =
            std::min(right, static_cast<double>(c + 1)) - std::max(left, static_cast<double>(c));
        if (part <= 0) continue;
        if (at != static_cast<uint32_t>(c)) flush();
        at = static_cast<uint32_t>(c);
        auto scale = static_cast<float>(part * stretch / 65535.0);
        for (size_t r = 0; r < sums.size(); ++r) sums[r] += scale * static_cast<float>(cells[r]);
      }
    }
    flush();
  }

  void chooseQuads(MapTile& tile) {
    size_t most = q_.most_quads;
    auto larger = [](const Candidate& x, const Candidate& y) {
      return x.area != y.area ? x.area > y.area : x.row < y.row;
    };
    if (candidates_.size() > most) {
      std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<ptrdiff_t>(most),
                       candidates_.end(), larger);
      tile.least_area = candidates_[most].area;
      for (size_t i = most; i < candidates_.size(); ++i) {
        cover(candidates_[i].row, boxOf(map_.rows_.at(candidates_[i].row)));
      }
      candidates_.resize(most);
    }
    std::sort(candidates_.begin(), candidates_.end(),
              [](const Candidate& x, const Candidate& y) { return x.row < y.row; });
    for (const Candidate& candidate : candidates_) tile.quads.push_back(quadOf(candidate.row));
    addMarked(tile);
  }

  // Marked blocks without quads get quads of any size.
  void addMarked(MapTile& tile) {
    if (q_.mark == nullptr) return;
    size_t added = 0;
    for (uint32_t row : q_.mark->rows()) {
      if (added == kMaxMarkedQuads) break;
      const model::Device& d = map_.device_->device;
      if (row < d.allocation_begin || row >= d.allocation_end) continue;
      MapRow block = map_.rows_.at(row);
      if (block.first >= end_step_ || block.end <= begin_step_) continue;
      if (!isInRows(row) || !boxOf(block).isIn(q_.x.columns, q_.rows)) continue;
      bool drawn =
          std::binary_search(candidates_.begin(), candidates_.end(), Candidate{row, 0},
                             [](const Candidate& x, const Candidate& y) { return x.row < y.row; });
      if (drawn) continue;
      tile.quads.push_back(quadOf(row));
      ++added;
    }
  }

  MapQuad quadAt(const Box& box) const {
    MapQuad quad;
    quad.column_begin = static_cast<float>(std::max(box.left, 0.0));
    quad.column_end = static_cast<float>(std::min<double>(box.right, q_.x.columns));
    quad.lower_bytes = static_cast<float>(std::max(box.lower, 0.0) * row_bytes_);
    quad.upper_bytes = static_cast<float>(std::min<double>(box.upper, q_.rows) * row_bytes_);
    return quad;
  }

  MapQuad quadOf(uint32_t row) const {
    Step end = map_.rows_.at(row).end;
    MapQuad quad = quadAt(boxOf(static_cast<double>(map_.axis_.axisOf(a_.address[row])),
                                static_cast<double>(a_.block_bytes[row]), a_.first_step[row], end));
    quad.id = row;
    quad.stack = a_.stack[row].value;
    quad.provenance = static_cast<uint8_t>(a_.provenance[row]);
    auto oom = std::lower_bound(map_.ooms_.begin(), map_.ooms_.end(), a_.first_step[row]);
    if (oom != map_.ooms_.end() && *oom < end) quad.flags |= kMapAtOom;
    if (q_.mark != nullptr && q_.mark->has(row)) quad.flags |= kMapMarked;
    if (!passes(q_.filter, row)) quad.flags |= kMapFiltered;
    quad.stack_slot = stackSlot(*map_.analysed_, row);
    quad.category_slot = categorySlot(*map_.analysed_, row);
    quad.stream = static_cast<uint8_t>(std::min<uint16_t>(a_.stream[row].value, 255));
    quad.pool = static_cast<uint8_t>(std::min<uint16_t>(a_.pool[row].value, 255));
    quad.log2_bytes = log2Of(a_.block_bytes[row]);
    return quad;
  }

  void addPieces(MapTile& tile) {
    const model::Pieces& pieces = trace_.pieces;
    const model::Device& d = map_.device_->device;
    Coverage owned(q_.x.columns, q_.rows);
    std::vector<Candidate> outlines;
    auto boxOfPiece = [&](uint64_t piece) {
      Step end = steps_ == 0 ? 1 : pieces.last_step[piece];
      return boxOf(static_cast<double>(map_.axis_.axisOf(pieces.address[piece])),
                   static_cast<double>(pieces.size_bytes[piece]), pieces.first_step[piece], end);
    };
    for (uint64_t piece = d.piece_begin; piece < d.piece_end; ++piece) {
      Box box = boxOfPiece(piece);
      if (!box.isIn(q_.x.columns, q_.rows)) continue;
      owned.add(box);
      if (isQuad(box)) {
        outlines.push_back({static_cast<uint32_t>(piece), areaOf(box)});
      }
    }
    if (outlines.size() > q_.most_outlines) {
      std::nth_element(outlines.begin(),
                       outlines.begin() + static_cast<ptrdiff_t>(q_.most_outlines), outlines.end(),
                       [](const Candidate& x, const Candidate& y) { return x.area > y.area; });
      outlines.resize(q_.most_outlines);
    }
    for (const Candidate& outline : outlines) {
      MapQuad quad = quadAt(boxOfPiece(outline.row));
      model::SegmentId segment = pieces.segment[outline.row];
      quad.id = segment.value;
      quad.flags = kMapSegment;
      if (segment.valid()) {
        size_t s = segment.index();
        quad.stack = trace_.segments.stack[s].value;
        quad.provenance = static_cast<uint8_t>(trace_.segments.provenance[s]);
        quad.stream =
            static_cast<uint8_t>(std::min<uint16_t>(trace_.segments.stream[s].value, 255));
        quad.pool = static_cast<uint8_t>(std::min<uint16_t>(trace_.segments.pool[s].value, 255));
      }
      quad.log2_bytes = log2Of(pieces.size_bytes[outline.row]);
      tile.quads.push_back(quad);
    }
    tile.owned = owned.levels();
  }

  const AddressMap& map_;
  const model::Trace& trace_;
  const model::Allocations& a_;
  const MapQuestion& q_;
  Step steps_;
  double column_width_;
  double row_bytes_;
  Step begin_step_ = 0;
  Step end_step_ = 0;
  Coverage covered_;
  Coverage passing_;
  std::vector<Candidate> candidates_;
};

MapTile AddressMap::tile(const MapQuestion& question) const {
  return TileBuilder(*this, question).build();
}

}  // namespace tidegauge::view
