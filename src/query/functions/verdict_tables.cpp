// oom_verdicts, pins, advice, fragmentation, and two of them for a given device size: why memory
// ran out, what pins free memory, what to try, what could not be used.
#include "analysis/judgement.h"
#include "analysis/layout/fragmentation_details.h"
#include "analysis/layout/fragmentation_series.h"
#include "query/functions/answer_tables.h"

namespace tidegauge::query {
namespace {

using analysis::DeviceAnalysis;
using analysis::OomReport;
using analysis::OomVerdict;
using Kind = ColumnKind;

struct VerdictOf {
  int32_t device;
  std::shared_ptr<const OomVerdict> verdict;
  std::optional<analysis::VerdictRow> row;  // absent: the file does not contain enough
};

std::vector<AnswerColumn<VerdictOf>> verdictColumns() {
  using V = VerdictOf;
  std::vector<AnswerColumn<V>> columns = {
      {Kind::kInteger, "device", "ordinal", [](const V& v) { return int64_t{v.device}; }},
      {Kind::kStep, "step", "step of the out-of-memory event",
       [](const V& v) { return keyOfStep(v.verdict->step); }},
      {Kind::kText, "verdict",
       "fragmentation, other_pool, held_in_pool, no_flush, capacity, never_fits, internal_waste, "
       "others, cap or flaw; NULL: unknown",
       [](const V& v) { return v.row ? 0 : kNull; },
       [](const V& v) { return std::string(analysis::name(v.row->verdict)); }}};
  auto bytes = [&](const char* name, const char* doc, auto key) {
    columns.push_back({Kind::kBytes, name, doc, key});
  };
  bytes("bytes", "bytes that this reason kept from the request",
        [](const V& v) { return v.row ? keyOfBytes(v.row->bytes) : kNull; });
  columns.push_back({Kind::kInteger, "certain", "0: uncertain_bytes could change the verdict",
                     [](const V& v) { return v.row ? int64_t{v.row->certain} : kNull; }});
  bytes("request_bytes", "the request, rounded",
        [](const V& v) { return keyOf(v.verdict->request_bytes); });
  bytes("wanted_bytes", "bytes that the allocator requested from the driver: a segment, or pages",
        [](const V& v) { return keyOf(v.verdict->wanted_bytes); });
  bytes("missing_bytes",
        "wanted_bytes − driver_bytes; NULL: the driver had enough, or one of them is unknown",
        [](const V& v) { return keyOf(v.verdict->missingBytes()); });
  bytes("lacking_bytes", "bytes that would be missing even if all free bytes were in one range",
        [](const V& v) { return keyOfBytes(v.verdict->lackingBytes()); });
  bytes("live_bytes", "bytes of live blocks inside segments",
        [](const V& v) { return keyOfBytes(v.verdict->live_bytes); });
  bytes("free_bytes", "free bytes inside segments",
        [](const V& v) { return keyOfBytes(v.verdict->free_bytes); });
  bytes("driver_bytes", "free bytes as reported by the driver",
        [](const V& v) { return keyOf(v.verdict->driver_bytes); });
  bytes("told_free_bytes",
        "without an allocator: the free bytes that "
        "the driver last reported; NULL: not reported",
        [](const V& v) {
          return v.verdict->driver_free ? keyOfBytes(v.verdict->driver_free->free_bytes) : kNull;
        });
  bytes("told_taken_bytes",
        "… and the bytes that this process allocated since then; below 0: it returned more",
        [](const V& v) {
          return v.verdict->driver_free ? v.verdict->driver_free->taken_since_bytes : kNull;
        });
  columns.push_back({Kind::kInteger, "told_before_us",
                     "… how long before the event; below 0: after",
                     [](const V& v) { return v.verdict->driver_free_before_us.value_or(kNull); }});
  bytes("other_bytes",
        "bytes of the device outside this allocator; NULL: the size of the device is unknown",
        [](const V& v) { return keyOf(v.verdict->otherBytes()); });
  bytes("reserved_bytes", "live_bytes + free_bytes",
        [](const V& v) { return keyOfBytes(v.verdict->reserved_bytes); });
  bytes("ceiling_bytes", "reserved_bytes + driver_bytes",
        [](const V& v) { return keyOf(v.verdict->ceilingBytes()); });
  bytes("total_bytes", "memory of the device, as reported; NULL: not reported",
        [](const V& v) { return keyOf(v.verdict->total_bytes); });
  bytes("difference_bytes", "reserved − (live + free); if it is not 0, the file contradicts itself",
        [](const V& v) { return v.verdict->differenceBytes(); });
  columns.push_back({Kind::kInteger, "holes", "number of holes",
                     [](const V& v) { return keyOfBytes(v.verdict->free.count); }});
  bytes("largest_hole_bytes", "",
        [](const V& v) { return keyOfBytes(v.verdict->free.largest_bytes); });
  columns.push_back({Kind::kInteger, "pieces",
                     "number of holes that could not serve the request in any pool or stream",
                     [](const V& v) { return keyOfBytes(v.verdict->pieces.count); }});
  bytes("largest_piece_bytes", "of these",
        [](const V& v) { return keyOfBytes(v.verdict->pieces.largest_bytes); });
  bytes("rounding_bytes", "bytes of live blocks beyond their requests rounded to 512 B",
        [](const V& v) { return keyOfBytes(v.verdict->rounding_bytes); });
  bytes("uncertain_bytes", "the true live_bytes may be higher by this much",
        [](const V& v) { return keyOfBytes(v.verdict->uncertain_bytes); });
  bytes("held_bytes", "free bytes in private pools other than the request's",
        [](const V& v) { return keyOfBytes(v.verdict->held_bytes); });
  bytes("held_whole_bytes", "the part of held_bytes in whole free segments and pages",
        [](const V& v) { return keyOfBytes(v.verdict->held_whole_bytes); });
  bytes("unflushed_bytes",
        "whole free segments of the default pool that a flush would have returned; 0: it took "
        "place, or it would not have helped",
        [](const V& v) { return keyOfBytes(v.verdict->unflushed_bytes); });
  bytes("rest_bytes",
        "free bytes that are the rests of segments made for one request in the request's pool",
        [](const V& v) { return keyOfBytes(v.verdict->rests.bytes); });
  columns.push_back({Kind::kInteger, "rest_segments", "number of these segments",
                     [](const V& v) { return keyOfBytes(v.verdict->rests.segments); }});
  bytes("rest_request_bytes", "most of them were made for requests of this size",
        [](const V& v) { return keyOfBytes(v.verdict->rests.request_bytes); });
  bytes("rest_segment_bytes", "… and have this size",
        [](const V& v) { return keyOfBytes(v.verdict->rests.segment_bytes); });
  bytes("not_on_device_bytes",
        "reserved_bytes + driver_bytes − total_bytes: reserved, but not on the device",
        [](const V& v) { return keyOfBytes(v.verdict->not_on_device_bytes); });
  columns.push_back(
      {Kind::kReal, "fraction", "per_process_memory_fraction of the settings", [](const V& v) {
         return v.verdict->cap && v.verdict->cap->fraction ? keyOfReal(*v.verdict->cap->fraction)
                                                           : kNull;
       }});
  bytes("cap_least_bytes", "lower bound of a memory limit of the process", [](const V& v) {
    return v.verdict->cap ? keyOfBytes(v.verdict->cap->least_bytes) : kNull;
  });
  bytes("cap_below_bytes", "… and its upper bound", [](const V& v) {
    return v.verdict->cap ? keyOfBytes(v.verdict->cap->below_bytes) : kNull;
  });
  bytes("pinned_bytes", "free bytes that live blocks keep from the driver",
        [](const V& v) { return keyOfBytes(v.verdict->pinned.pinned_bytes); });
  bytes("releasable_bytes",
        "free bytes in whole free segments or pages, which empty_cache() returns",
        [](const V& v) { return keyOfBytes(v.verdict->pinned.releasable_bytes); });
  bytes("held_in_pools_bytes",
        "free bytes in whole free segments or pages of private pools, which only their graph or "
        "MemPool can use or release",
        [](const V& v) { return keyOfBytes(v.verdict->pinned.held_in_pools_bytes); });
  bytes("shared_bytes", "the part of pinned_bytes that blocks of several stacks keep",
        [](const V& v) { return keyOfBytes(v.verdict->pinned.shared_bytes); });
  bytes("by_nobody_bytes", "the part of pinned_bytes in pages without a live block",
        [](const V& v) { return keyOfBytes(v.verdict->pinned.by_nobody_bytes); });
  return columns;
}

std::vector<VerdictOf> verdictsOf(const AnalysedTrace& trace, const DeviceAnalysis& device,
                                  std::optional<uint64_t> capacity_bytes) {
  std::vector<OomReport> ooms = analysis::oomsOf(trace, device, analysis::kMaxOomLayouts);
  analysis::VerdictOptions options = analysis::verdictOptions(trace, device, ooms, capacity_bytes);
  std::vector<VerdictOf> rows;
  for (const OomReport& oom : ooms) {
    if (!oom.free) continue;
    auto verdict =
        std::make_shared<const OomVerdict>(analysis::verdictOf(trace, device, oom, options));
    for (const analysis::VerdictRow& row : verdict->rows) {
      rows.push_back({device.device.ordinal, verdict, row});
    }
    if (verdict->rows.empty()) rows.push_back({device.device.ordinal, verdict, std::nullopt});
  }
  return rows;
}

TableFunction verdictsFunction(const AnalysedTrace& trace) {
  return deviceAnswer<VerdictOf>(
      trace, "oom_verdicts",
      "table: why memory ran out, one row per reason, for the 100 worst events "
      "(docs/explain/oom.md)",
      verdictColumns(), [](const AnalysedTrace& t, const DeviceAnalysis& d) {
        return verdictsOf(t, d, std::nullopt);
      });
}

TableFunction verdictsAtFunction(const AnalysedTrace& trace) {
  return capacityAnswer<VerdictOf>(trace, "oom_verdicts_at",
                                   "table: as oom_verdicts, on a device of the given size",
                                   verdictColumns(), verdictsOf);
}

struct PinsOf {
  const AnalysedTrace* trace;
  analysis::StackPins pins;
};

TableFunction pinsFunction(const AnalysedTrace& trace) {
  using P = PinsOf;
  std::vector<AnswerColumn<P>> columns = {
      {Kind::kInteger, "stack_id", "→ stacks.id; NULL: none was recorded",
       [](const P& p) { return query::keyOf(p.pins.stack); }},
      {Kind::kText,
       "label",
       "of that stack",
       {},
       [](const P& p) { return p.trace->labels.label(p.pins.stack); }},
      {Kind::kBytes, "pins_bytes",
       "free bytes that its blocks keep from the driver; do not add them up over stacks",
       [](const P& p) { return keyOfBytes(p.pins.pinsBytes()); }},
      {Kind::kBytes, "alone_bytes", "the part that no other stack keeps",
       [](const P& p) { return keyOfBytes(p.pins.alone_bytes); }},
      {Kind::kBytes, "shared_bytes", "the part that other stacks keep as well",
       [](const P& p) { return keyOfBytes(p.pins.shared_bytes); }},
      {Kind::kInteger, "blocks", "number of blocks that keep free memory from the driver",
       [](const P& p) { return keyOfBytes(p.pins.blocks); }},
      {Kind::kBytes, "block_bytes", "bytes of these blocks",
       [](const P& p) { return keyOfBytes(p.pins.block_bytes); }},
      {Kind::kBytes, "smallest_bytes", "size of the smallest of these blocks",
       [](const P& p) { return keyOfBytes(p.pins.smallest_bytes); }},
      {Kind::kBytes, "largest_bytes", "size of the largest of these blocks",
       [](const P& p) { return keyOfBytes(p.pins.largest_bytes); }},
      {Kind::kInteger, "segments", "number of segments with such blocks",
       [](const P& p) { return keyOfBytes(p.pins.segments); }},
      {Kind::kInteger, "oldest_allocation_id", "→ allocations.id",
       [](const P& p) { return int64_t{p.pins.oldest_row}; }}};
  return placeAnswer<P>(
      trace, "pins",
      "table: stacks whose blocks keep free memory from the driver, most important first "
      "(docs/explain/oom.md)",
      {"device", "step"}, columns,
      [&trace](const DeviceAnalysis& device,
               const std::vector<int64_t>& arguments) -> base::Result<std::vector<P>> {
        TG_ASSIGN_OR_RETURN(model::Step step, stepOf(arguments[1]));
        analysis::SegmentedLayout layout(
            analysis::blocksAt(trace.trace, device.device, device.live, step));
        std::vector<P> rows;
        for (const auto& pins : analysis::pinnedBy(trace.trace, layout).stacks) {
          rows.push_back({&trace, pins});
        }
        return rows;
      });
}

struct AdviceOf {
  int32_t device;
  size_t place;  // from 1
  analysis::Advice advice;
  analysis::Evidence evidence;
};

Answers<AdviceOf> adviceOf(const AnalysedTrace& trace, const DeviceAnalysis& device,
                           std::optional<uint64_t> capacity_bytes, const Deadline& deadline) {
  StopAt stop(deadline);
  std::vector<analysis::Advice> all =
      analysis::judge(trace, analysis::summarise(trace, device), capacity_bytes,
                      {analysis::Replays::kShort, stop.token()})
          .advice;
  if (stop.token().stop_requested()) return stoppedAnswer();
  std::vector<AdviceOf> rows;
  for (size_t i = 0; i < all.size(); ++i) {
    for (const analysis::Evidence& evidence : all[i].evidence) {
      rows.push_back({device.device.ordinal, i + 1, all[i], evidence});
    }
  }
  return rows;
}

std::vector<AnswerColumn<AdviceOf>> adviceColumns() {
  using A = AdviceOf;
  std::vector<AnswerColumn<A>> columns = {
      {Kind::kInteger, "device", "ordinal", [](const A& a) { return int64_t{a.device}; }},
      {Kind::kInteger, "place", "1 = first to try", [](const A& a) { return keyOfBytes(a.place); }},
      {Kind::kText,
       "kind",
       "kind of advice",
       {},
       [](const A& a) { return std::string(analysis::name(a.advice.kind)); }},
      {Kind::kText, "setting", "value for PYTORCH_CUDA_ALLOC_CONF; NULL: none",
       [](const A& a) { return a.advice.setting.empty() ? kNull : 0; },
       [](const A& a) { return a.advice.setting; }},
      {Kind::kStep, "step", "step that it is about; NULL: none",
       [](const A& a) { return a.advice.step ? keyOfStep(*a.advice.step) : kNull; }},
      {Kind::kText,
       "name",
       "name of a number that supports it",
       {},
       [](const A& a) { return a.evidence.name; }},
      {Kind::kInteger, "value", "value of this number",
       [](const A& a) { return keyOfBytes(a.evidence.value); }},
      {Kind::kText, "source", "where the number comes from", {}, [](const A& a) {
         return a.evidence.source;
       }}};
  auto effect = [&](Kind kind, const char* name, const char* doc, auto key) {
    columns.push_back({kind, name, doc, [key](const A& a) {
                         return a.advice.effect ? key(*a.advice.effect) : kNull;
                       }});
  };
  using E = analysis::AdviceEffect;
  effect(Kind::kInteger, "helps",
         "1: a replay proves that it helps; 0: a replay disproves it; NULL: not replayed",
         [](const E& e) { return int64_t{e.helps}; });
  effect(Kind::kInteger, "ooms_before", "failing requests in a replay of the recorded program",
         [](const E& e) { return keyOfBytes(e.ooms_before); });
  effect(Kind::kInteger, "ooms_after", "… and with this advice",
         [](const E& e) { return keyOfBytes(e.ooms_after); });
  effect(
      Kind::kStep, "first_failing_step", "step of the first of these; NULL: none fails",
      [](const E& e) { return e.first_failing_step ? keyOfStep(*e.first_failing_step) : kNull; });
  effect(Kind::kBytes, "peak_reserved_before_bytes", "peak reserved memory in the first replay",
         [](const E& e) { return keyOfBytes(e.peak_reserved_before_bytes); });
  effect(Kind::kBytes, "peak_reserved_after_bytes", "… and with this advice",
         [](const E& e) { return keyOfBytes(e.peak_reserved_after_bytes); });
  effect(Kind::kStep, "forecast_from_step",
         "from this step on, the program would have behaved differently; NULL: never",
         [](const E& e) { return e.forecast_from ? keyOfStep(*e.forecast_from) : kNull; });
  return columns;
}

TableFunction adviceFunction(const AnalysedTrace& trace) {
  return deviceAnswer<AdviceOf>(
      trace, "advice", "table: advice, one row per number that supports it", adviceColumns(),
      [](const AnalysedTrace& t, const DeviceAnalysis& d, const Deadline& deadline) {
        return adviceOf(t, d, std::nullopt, deadline);
      });
}

TableFunction adviceAtFunction(const AnalysedTrace& trace) {
  return capacityAnswer<AdviceOf>(trace, "advice_at",
                                  "table: as advice, on a device of the given size",
                                  adviceColumns(), adviceOf);
}

struct FragmentationOf {
  analysis::FragmentationSample sample;
  uint64_t request_bytes;
  bool has_allocator;  // if not, there is no layout
};

TableFunction fragmentationFunction(const AnalysedTrace& trace) {
  using F = FragmentationOf;
  std::vector<AnswerColumn<F>> columns = {
      {Kind::kStep, "step", "", [](const F& f) { return keyOfStep(f.sample.step); }}};
  auto number = [&](Kind kind, const char* name, const char* doc, auto key) {
    columns.push_back({kind, name, doc, key});
  };
  auto bytes = [&](const char* name, const char* doc, auto of) {
    number(Kind::kBytes, name, doc, [of](const F& f) { return keyOfBytes(of(f.sample.sums)); });
  };
  using S = analysis::FragmentationSums;
  bytes("reserved_bytes", "bytes of known segments", [](const S& s) { return s.reserved_bytes; });
  bytes("free_bytes", "the part of these bytes in no live block",
        [](const S& s) { return s.free.bytes; });
  number(Kind::kInteger, "holes", "number of holes",
         [](const F& f) { return keyOfBytes(f.sample.sums.free.holes); });
  bytes("largest_hole_bytes", "", [](const S& s) { return s.free.largest_bytes; });
  bytes("scattered_bytes", "free bytes outside the largest hole",
        [](const S& s) { return s.free.scatteredBytes(); });
  bytes("pinned_bytes", "free bytes that live blocks keep from the driver",
        [](const S& s) { return s.free.pinned_bytes; });
  bytes("releasable_bytes",
        "free bytes in whole free segments or pages, which empty_cache() returns",
        [](const S& s) { return s.free.releasable_bytes; });
  bytes("held_in_pools_bytes",
        "free bytes in whole free segments or pages of private pools, which only their graph or "
        "MemPool can use or release",
        [](const S& s) { return s.free.held_in_pools_bytes; });
  number(Kind::kBytes, "large_request_bytes", "the 95th percentile of the recorded requests",
         [](const F& f) { return keyOfBytes(f.request_bytes); });
  bytes("stranded_bytes", "free bytes that requests of that size cannot use",
        [](const S& s) { return s.free.stranded_bytes; });
  bytes("waste_bytes", "bytes inside live blocks that the program did not request",
        [](const S& s) { return s.waste_bytes; });
  number(Kind::kReal, "reserved_score",
         "layout score of the main pool, 0 … 100, which measures shape only; NULL: no allocator",
         [](const F& f) { return f.has_allocator ? keyOfReal(f.sample.reserved.score) : kNull; });
  number(Kind::kReal, "address_score",
         "layout score of the address space, where holes use no memory; NULL: no allocator",
         [](const F& f) { return f.has_allocator ? keyOfReal(f.sample.address.score) : kNull; });
  return placeAnswer<F>(
      trace, "fragmentation",
      "table: one row: the fragmentation numbers after the step (docs/explain/fragmentation.md)",
      {"device", "step"}, columns,
      [&trace](const DeviceAnalysis& device,
               const std::vector<int64_t>& arguments) -> base::Result<std::vector<F>> {
        TG_ASSIGN_OR_RETURN(model::Step step, stepOf(arguments[1]));
        analysis::FragmentationOptions options = analysis::ownOptions(trace.trace, device.device);
        return std::vector<F>{{analysis::fragmentationAt(trace, device, step, options).sample,
                               options.request_bytes, device.device.has_allocator}};
      });
}

}  // namespace

std::vector<TableFunction> verdictFunctions(const AnalysedTrace& trace) {
  return {verdictsFunction(trace), verdictsAtFunction(trace), pinsFunction(trace),
          adviceFunction(trace),   adviceAtFunction(trace),   fragmentationFunction(trace)};
}

}  // namespace tidegauge::query
