// ooms, holders, free_parts, identities, range_totals: the report's figures as tables.
#include "analysis/summary.h"
#include "model/pinned_requests.h"
#include "query/functions/answer_tables.h"

namespace tidegauge::query {
namespace {

using analysis::DeviceAnalysis;
using Kind = ColumnKind;

struct OomRow {
  const AnalysedTrace* trace;
  const DeviceAnalysis* device;
  analysis::OomReport oom;
};

TableFunction oomsFunction(const AnalysedTrace& trace) {
  using O = OomRow;
  std::vector<AnswerColumn<O>> columns = {
      {Kind::kInteger, "device", "ordinal; -1 = pinned host memory",
       [](const O& o) { return int64_t{o.device->device.ordinal}; }},
      {Kind::kStep, "step", "step of the event", [](const O& o) { return keyOfStep(o.oom.step); }},
      {Kind::kTime, "time_us", "µs since the epoch",
       [](const O& o) { return o.device->time.timeOf(o.oom.step); }},
      {Kind::kReal, "seconds", "since the device's first event",
       [](const O& o) { return keyOfSeconds(o.device->time, o.oom.step); }},
      {Kind::kBytes, "requested_bytes", "the request, rounded; NULL: unknown",
       [](const O& o) { return keyOf(o.oom.requested_bytes); }},
      {Kind::kBytes, "device_free_bytes",
       "free bytes as reported by the driver; without an allocator: the last reported value minus "
       "later allocations; NULL: unknown",
       [](const O& o) { return keyOf(o.oom.device_free_bytes); }},
      {Kind::kBytes, "over_bytes", "bytes that the driver lacked; NULL: unknown",
       [](const O& o) { return o.oom.known() ? keyOfBytes(o.oom.overBytes()) : kNull; }},
      {Kind::kBytes, "ceiling_bytes", "reserved_bytes + device_free_bytes",
       [](const O& o) { return keyOf(o.oom.ceilingBytes()); }}};
  auto bytes = [&](const char* name, const char* doc, auto key) {
    columns.push_back({Kind::kBytes, name, doc, key});
  };
  bytes("active_bytes", "at the event",
        [](const O& o) { return keyOfBytes(o.oom.totals.active_bytes); });
  bytes("allocated_bytes", "at the event",
        [](const O& o) { return keyOfBytes(o.oom.totals.allocated_bytes); });
  bytes("reserved_bytes", "at the event",
        [](const O& o) { return keyOfBytes(o.oom.totals.reserved_bytes); });
  bytes("free_in_segments_bytes",
        "free bytes inside segments; NULL here and in the next two columns: not one of the 100 "
        "worst events",
        [](const O& o) { return o.oom.free ? keyOfBytes(o.oom.free->bytes) : kNull; });
  columns.push_back({Kind::kInteger, "holes", "number of holes in segments", [](const O& o) {
                       return o.oom.free ? keyOfBytes(o.oom.free->holes) : kNull;
                     }});
  bytes("largest_hole_bytes", "",
        [](const O& o) { return o.oom.free ? keyOfBytes(o.oom.free->largest_bytes) : kNull; });
  bytes("given_back_bytes", "bytes that the retry of this request returned to the driver",
        [](const O& o) { return keyOfBytes(o.oom.given_back_bytes); });
  columns.push_back({Kind::kInteger, "given_back_segments", "number of these segments",
                     [](const O& o) { return keyOfBytes(o.oom.given_back_segments); }});
  columns.push_back(
      {Kind::kInteger, "refusals",
       "recordings: number of consecutive refusals of the same size in one thread, each within 1 "
       "s of the one before; step is the last of them",
       [](const O& o) { return keyOf(o.oom.refusals); }});
  columns.push_back({Kind::kTime, "first_refused_time_us",
                     "time of the first of these refusals, µs since the epoch", [](const O& o) {
                       return o.oom.first_refusal_ns ? *o.oom.first_refusal_ns / 1000 : kNull;
                     }});
  columns.push_back(
      {Kind::kInteger, "series",
       "number of the series, from 1: consecutive refusals of one call site, each for less than "
       "the one before",
       [](const O& o) { return keyOfBytes(o.oom.series); }});
  columns.push_back({Kind::kInteger, "stack_id", "→ stacks.id: stack of the request",
                     [](const O& o) { return query::keyOf(o.oom.stack); }});
  columns.push_back({Kind::kText, "label", "of that stack", {}, [](const O& o) {
                       return o.trace->labels.label(o.oom.stack);
                     }});
  columns.push_back({Kind::kText, "caller", "as in stacks", {}, [](const O& o) {
                       return o.trace->labels.caller(o.oom.stack);
                     }});
  return deviceAnswer<O>(trace, "ooms", "table: every out-of-memory event, in order", columns,
                         [](const AnalysedTrace& t, const DeviceAnalysis& d) {
                           std::vector<O> rows;
                           for (auto& oom : analysis::oomsOf(t, d, analysis::kMaxOomLayouts)) {
                             rows.push_back({&t, &d, std::move(oom)});
                           }
                           return rows;
                         });
}

struct HolderRow {
  const AnalysedTrace* trace;
  const DeviceAnalysis* device;
  analysis::StackGroup group;
  uint64_t all_bytes;
};

TableFunction holdersFunction(const AnalysedTrace& trace) {
  using H = HolderRow;
  std::vector<AnswerColumn<H>> columns = {
      {Kind::kInteger, "stack_id", "→ stacks.id; NULL: none was recorded",
       [](const H& h) { return query::keyOf(h.group.stack); }},
      {Kind::kText,
       "label",
       "of that stack",
       {},
       [](const H& h) { return h.trace->labels.label(h.group.stack); }},
      {Kind::kBytes, "bytes", "bytes of the blocks",
       [](const H& h) { return keyOfBytes(h.group.block_bytes); }},
      {Kind::kBytes, "requested_bytes",
       "bytes that the program requested; NULL: unknown (pinned host memory)",
       [](const H& h) {
         return keyOfBytes(model::knownSum(h.device->device, h.group.requested_bytes));
       }},
      {Kind::kInteger, "blocks", "number of live blocks",
       [](const H& h) { return keyOfBytes(h.group.blocks); }},
      {Kind::kBytes, "older_bytes", "the part of bytes from before the recording",
       [](const H& h) { return keyOfBytes(h.group.older_bytes); }},
      {Kind::kInteger, "first_allocation_id", "→ allocations.id: its largest block",
       [](const H& h) { return int64_t{h.group.first_row}; }},
      {Kind::kReal, "share", "share of all live bytes, 0 … 1", [](const H& h) {
         return keyOfReal(h.all_bytes == 0 ? 0.0
                                           : static_cast<double>(h.group.block_bytes) /
                                                 static_cast<double>(h.all_bytes));
       }}};
  return placeAnswer<H>(
      trace, "holders", "table: live_at(device, step) by stack, most bytes first",
      {"device", "step"}, columns,
      [&trace](const DeviceAnalysis& device,
               const std::vector<int64_t>& arguments) -> base::Result<std::vector<H>> {
        TG_ASSIGN_OR_RETURN(analysis::Peak place, placeOf(arguments[1]));
        analysis::Holders holders = analysis::holdersAt(trace, device, place);
        std::vector<H> rows;
        for (const auto& group : holders.groups)
          rows.push_back({&trace, &device, group, holders.block_bytes});
        return rows;
      });
}

struct FreeRow {
  analysis::Totals totals;
  analysis::FreeSums free;
};

TableFunction freePartsFunction(const AnalysedTrace& trace) {
  using F = FreeRow;
  std::vector<AnswerColumn<F>> columns;
  auto number = [&](Kind kind, const char* name, const char* doc, auto key) {
    columns.push_back({kind, name, doc, key});
  };
  number(Kind::kBytes, "reserved_bytes", "bytes held from the driver",
         [](const F& f) { return keyOfBytes(f.totals.reserved_bytes); });
  number(Kind::kBytes, "active_bytes", "bytes of live blocks",
         [](const F& f) { return keyOfBytes(f.totals.active_bytes); });
  number(Kind::kBytes, "not_live_bytes", "reserved_bytes − active_bytes", [](const F& f) {
    return f.totals.reserved_bytes > f.totals.active_bytes
               ? keyOfBytes(f.totals.reserved_bytes - f.totals.active_bytes)
               : 0;
  });
  number(Kind::kBytes, "free_bytes", "bytes of the holes in segments",
         [](const F& f) { return keyOfBytes(f.free.bytes); });
  number(Kind::kInteger, "holes", "number of holes",
         [](const F& f) { return keyOfBytes(f.free.holes); });
  number(Kind::kBytes, "largest_hole_bytes", "",
         [](const F& f) { return keyOfBytes(f.free.largest_bytes); });
  number(Kind::kBytes, "pinned_bytes", "free bytes in segments that have a live block",
         [](const F& f) { return keyOfBytes(f.free.pinned_bytes); });
  number(Kind::kInteger, "pinned_segments", "number of these segments",
         [](const F& f) { return keyOfBytes(f.free.pinned_segments); });
  return placeAnswer<F>(
      trace, "free_parts", "table: one row: the free memory inside segments after the step",
      {"device", "step"}, columns,
      [&trace](const DeviceAnalysis& device,
               const std::vector<int64_t>& arguments) -> base::Result<std::vector<F>> {
        TG_ASSIGN_OR_RETURN(model::Step step, stepOf(arguments[1]));
        return std::vector<F>{
            {device.totals.steps() == 0 ? device.totals.last() : device.totals.at(step),
             analysis::freeSums(
                 trace.trace, analysis::blocksAt(trace.trace, device.device, device.live, step))}};
      });
}

TableFunction identitiesFunction(const AnalysedTrace& trace) {
  using I = analysis::Identity;
  std::vector<AnswerColumn<I>> columns = {
      {Kind::kText,
       "name",
       "drawn, live, reserved, segments, checksums",
       {},
       [](const I& i) { return std::string(i.name); }},
      {Kind::kInteger, "holds", "1: the sum is right; 0: it is not",
       [](const I& i) { return int64_t{i.holds}; }},
      {Kind::kText, "text", "the sum in words and numbers", {}, [](const I& i) { return i.text; }},
      {Kind::kBytes, "difference_bytes", "0 if the sum is right",
       [](const I& i) { return keyOfBytes(i.difference_bytes); }}};
  return deviceAnswer<I>(
      trace, "identities", "table: sums that must hold in every file", columns,
      [](const AnalysedTrace& t, const DeviceAnalysis& d) { return analysis::identitiesOf(t, d); });
}

struct RangeRow {
  const char* what;
  uint64_t start_bytes, end_bytes;
  analysis::Peak peak;
  bool has_steps;
  const DeviceAnalysis* device;
  model::Step first, last;
  bool is_known = true;  // false: the requests of pinned host memory
};

TableFunction rangeTotalsFunction(const AnalysedTrace& trace) {
  using R = RangeRow;
  std::vector<AnswerColumn<R>> columns = {
      {Kind::kText,
       "what",
       "requested, allocated, active or reserved",
       {},
       [](const R& r) { return r.what; }},
      {Kind::kBytes, "start_bytes", "before the first step",
       [](const R& r) { return r.is_known ? keyOfBytes(r.start_bytes) : kNull; }},
      {Kind::kBytes, "end_bytes", "after the last step",
       [](const R& r) { return r.is_known ? keyOfBytes(r.end_bytes) : kNull; }},
      {Kind::kBytes, "peak_bytes",
       "peak over these steps; the state before the first one counts, too",
       [](const R& r) { return r.is_known ? keyOfBytes(r.peak.bytes) : kNull; }},
      {Kind::kStep, "peak_step",
       "first step with this peak; first_step − 1: the state before; −1: before the first event",
       [](const R& r) { return r.has_steps && r.is_known ? r.peak.place() : kNull; }},
      {Kind::kStep, "first_step", "the argument first_step",
       [](const R& r) { return keyOfStep(r.first); }},
      {Kind::kStep, "last_step", "the argument last_step, or the last step of the device",
       [](const R& r) { return keyOfStep(r.last); }},
      {Kind::kReal, "first_seconds", "since the device's first event",
       [](const R& r) { return r.has_steps ? keyOfSeconds(r.device->time, r.first) : kNull; }},
      {Kind::kReal, "last_seconds", "since the device's first event",
       [](const R& r) { return r.has_steps ? keyOfSeconds(r.device->time, r.last) : kNull; }},
      {Kind::kInteger, "events", "number of events of the device",
       [](const R& r) { return int64_t{r.device->totals.steps()}; }}};
  return placeAnswer<R>(
      trace, "range_totals", "table: totals over the steps from first to last",
      {"device", "first_step", "last_step"}, columns,
      [](const DeviceAnalysis& device,
         const std::vector<int64_t>& arguments) -> base::Result<std::vector<R>> {
        TG_ASSIGN_OR_RETURN(model::Step first, stepOf(arguments[1]));
        TG_ASSIGN_OR_RETURN(model::Step last, stepOf(arguments[2]));
        using analysis::Totals;
        const analysis::TotalsIndex& totals = device.totals;
        model::Step end = std::min<model::Step>(last, totals.steps() - 1) + 1;
        bool has_steps = totals.steps() > 0 && first < end;
        Totals start = first == 0 || totals.steps() == 0 ? totals.initial() : totals.at(first - 1);
        Totals stop = has_steps ? totals.at(end - 1) : totals.steps() == 0 ? totals.last() : start;
        std::vector<R> rows;
        auto add = [&](const char* what, uint64_t Totals::*bytes) {
          rows.push_back({what,
                          start.*bytes,
                          stop.*bytes,
                          {0, 0},
                          has_steps,
                          &device,
                          first,
                          end - 1,
                          bytes != &Totals::requested_bytes || device.device.knows_requests});
        };
        add("requested", &Totals::requested_bytes);
        add("allocated", &Totals::allocated_bytes);
        add("active", &Totals::active_bytes);
        add("reserved", &Totals::reserved_bytes);
        if (!has_steps) {
          for (R& row : rows) row.peak.bytes = row.end_bytes;
          return rows;
        }
        analysis::PeakReport peaks = analysis::peaksOver(totals, first, end - 1);
        const analysis::Peak* in_order[] = {&peaks.requested, &peaks.allocated, &peaks.active,
                                            &peaks.reserved};
        for (size_t i = 0; i < 4; ++i) rows[i].peak = *in_order[i];
        return rows;
      });
}

}  // namespace

std::vector<TableFunction> reportFunctions(const AnalysedTrace& trace) {
  return {oomsFunction(trace), holdersFunction(trace), freePartsFunction(trace),
          identitiesFunction(trace), rangeTotalsFunction(trace)};
}

}  // namespace tidegauge::query
