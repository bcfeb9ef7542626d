#include "report/frag/free_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "report/words/pool_names.h"
#include "report/words/sentence_json.h"

namespace tidegauge::report {
namespace {

using analysis::AnalysedTrace;
using analysis::OomVerdict;
using analysis::StackPins;
using nlohmann::json;

constexpr size_t kMaxLists = 200;  // a hostile file may have any number of streams
constexpr size_t kMaxPieces = 200;

json streamJson(const AnalysedTrace& analysed, model::StreamId stream) {
  const auto& streams = analysed.trace.streams;
  return stream.index() < streams.size() ? json(streams[stream.index()].raw) : json();
}

std::string streamName(uint64_t raw) { return raw == 0 ? "0" : fmt::format("{:#x}", raw); }

json pinRowJson(const AnalysedTrace& analysed, const StackPins& pins) {
  const model::Allocations& a = analysed.trace.allocations;
  bool born = a.has(pins.oldest_row, model::kAllocSeen);
  return {{"stack_id", pins.stack.valid() ? json(pins.stack.value) : json()},
          {"label", clean(analysed.labels.label(pins.stack))},
          {"caller", clean(analysed.names.caller(pins.stack))},
          {"slot", analysed.labels.colourSlot(pins.stack)},
          {"pins_bytes", pins.pinsBytes()},
          {"alone_bytes", pins.alone_bytes},
          {"shared_bytes", pins.shared_bytes},
          {"blocks", pins.blocks},
          {"block_bytes", pins.block_bytes},
          {"smallest_allocation_id", pins.smallest_row},
          {"smallest_bytes", pins.smallest_bytes},
          {"largest_bytes", pins.largest_bytes},
          {"segments", pins.segments},
          {"oldest_allocation_id", pins.oldest_row},
          {"oldest_step", born ? json(a.first_step[pins.oldest_row]) : json()}};
}

}  // namespace

json poolJson(const AnalysedTrace& analysed, model::PoolId pool) {
  const auto& pools = analysed.trace.pools;
  model::Pool raw = pool.index() < pools.size() ? pools[pool.index()] : model::Pool();
  return {{"id", {raw.first, raw.second}}, {"name", poolName(analysed.trace, pool)}};
}

json freeListJson(const AnalysedTrace& analysed, const FitRow& row) {
  return {{"small", row.key.small},
          {"pool", poolJson(analysed, row.key.pool)},
          {"stream", streamJson(analysed, row.key.stream)},
          {"free_bytes", row.free_bytes},
          {"largest_request_bytes", row.largest_request_bytes}};
}

json fitJson(const AnalysedTrace& analysed, const FitRow& row) {
  json j = freeListJson(analysed, row);
  j["fits"] = row.block_bytes.has_value();
  j["block_bytes"] = row.block_bytes ? json(*row.block_bytes) : json();
  j["address"] = row.block_bytes ? json(base::hexAddress(row.address)) : json();
  j["times"] = row.times;
  j["stranded_bytes"] = row.stranded_bytes;
  j["driver_bytes"] = row.driver_bytes;
  return j;
}

json freeListKeyJson(const model::Trace& trace, const analysis::FreeListKey& key) {
  bool known = key.stream.valid() && key.stream.index() < trace.streams.size();
  return {{"size_class", key.small ? "small" : "large"},
          {"pool", poolName(trace, key.pool)},
          {"stream", known ? json(streamName(trace.streams[key.stream.index()].raw)) : json()}};
}

// Lists with the most bytes first; a list without segments is omitted.
json servableJson(const AnalysedTrace& analysed, const OomVerdict& v) {
  std::vector<const analysis::FreeList*> lists;
  for (const analysis::FreeList& list : v.free.lists) lists.push_back(&list);
  std::stable_sort(lists.begin(), lists.end(), [](const auto* a, const auto* b) {
    return a->reserved_bytes > b->reserved_bytes;
  });
  if (lists.size() > kMaxLists) lists.resize(kMaxLists);
  json rows = json::array();
  for (const analysis::FreeList* list : lists) {
    json row = freeListKeyJson(analysed.trace, list->key);
    row["own"] = list->key == v.key;
    row["fits"] =
        v.request_bytes && analysis::fit(v.free.rules, *list, *v.request_bytes) != nullptr;
    row["segments"] = list->segments;
    row["reserved_bytes"] = list->reserved_bytes;
    row["live_bytes"] = list->live_bytes;
    row["free_bytes"] = list->bytes;
    row["pieces"] = list->blocks.size();
    row["largest_piece_bytes"] = list->largestBytes();
    row["largest_request_bytes"] = analysis::largestRequest(v.free.rules, *list);
    rows.push_back(std::move(row));
  }
  return rows;
}

// The largest free parts, in any segment.
json piecesJson(const AnalysedTrace& analysed, const OomVerdict& v) {
  struct Piece {
    const analysis::FreeList* list;
    const analysis::FreeBlock* block;
  };
  std::vector<Piece> pieces;
  for (const analysis::FreeList& list : v.free.lists) {
    for (const analysis::FreeBlock& block : list.blocks) pieces.push_back({&list, &block});
  }
  size_t shown = std::min(pieces.size(), kMaxPieces);
  std::partial_sort(pieces.begin(), pieces.begin() + static_cast<ptrdiff_t>(shown), pieces.end(),
                    [](const Piece& a, const Piece& b) {
                      if (a.block->size_bytes != b.block->size_bytes)
                        return a.block->size_bytes > b.block->size_bytes;
                      return a.block->address < b.block->address;
                    });
  json rows = json::array();
  for (size_t i = 0; i < shown; ++i) {
    json row = freeListKeyJson(analysed.trace, pieces[i].list->key);
    row["own"] = pieces[i].list->key == v.key;
    row["segment_id"] = pieces[i].block->segment.value;
    row["address"] = base::hexAddress(pieces[i].block->address);
    row["size_bytes"] = pieces[i].block->size_bytes;
    row["whole_segment"] = pieces[i].block->whole_segment;
    rows.push_back(std::move(row));
  }
  return {{"total", v.free.count}, {"largest_bytes", v.free.largest_bytes}, {"rows", rows}};
}

json pinsJson(const AnalysedTrace& analysed, const analysis::Pinned& pinned, size_t limit) {
  json rows = json::array();
  for (const StackPins& pins : pinned.stacks) {
    if (rows.size() == limit) break;
    rows.push_back(pinRowJson(analysed, pins));
  }
  return {{"pinned_bytes", pinned.pinned_bytes},
          {"releasable_bytes", pinned.releasable_bytes},
          {"held_in_pools_bytes", pinned.held_in_pools_bytes},
          {"shared_bytes", pinned.shared_bytes},
          {"by_nobody_bytes", pinned.by_nobody_bytes},
          {"segments", pinned.segments},
          {"stacks", pinned.stacks.size()},
          {"rows", rows}};
}

}  // namespace tidegauge::report
