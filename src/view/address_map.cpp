#include "view/address_map.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "view/coverage.h"
#include "view/slots.h"

namespace tidegauge::view {
namespace {

constexpr int kLeastShift = 10;
constexpr uint32_t kFewestGridColumns = 128;
constexpr size_t kMostMarkedQuads = 2000;

uint16_t cellOf(float covered) {
  if (covered <= 0) return 0;
  if (covered >= 0.99999F) return 65535;
  return static_cast<uint16_t>(std::clamp(std::ceil(covered * 65535.0F), 1.0F, 65534.0F));
}

uint16_t log2Of(uint64_t bytes) {
  return static_cast<uint16_t>(std::log2(std::max(static_cast<double>(bytes), 1.0)) * 256);
}

// How the rows of the grid lie in those of a tile, which are not lower: in one of them or in two.
class GridRows {
 public:
  GridRows(size_t grid_rows, double grid_row_bytes, double y0_bytes, double row_bytes,
           uint32_t rows)
      : places_(grid_rows), tile_(size_t{rows} + 2) {
    for (size_t r = 0; r < places_.size(); ++r) {
      double lower = (static_cast<double>(r) * grid_row_bytes - y0_bytes) / row_bytes;
      double height = grid_row_bytes / row_bytes;
      if (lower < -1 || lower >= rows) continue;  // outside: row 0 takes nothing of it
      double whole = std::floor(lower);
      double first = std::min(height, whole + 1 - lower);
      // One row below the tile and one above it take what reaches out.
      places_[r] = {static_cast<uint32_t>(whole + 1), static_cast<float>(first),
                    static_cast<float>(height - first)};
    }
  }

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
  std::vector<Place> places_;
  std::vector<float> tile_;
};

}  // namespace

// ---- the pyramid ---------------------------------------------------------------------------------

AddressMap::AddressMap(const analysis::AnalysedTrace& analysed,
                       const analysis::DeviceAnalysis& device, bool plain, uint64_t direct_births)
    : analysed_(analysed),
      device_(device),
      axis_(analysed.trace, device.device, plain),
      direct_births_(direct_births),
      first_row_(device.device.allocation_begin) {
  const model::Trace& trace = analysed.trace;
  while (axis_.totalBytes() / unit_ > UINT32_MAX) unit_ *= 2;
  axis_units_.reserve(device.device.allocation_end - first_row_);
  OwnedRange last;  // most blocks lie where the one before lies
  for (uint64_t row = first_row_; row < device.device.allocation_end; ++row) {
    uint64_t address = trace.allocations.address[row];
    if (address - last.address >= last.size_bytes) {
      uint64_t at = axis_.axisOf(address);
      const std::vector<OwnedRange>& ranges = axis_.ranges();
      auto after = std::partition_point(ranges.begin(), ranges.end(),
                                        [&](const OwnedRange& r) { return r.address <= address; });
      last = after == ranges.begin() ? OwnedRange{address, 1, at} : *(after - 1);
      if (address - last.address >= last.size_bytes) last = {address, 1, at};
    }
    axis_units_.push_back(
        static_cast<uint32_t>((last.axis_bytes + (address - last.address)) / unit_));
  }
  const model::Device& d = device.device;
  for (uint64_t event = d.event_begin; event < d.event_end; ++event) {
    if (trace.events.action[event] == model::Action::kOom) {
      ooms_.push_back(static_cast<Step>(event - d.event_begin));
    }
  }
  if (d.allocation_end - d.allocation_begin > direct_births_) buildPyramid();
}

Step AddressMap::endOf(uint64_t row) const {
  if (device_.device.steps() == 0) return 1;  // its only state is drawn over [0, 1)
  return analysed_.trace.allocations.last_step[row];
}

bool AddressMap::isHigh(uint64_t row) const {
  return static_cast<double>(analysed_.trace.allocations.block_bytes[row]) >= gridRowBytes();
}

// As differences from column to column, in whole numbers: what a life adds where it begins it takes
// away again to the last bit where it ends, and a life costs the same however long it is. Unsigned:
// where a contradictory file has a thousand blocks at one address, a sum may wrap.
AddressMap::Level AddressMap::finestLevel() const {
  constexpr double kCovered = 1 << 22;
  const model::Allocations& a = analysed_.trace.allocations;
  const model::Device& d = device_.device;
  Level level{.shift = kLeastShift, .columns = 0, .cells = {}};
  while ((d.steps() >> level.shift) >= kMostGridColumns) ++level.shift;
  level.columns = (d.steps() >> level.shift) + 1;
  double width = static_cast<double>(uint64_t{1} << level.shift);
  std::vector<uint32_t> change((size_t{level.columns} + 2) * kGridRows);
  auto add = [&](size_t column, size_t r, uint32_t share) {
    change[column * kGridRows + r] += share;
  };
  for (uint64_t row = first_row_; row < d.allocation_end; ++row) {
    Step first = a.first_step[row];
    Step end = endOf(row);
    if (end <= first || isHigh(row)) continue;
    size_t begin_column = first >> level.shift;
    size_t end_column = end >> level.shift;  // holds the end
    double before = static_cast<double>(first) / width - static_cast<double>(begin_column);
    double after = static_cast<double>(end) / width - static_cast<double>(end_column);
    double from = static_cast<double>(axisOf(row)) / gridRowBytes();
    double to = from + static_cast<double>(a.block_bytes[row]) / gridRowBytes();
    for (auto r = static_cast<size_t>(from); r < kGridRows && static_cast<double>(r) < to; ++r) {
      double height =
          std::min(to, static_cast<double>(r + 1)) - std::max(from, static_cast<double>(r));
      auto share = [&](double part) {  // rounded up: no block is too small to count
        return static_cast<uint32_t>(std::ceil(height * part * kCovered));
      };
      if (begin_column == end_column) {
        uint32_t all = share(after - before);
        add(begin_column, r, all);
        add(begin_column + 1, r, 0 - all);
        continue;
      }
      uint32_t whole = share(1);
      uint32_t left = share(1 - before);
      uint32_t right = share(after);
      add(begin_column, r, left);
      add(begin_column + 1, r, whole - left);
      add(end_column, r, right - whole);
      add(end_column + 1, r, 0 - right);
    }
  }
  level.cells.resize(size_t{level.columns} * kGridRows);
  for (size_t i = 0; i < level.cells.size(); ++i) {
    if (i >= kGridRows) change[i] += change[i - kGridRows];
    level.cells[i] = cellOf(static_cast<float>(change[i] / kCovered));
  }
  return level;
}

// Each level is the one before with two columns in one.
void AddressMap::buildPyramid() {
  const model::Device& d = device_.device;
  levels_.push_back(finestLevel());
  while (levels_.back().columns >= kFewestGridColumns) {
    const Level& finer = levels_.back();
    Level level;
    level.shift = finer.shift + 1;
    level.columns = (d.steps() >> level.shift) + 1;
    level.cells.resize(size_t{level.columns} * kGridRows);
    for (uint32_t c = 0; c < level.columns; ++c) {
      for (size_t r = 0; r < kGridRows; ++r) {
        auto at = [&](uint32_t column) -> uint32_t {
          return column < finer.columns ? finer.cells[size_t{column} * kGridRows + r] : 0;
        };
        // Rounded up: what is there stays there.
        level.cells[size_t{c} * kGridRows + r] =
            static_cast<uint16_t>((at(2 * c) + at(2 * c + 1) + 1) / 2);
      }
    }
    levels_.push_back(std::move(level));
  }
  for (uint64_t row = first_row_; row < d.allocation_end; ++row) {
    if (isHigh(row)) high_rows_.push_back(static_cast<uint32_t>(row));
  }
}

// ---- tiles ---------------------------------------------------------------------------------------

class AddressMap::TileBuilder {
 public:
  TileBuilder(const AddressMap& map, const MapQuestion& question)
      : map_(map),
        trace_(map.analysed_.trace),
        a_(trace_.allocations),
        q_(question),
        steps_(map.device_.device.steps()),
        column_width_((question.x.x1 - question.x.x0) / question.x.columns),
        row_bytes_((question.y1_bytes - question.y0_bytes) / question.rows),
        covered_(question.x.columns, question.rows),
        passing_(question.x.columns, question.filter == nullptr ? 0 : question.rows) {}

  MapTile build() {
    MapTile tile;
    addPieces(tile);
    findStepRange();
    if (begin_step_ < end_step_) {
      const Level* level = usableLevel();
      if (level == nullptr) {
        addBornAndLive([&](uint64_t row) { addBlock(row); });
      } else {
        addGrid(*level);
        addHigh();
        if (q_.filter != nullptr) {
          addBornAndLive([&](uint64_t row) {
            if (q_.filter->has(row)) addPassing(row);
          });
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
  struct Box {  // in columns and rows of the tile; not clipped
    double left, right, lower, upper;
    bool isEmpty(const MapQuestion& q) const {
      return !(left < right && right > 0 && left < q.x.columns && lower < upper && upper > 0 &&
               lower < q.rows);
    }
  };

  // Where a step begins, in columns; the end of the recording for steps past the end.
  double columnOf(Step step) const {
    double x = step;
    if (q_.x.axis == Axis::kTime) {
      const analysis::TimeAxis& time = map_.device_.time;
      x = step < steps_ ? static_cast<double>(time.timeOf(step))
                        : static_cast<double>(time.lastUs()) + 1;
    } else if (step >= steps_) {
      x = std::max<double>(steps_, 1);
    }
    return (x - q_.x.x0) / column_width_;
  }

  // The steps that are drawn somewhere in the tile.
  void findStepRange() {
    Step all = std::max<Step>(steps_, 1);
    if (q_.x.axis == Axis::kTime) {
      const analysis::TimeAxis& time = map_.device_.time;
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
  Box boxOf(uint64_t row) const {
    return boxOf(static_cast<double>(map_.axisOf(row)), static_cast<double>(a_.block_bytes[row]),
                 a_.first_step[row], map_.endOf(row));
  }

  // Whether the row can be in the tile's range of addresses; cheap, as most are not.
  bool isInRows(uint64_t row) const {
    auto y = static_cast<double>(map_.axisOf(row));
    return y < q_.y1_bytes &&
           y + static_cast<double>(a_.block_bytes[row]) + static_cast<double>(map_.unit_) >
               q_.y0_bytes;
  }

  template <class F>
  void addBornAndLive(F&& add) {
    auto [begin, end] = map_.device_.live.bornIn(begin_step_ + 1, end_step_);
    for (uint32_t row : map_.device_.live.liveAt(begin_step_)) {
      if (isInRows(row)) add(row);
    }
    if (steps_ == 0) return;
    for (uint64_t row = begin; row < end; ++row) {
      if (isInRows(row)) add(row);
    }
  }

  void addBlock(uint64_t row) {
    Box box = boxOf(row);
    if (box.isEmpty(q_)) return;
    if (box.right - box.left >= 1 && box.upper - box.lower >= 1) {
      candidates_.push_back({static_cast<uint32_t>(row), areaOf(box)});
    } else {
      cover(row, box);
    }
  }
  void addPassing(uint64_t row) {
    Box box = boxOf(row);
    bool is_quad = box.right - box.left >= 1 && box.upper - box.lower >= 1;
    if (!box.isEmpty(q_) && !is_quad) passing_.add(box.left, box.right, box.lower, box.upper);
  }
  void cover(uint64_t row, const Box& box) {
    covered_.add(box.left, box.right, box.lower, box.upper);
    // With the pyramid, what passes is added up by itself.
    if (q_.filter != nullptr && !by_grid_ && q_.filter->has(row)) {
      passing_.add(box.left, box.right, box.lower, box.upper);
    }
  }

  float areaOf(const Box& box) const {
    double width = std::min<double>(box.right, q_.x.columns) - std::max(box.left, 0.0);
    double height = std::min<double>(box.upper, q_.rows) - std::max(box.lower, 0.0);
    return static_cast<float>(width * height);
  }

  // The level whose columns are just narrower than the tile's; none if going row by row is cheap,
  // or if the tile shows more detail than the grid has.
  const Level* usableLevel() {
    auto [begin, end] = map_.device_.live.bornIn(begin_step_, end_step_);
    // Reading a level takes as long as a quarter of the births that make one worth having.
    if (map_.levels_.empty() || end - begin <= map_.direct_births_ / 4) return nullptr;
    if (row_bytes_ < map_.gridRowBytes()) return nullptr;  // a low block could be a rectangle
    double column_steps = static_cast<double>(end_step_ - begin_step_) / q_.x.columns;
    const Level* best = nullptr;
    for (const Level& level : map_.levels_) {
      if (static_cast<double>(uint64_t{1} << level.shift) <= column_steps) best = &level;
    }
    by_grid_ = best != nullptr;
    return best;
  }

  void addGrid(const Level& level) {
    uint32_t first = begin_step_ >> level.shift;
    uint32_t end = std::min(((end_step_ - 1) >> level.shift) + 1, level.columns);
    std::vector<float> sums(kGridRows);
    GridRows rows(kGridRows, map_.gridRowBytes(), q_.y0_bytes, row_bytes_, q_.rows);
    uint32_t at = UINT32_MAX;  // the tile's column that is summed up
    auto flush = [&] {
      if (at == UINT32_MAX) return;
      covered_.addColumn(at, rows.inTile(sums));
      std::fill(sums.begin(), sums.end(), 0.0F);
    };
    for (uint32_t g = first; g < end; ++g) {
      uint64_t past = (uint64_t{g} + 1) << level.shift;
      double left = columnOf(g << level.shift);
      double right = past >= steps_ ? columnOf(steps_) : columnOf(static_cast<Step>(past));
      // The last column of the grid reaches past the recording: what it holds lies in its part.
      double stretch =
          static_cast<double>(uint64_t{1} << level.shift) /
          static_cast<double>(std::min<uint64_t>(past, steps_) - (uint64_t{g} << level.shift));
      const uint16_t* cells = level.cells.data() + size_t{g} * kGridRows;
      for (auto c = static_cast<int64_t>(std::floor(std::max(left, 0.0)));
           c < q_.x.columns && static_cast<double>(c) < right; ++c) {
        double part =
            std::min(right, static_cast<double>(c + 1)) - std::max(left, static_cast<double>(c));
        if (part <= 0) continue;
        if (at != static_cast<uint32_t>(c)) flush();
        at = static_cast<uint32_t>(c);
        auto scale = static_cast<float>(part * stretch / 65535.0);
        for (size_t r = 0; r < kGridRows; ++r) sums[r] += scale * static_cast<float>(cells[r]);
      }
    }
    flush();
  }

  void addHigh() {
    for (uint32_t row : map_.device_.live.liveAt(begin_step_)) {
      if (map_.isHigh(row) && isInRows(row)) addBlock(row);
    }
    auto first =
        std::partition_point(map_.high_rows_.begin(), map_.high_rows_.end(),
                             [&](uint32_t row) { return a_.first_step[row] <= begin_step_; });
    for (auto it = first; it != map_.high_rows_.end() && a_.first_step[*it] < end_step_; ++it) {
      if (isInRows(*it)) addBlock(*it);
    }
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
        Box box = boxOf(candidates_[i].row);
        covered_.add(box.left, box.right, box.lower, box.upper);
        if (q_.filter != nullptr && q_.filter->has(candidates_[i].row)) {
          passing_.add(box.left, box.right, box.lower, box.upper);
        }
      }
      candidates_.resize(most);
    }
    std::sort(candidates_.begin(), candidates_.end(),
              [](const Candidate& x, const Candidate& y) { return x.row < y.row; });
    for (const Candidate& candidate : candidates_) tile.quads.push_back(quadOf(candidate.row));
    addMarked(tile);
  }

  // Marked blocks that are no quads yet become some, as small as they are.
  void addMarked(MapTile& tile) {
    if (q_.mark == nullptr) return;
    size_t added = 0;
    for (uint32_t row : q_.mark->rows()) {
      if (added == kMostMarkedQuads) break;
      const model::Device& d = map_.device_.device;
      if (row < d.allocation_begin || row >= d.allocation_end) continue;
      if (a_.first_step[row] >= end_step_ || map_.endOf(row) <= begin_step_) continue;
      if (!isInRows(row) || boxOf(row).isEmpty(q_)) continue;
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
    Step end = map_.endOf(row);
    MapQuad quad = quadAt(boxOf(static_cast<double>(map_.axis_.axisOf(a_.address[row])),
                                static_cast<double>(a_.block_bytes[row]), a_.first_step[row], end));
    quad.id = row;
    quad.stack = a_.stack[row].value;
    quad.provenance = static_cast<uint8_t>(a_.provenance[row]);
    auto oom = std::lower_bound(map_.ooms_.begin(), map_.ooms_.end(), a_.first_step[row]);
    if (oom != map_.ooms_.end() && *oom < end) quad.flags |= kMapAtOom;
    if (q_.mark != nullptr && q_.mark->has(row)) quad.flags |= kMapMarked;
    if (!passes(q_.filter, row)) quad.flags |= kMapFiltered;
    quad.stack_slot = stackSlot(map_.analysed_, row);
    quad.category_slot = categorySlot(map_.analysed_, row);
    quad.stream = static_cast<uint8_t>(std::min<uint16_t>(a_.stream[row].value, 255));
    quad.pool = static_cast<uint8_t>(std::min<uint16_t>(a_.pool[row].value, 255));
    quad.log2_bytes = log2Of(a_.block_bytes[row]);
    return quad;
  }

  void addPieces(MapTile& tile) {
    const model::Pieces& pieces = trace_.pieces;
    const model::Device& d = map_.device_.device;
    Coverage owned(q_.x.columns, q_.rows);
    std::vector<Candidate> outlines;
    auto boxOfPiece = [&](uint64_t piece) {
      Step end = steps_ == 0 ? 1 : pieces.last_step[piece];
      return boxOf(static_cast<double>(map_.axis_.axisOf(pieces.address[piece])),
                   static_cast<double>(pieces.size_bytes[piece]), pieces.first_step[piece], end);
    };
    for (uint64_t piece = d.piece_begin; piece < d.piece_end; ++piece) {
      Box box = boxOfPiece(piece);
      if (box.isEmpty(q_)) continue;
      owned.add(box.left, box.right, box.lower, box.upper);
      if (box.right - box.left >= 1 && box.upper - box.lower >= 1) {
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
  bool by_grid_ = false;
  Coverage covered_;
  Coverage passing_;
  std::vector<Candidate> candidates_;
};

MapTile AddressMap::tile(const MapQuestion& question) const {
  return TileBuilder(*this, question).build();
}

}  // namespace tidegauge::view
