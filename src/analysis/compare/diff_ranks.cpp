#include "analysis/compare/diff_ranks.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tidegauge::analysis {
namespace {

uint64_t apart(uint64_t x, uint64_t y) { return x > y ? x - y : y - x; }

void judge(RankTable& table) {
  std::vector<uint64_t> distances;
  for (const Rank& rank : table.ranks) distances.push_back(rank.distance_bytes);
  table.median_distance_bytes = lowerMedian(distances);
  for (uint64_t& distance : distances) distance = apart(distance, table.median_distance_bytes);
  // scales the deviation to a standard deviation if errors are normal
  constexpr double kNormal = 1.4826;
  double scale = kNormal * static_cast<double>(lowerMedian(distances));
  double least = RankTable::kMinShare * static_cast<double>(table.median_active_bytes);
  for (Rank& rank : table.ranks) {
    double above =
        static_cast<double>(rank.distance_bytes) - static_cast<double>(table.median_distance_bytes);
    if (scale > 0) rank.deviations = above / scale;
    rank.stands_out =
        table.ranks.size() > 2 && above > least && above > RankTable::kDeviations * scale;
  }
}

}  // namespace

uint64_t lowerMedian(std::vector<uint64_t> values) {
  if (values.empty()) return 0;
  auto middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::optional<size_t> RankTable::oddOne() const {
  std::optional<size_t> odd;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (!ranks[i].stands_out) continue;
    if (!odd || ranks[i].distance_bytes > ranks[*odd].distance_bytes) odd = i;
  }
  return odd;
}

RankTable ranksOf(const std::vector<DiffSide>& sides) {
  RankTable table;
  table.ranks.resize(sides.size());
  StackKeys keys;
  std::map<std::tuple<StackKey, bool>, size_t> row_of;  // without a stack: older or not
  std::vector<uint64_t> active, reserved;
  for (size_t rank = 0; rank < sides.size(); ++rank) {
    const DiffSide& side = sides[rank];
    active.push_back(side.totals.active_bytes);
    reserved.push_back(side.totals.reserved_bytes);
    const model::Allocations& a = side.analysed->trace.allocations;
    std::map<StackId, StackKey> key_of;
    for (uint32_t row : side.rows) {
      StackId stack = a.has(row, model::kStackIsOfFree) ? StackId() : a.stack[row];
      auto [known, first] = key_of.try_emplace(stack);
      if (first) known->second = keys.keyOf(*side.analysed, stack, StackMatch::kPath);
      bool none = !known->second.valid();
      bool older = none && model::isOlder(a.provenance[row]);
      auto [found, fresh] = row_of.try_emplace({known->second, older}, table.rows.size());
      if (fresh) {
        StackId named = none ? StackId() : stack;
        table.rows.push_back({.trace = side.analysed, .stack = named, .older = older, .held = {}});
        table.rows.back().held.resize(sides.size());
      }
      table.rows[found->second].held[rank].add(a.block_bytes[row]);
    }
  }
  table.median_active_bytes = lowerMedian(active);
  table.median_reserved_bytes = lowerMedian(reserved);
  for (RankRow& row : table.rows) {
    std::vector<uint64_t> bytes;
    for (const Held& held : row.held) bytes.push_back(held.bytes);
    auto [least, most] = std::minmax_element(bytes.begin(), bytes.end());
    row.spread_bytes = *most - *least;
    row.median_bytes = lowerMedian(bytes);
    for (size_t rank = 0; rank < sides.size(); ++rank) {
      table.ranks[rank].distance_bytes += apart(row.held[rank].bytes, row.median_bytes);
    }
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const RankRow& x, const RankRow& y) {
    if (x.spread_bytes != y.spread_bytes) return x.spread_bytes > y.spread_bytes;
    return x.median_bytes > y.median_bytes;
  });
  judge(table);
  return table;
}

}  // namespace tidegauge::analysis
