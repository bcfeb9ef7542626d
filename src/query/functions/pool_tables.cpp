// private_pools: what the pools of CUDA graphs and MemPools hold after a step.
#include "analysis/oom/private_pools.h"
#include "query/functions/answer_tables.h"

namespace tidegauge::query {
namespace {

using analysis::DeviceAnalysis;
using Kind = ColumnKind;

struct PoolOf {
  const AnalysedTrace* trace;
  analysis::PoolShare share;
};

// As PyTorch makes their ids.
std::string kindOfPool(const model::Pool& pool) {
  return pool.second == 0 ? "graph" : pool.first == 0 ? "mempool" : "other";
}

}  // namespace

TableFunction privatePoolsFunction(const AnalysedTrace& trace) {
  using P = PoolOf;
  std::vector<AnswerColumn<P>> columns = {
      {Kind::kInteger, "pool_id", "→ pools.id",
       [](const P& p) { return int64_t{p.share.pool.value}; }},
      {Kind::kText,
       "kind",
       "graph: of a CUDA graph; mempool: of a MemPool; other",
       {},
       [](const P& p) { return kindOfPool(p.trace->trace.pools[p.share.pool.index()]); }},
      {Kind::kInteger, "number", "the number that PyTorch gave the pool", [](const P& p) {
         const model::Pool& pool = p.trace->trace.pools[p.share.pool.index()];
         return keyOfBytes(pool.second == 0 ? pool.first : pool.second);
       }}};
  auto number = [&](Kind kind, const char* name, const char* doc, auto key) {
    columns.push_back({kind, name, doc, key});
  };
  number(Kind::kBytes, "live_bytes", "bytes of live blocks in its segments",
         [](const P& p) { return keyOfBytes(p.share.live_bytes); });
  number(Kind::kBytes, "free_bytes", "free bytes in its segments",
         [](const P& p) { return keyOfBytes(p.share.free_bytes); });
  number(Kind::kBytes, "whole_bytes", "the part of free_bytes in whole free segments and pages",
         [](const P& p) { return keyOfBytes(p.share.whole_bytes); });
  number(Kind::kInteger, "live_blocks", "number of live blocks",
         [](const P& p) { return keyOfBytes(p.share.live_blocks); });
  number(Kind::kInteger, "holes", "number of free ranges",
         [](const P& p) { return keyOfBytes(p.share.free_ranges); });
  number(Kind::kInteger, "segments", "number of its segments",
         [](const P& p) { return keyOfBytes(p.share.segments); });
  number(Kind::kInteger, "stack_id", "→ stacks.id: holds most of live_bytes; NULL: none",
         [](const P& p) { return query::keyOf(p.share.stack); });
  number(Kind::kBytes, "stack_bytes", "live bytes of that stack",
         [](const P& p) { return keyOfBytes(p.share.stack_bytes); });
  return placeAnswer<P>(
      trace, "private_pools",
      "table: the pools of CUDA graphs and MemPools after the step, most reserved bytes first",
      {"device", "step"}, columns,
      [&trace](const DeviceAnalysis& device,
               const std::vector<int64_t>& arguments) -> base::Result<std::vector<P>> {
        TG_ASSIGN_OR_RETURN(model::Step step, stepOf(arguments[1]));
        analysis::SegmentedLayout layout(
            analysis::blocksAt(trace.trace, device.device, device.live, step));
        std::vector<P> rows;
        for (const auto& share : analysis::privatePools(trace.trace, layout))
          rows.push_back({&trace, share});
        return rows;
      });
}

}  // namespace tidegauge::query
