// growth, growth_basis, never_freed, churn, churn_sums, wall, wall_at, phases: of a device.
#include "analysis/growth/churn.h"
#include "analysis/growth/growth.h"
#include "analysis/growth/outstanding.h"
#include "analysis/growth/wall.h"
#include "analysis/summary.h"
#include "query/functions/answer_tables.h"

namespace tidegauge::query {
namespace {

using analysis::DeviceAnalysis;
using Kind = ColumnKind;

// Adds the device to every row.
template <class T>
struct Of {
  const AnalysedTrace* trace;
  const DeviceAnalysis* device;
  T row;
};
template <class T>
std::vector<Of<T>> rowsOf(const AnalysedTrace& trace, const DeviceAnalysis& device,
                          std::vector<T> rows) {
  std::vector<Of<T>> result;
  result.reserve(rows.size());
  for (T& row : rows) result.push_back({&trace, &device, std::move(row)});
  return result;
}

template <class T>
AnswerColumn<Of<T>> deviceColumn() {
  return {Kind::kInteger, "device", "ordinal; -1 = pinned host memory",
          [](const Of<T>& of) { return int64_t{of.device->device.ordinal}; }};
}
template <class T>
void addStack(std::vector<AnswerColumn<Of<T>>>& columns) {
  columns.push_back({Kind::kInteger, "stack_id", "→ stacks.id; NULL: none was recorded",
                     [](const Of<T>& of) { return keyOf(of.row.stack); }});
  columns.push_back({Kind::kText, "label", "of that stack, as in stacks", {}, [](const Of<T>& of) {
                       return of.trace->labels.label(of.row.stack);
                     }});
  columns.push_back({Kind::kText, "caller", "as in stacks", {}, [](const Of<T>& of) {
                       return of.trace->names.caller(of.row.stack);
                     }});
}
int64_t whole(double bytes) { return static_cast<int64_t>(std::llround(bytes)); }

TableFunction growthFunction(const AnalysedTrace& trace) {
  using G = Of<analysis::GrowingStack>;
  std::vector<AnswerColumn<G>> columns = {deviceColumn<analysis::GrowingStack>()};
  addStack(columns);
  auto bytes = [&](const char* name, const char* doc, auto key) {
    columns.push_back({Kind::kBytes, name, doc, key});
  };
  auto real = [&](const char* name, const char* doc, auto key) {
    columns.push_back({Kind::kReal, name, doc, key});
  };
  bytes("per_step_bytes",
        "Theil–Sen slope of the bytes per step of the program, or per 1,000 events if the program "
        "marks no steps",
        [](const G& g) { return whole(g.row.bytes_per_step); });
  bytes("least_per_step_bytes", "lower end of the 90 % confidence interval",
        [](const G& g) { return whole(g.row.low); });
  bytes("most_per_step_bytes", "upper end of the 90 % confidence interval",
        [](const G& g) { return whole(g.row.high); });
  bytes("grown_bytes", "growth after the warm-up",
        [](const G& g) { return keyOfBytes(g.row.grown_bytes); });
  bytes("retained_bytes",
        "bytes that are not freed at the end, or before the clean-up if the program cleaned up at "
        "its end",
        [](const G& g) { return keyOfBytes(g.row.retained_bytes); });
  columns.push_back({Kind::kInteger, "blocks", "number of blocks in retained_bytes",
                     [](const G& g) { return keyOfBytes(g.row.retained_blocks); }});
  columns.push_back({Kind::kStep, "since_step", "step from which the stack grows",
                     [](const G& g) { return keyOfStep(g.row.since_step); }});
  real("p", "p-value of the two-sided Mann–Kendall test for growth",
       [](const G& g) { return keyOfReal(g.row.p); });
  real("rises", "share of the intervals between points in which the bytes rose, 0 … 1",
       [](const G& g) { return keyOfReal(g.row.rises); });
  columns.push_back({Kind::kText,
                     "kind",
                     "accumulates: old blocks stay; replaced: new blocks take their place",
                     {},
                     [](const G& g) {
                       return g.row.kind == analysis::GrowingStack::Kind::kAccumulates
                                  ? "accumulates"
                                  : "replaced";
                     }});
  columns.push_back({Kind::kInteger, "example_allocation_id", "→ allocations.id",
                     [](const G& g) { return int64_t{g.row.example_row}; }});
  bytes("given_back_bytes",
        "the part of retained_bytes that the clean-up at the end of the program freed",
        [](const G& g) { return keyOfBytes(g.row.given_back_bytes); });
  columns.push_back({Kind::kInteger, "is_late",
                     "1: it began to grow after the warm-up; the slope is that of the part that "
                     "rises, and since_step the first block that stayed",
                     [](const G& g) { return int64_t{g.row.is_late}; }});
  return deviceAnswer<G>(
      trace, "growth",
      "table: stacks that hold more and more memory, fastest first (docs/explain/growth.md)",
      columns, [](const AnalysedTrace& t, const DeviceAnalysis& d) {
        return rowsOf(t, d, analysis::findGrowth(t, d).stacks);
      });
}

TableFunction growthBasisFunction(const AnalysedTrace& trace) {
  using B = Of<analysis::Growth>;
  using Basis = analysis::SamplePoints::Basis;
  std::vector<AnswerColumn<B>> columns = {
      deviceColumn<analysis::Growth>(),
      {Kind::kText,
       "basis",
       "what the points are: steps (annotations of one name) or events (equal numbers of events)",
       {},
       [](const B& b) { return b.row.points.basis == Basis::kSteps ? "steps" : "events"; }},
      {Kind::kText, "name", "name of the annotations, without its counter; NULL: basis is events",
       [](const B& b) { return b.row.points.basis == Basis::kSteps ? 0 : kNull; },
       [](const B& b) { return b.row.points.name; }},
      {Kind::kReal, "program_steps", "number of steps of the program, or number of events / 1,000",
       [](const B& b) { return keyOfReal(b.row.points.program_steps); }},
      {Kind::kInteger, "points", "number of points at which stacks were compared",
       [](const B& b) { return keyOfBytes(b.row.points.size()); }},
      {Kind::kText,
       "verdict",
       "told, too_few_points or too_little_turnover",
       {},
       [](const B& b) { return std::string(analysis::name(b.row.verdict)); }},
      {Kind::kReal, "turnover",
       "bytes allocated ÷ range of active bytes, after the warm-up; 0 if basis is steps",
       [](const B& b) { return keyOfReal(b.row.turnover); }},
      {Kind::kInteger, "growing", "number of stacks that grow",
       [](const B& b) { return keyOfBytes(b.row.growing); }},
      {Kind::kInteger, "marked_steps",
       "steps that the recording marks most often by one name (annotations or snapshots), also if "
       "they are too few for growth; 0: none",
       [](const B& b) { return keyOfBytes(b.row.points.marked_steps); }},
      {Kind::kText, "marked_name", "that name, without its counter; NULL: none",
       [](const B& b) { return b.row.points.marked_steps > 0 ? 0 : kNull; },
       [](const B& b) { return b.row.points.marked_name; }},
      {Kind::kStep, "clean_up_step",
       "step from which the program only freed memory until its end; growth ignores this part; "
       "NULL: none",
       [](const B& b) {
         bool is_cleaned = b.device->clean_up_step < b.device->device.steps();
         return is_cleaned ? keyOfStep(b.device->clean_up_step) : kNull;
       }}};
  return deviceAnswer<B>(trace, "growth_basis",
                         "table: one row: the points and thresholds that growth(device) uses",
                         columns, [](const AnalysedTrace& t, const DeviceAnalysis& d) {
                           return rowsOf(t, d, std::vector{analysis::findGrowth(t, d)});
                         });
}

TableFunction neverFreedFunction(const AnalysedTrace& trace) {
  using N = Of<analysis::OutstandingStack>;
  std::vector<AnswerColumn<N>> columns = {deviceColumn<analysis::OutstandingStack>()};
  addStack(columns);
  auto bytes = [&](std::string name, std::string doc, auto key) {
    columns.push_back({Kind::kBytes, std::move(name), std::move(doc), key});
  };
  bytes("bytes", "bytes of the blocks", [](const N& n) { return keyOfBytes(n.row.bytes); });
  columns.push_back(
      {Kind::kInteger, "blocks", "", [](const N& n) { return keyOfBytes(n.row.blocks); }});
  bytes("older_bytes", "the part of bytes from before the recording",
        [](const N& n) { return keyOfBytes(n.row.older_bytes); });
  for (size_t q = 0; q < 4; ++q) {
    bytes(fmt::format("quarter{}_bytes", q + 1),
          q == 0 ? "allocated in the first quarter of the recording's events"
                 : "the same for this quarter",
          [q](const N& n) { return keyOfBytes(n.row.by_quarter_bytes[q]); });
  }
  columns.push_back({Kind::kStep, "oldest_step",
                     "step of its oldest allocation; NULL: before the recording",
                     [](const N& n) { return keyOfStep(n.row.oldest_step); }});
  columns.push_back({Kind::kStep, "newest_step", "step of its newest allocation",
                     [](const N& n) { return keyOfStep(n.row.newest_step); }});
  columns.push_back({Kind::kInteger, "largest_allocation_id", "→ allocations.id",
                     [](const N& n) { return int64_t{n.row.largest_row}; }});
  return deviceAnswer<N>(
      trace, "never_freed",
      "table: memory that was not freed when the recording ended, by stack and age", columns,
      [](const AnalysedTrace& t, const DeviceAnalysis& d) {
        return rowsOf(t, d, analysis::neverFreed(t, d).stacks);
      });
}

TableFunction churnFunction(const AnalysedTrace& trace) {
  using C = Of<analysis::ChurnStack>;
  std::vector<AnswerColumn<C>> columns = {deviceColumn<analysis::ChurnStack>()};
  addStack(columns);
  for (size_t w = 0; w < analysis::kChurnWindows.size(); ++w) {
    columns.push_back({Kind::kInteger, fmt::format("blocks_{}", analysis::kChurnWindows[w]),
                       fmt::format("number of allocations freed within {} later allocations",
                                   analysis::kChurnWindows[w]),
                       [w](const C& c) { return keyOfBytes(c.row.blocks[w]); }});
    columns.push_back({Kind::kBytes, fmt::format("within_{}_bytes", analysis::kChurnWindows[w]),
                       "bytes of these allocations",
                       [w](const C& c) { return keyOfBytes(c.row.bytes[w]); }});
  }
  columns.push_back({Kind::kBytes, "peak_bytes",
                     "the part of within_100_bytes that was live at the peak of active memory",
                     [](const C& c) { return keyOfBytes(c.row.peak_bytes); }});
  columns.push_back({Kind::kInteger, "largest_allocation_id", "→ allocations.id",
                     [](const C& c) { return int64_t{c.row.largest_row}; }});
  return deviceAnswer<C>(
      trace, "churn", "table: memory that was freed soon after its allocation, by stack", columns,
      [](const AnalysedTrace& t, const DeviceAnalysis& d) {
        return rowsOf(t, d, analysis::churnOf(t, d, analysis::samplePointsOf(t, d)).stacks);
      });
}

TableFunction churnSumsFunction(const AnalysedTrace& trace) {
  using C = Of<analysis::Churn>;
  std::vector<AnswerColumn<C>> columns = {deviceColumn<analysis::Churn>()};
  auto number = [&](Kind kind, std::string name, std::string doc, auto key) {
    columns.push_back({kind, std::move(name), std::move(doc), key});
  };
  number(Kind::kInteger, "allocations",
         "number of allocations whose alloc event is in the recording",
         [](const C& c) { return keyOfBytes(c.row.allocations); });
  number(Kind::kBytes, "allocated_bytes", "bytes of these allocations",
         [](const C& c) { return keyOfBytes(c.row.allocated_bytes); });
  for (size_t w = 0; w < analysis::kChurnWindows.size(); ++w) {
    uint64_t window = analysis::kChurnWindows[w];
    number(Kind::kInteger, fmt::format("blocks_{}", window),
           fmt::format("number of allocations freed within {} later allocations", window),
           [w](const C& c) { return keyOfBytes(c.row.blocks[w]); });
    number(Kind::kBytes, fmt::format("within_{}_bytes", window), "bytes of these allocations",
           [w](const C& c) { return keyOfBytes(c.row.bytes[w]); });
  }
  number(Kind::kBytes, "peak_bytes",
         "the part of within_100_bytes that was live at the peak of active memory",
         [](const C& c) { return keyOfBytes(c.row.peak_bytes); });
  number(Kind::kReal, "program_steps", "as in growth_basis",
         [](const C& c) { return keyOfReal(c.row.program_steps); });
  number(Kind::kBytes, "per_step_bytes", "within_100_bytes ÷ program_steps",
         [](const C& c) { return keyOfBytes(c.row.perStepBytes()); });
  number(Kind::kInteger, "stacks", "number of rows in churn(device)",
         [](const C& c) { return keyOfBytes(c.row.stacks.size()); });
  return deviceAnswer<C>(
      trace, "churn_sums", "table: one row: the sums of churn(device)", columns,
      [](const AnalysedTrace& t, const DeviceAnalysis& d) {
        return rowsOf(t, d, std::vector{analysis::churnOf(t, d, analysis::samplePointsOf(t, d))});
      });
}

struct WallRow {
  const DeviceAnalysis* device;
  const char* what;
  analysis::Wall wall;
  analysis::WallLine line;
};
int64_t keyOfEvents(std::optional<double> events) {
  constexpr double kMost = 9e18;
  return events ? whole(std::min(*events, kMost)) : kNull;
}

std::vector<AnswerColumn<WallRow>> wallColumns() {
  using W = WallRow;
  return {
      {Kind::kInteger, "device", "ordinal; -1 = pinned host memory",
       [](const W& w) { return int64_t{w.device->device.ordinal}; }},
      {Kind::kText, "what", "active or reserved", {}, [](const W& w) { return w.what; }},
      {Kind::kBytes, "now_bytes",
       "highest value in the last of the equal slices into which the recording is divided",
       [](const W& w) { return keyOfBytes(w.line.now_bytes); }},
      {Kind::kBytes, "capacity_bytes",
       "capacity: the argument, or inferred from an out-of-memory event; NULL: unknown",
       [](const W& w) {
         return w.wall.capacity_bytes ? keyOfBytes(*w.wall.capacity_bytes) : kNull;
       }},
      {Kind::kReal, "per_event_bytes", "Theil–Sen slope of the highest value of each slice",
       [](const W& w) { return keyOfReal(w.line.bytes_per_event.slope); }},
      {Kind::kReal, "least_per_event_bytes", "lower end of the 90 % confidence interval",
       [](const W& w) { return keyOfReal(w.line.bytes_per_event.low); }},
      {Kind::kReal, "most_per_event_bytes", "upper end of the 90 % confidence interval",
       [](const W& w) { return keyOfReal(w.line.bytes_per_event.high); }},
      {Kind::kInteger, "grows", "1: the interval is above 0",
       [](const W& w) { return int64_t{w.line.grows()}; }},
      {Kind::kInteger, "events_left",
       "events until the capacity is reached; NULL: no growth, or no capacity that is certain",
       [](const W& w) { return keyOfEvents(w.line.events_left); }},
      {Kind::kInteger, "least_events_left", "lower end of the 90 % confidence interval",
       [](const W& w) { return keyOfEvents(w.line.events_left_least); }},
      {Kind::kInteger, "most_events_left", "upper end of the 90 % confidence interval",
       [](const W& w) { return keyOfEvents(w.line.events_left_most); }},
      {Kind::kReal, "seconds_per_event", "NULL: the file has no times",
       [](const W& w) {
         return w.wall.seconds_per_event ? keyOfReal(*w.wall.seconds_per_event) : kNull;
       }},
      {Kind::kReal, "seconds_left", "events_left in seconds",
       [](const W& w) {
         bool known = w.line.events_left && w.wall.seconds_per_event;
         return known ? keyOfReal(std::round(*w.line.events_left) * *w.wall.seconds_per_event)
                      : kNull;
       }},
      {Kind::kBytes, "excess_bytes",
       "now_bytes above the capacity; NULL: not above, or no capacity that is certain",
       [](const W& w) { return w.line.excess_bytes ? keyOfBytes(*w.line.excess_bytes) : kNull; }},
      {Kind::kBytes, "unmapped_bytes",
       "live bytes of MemPools that may be unmapped; above 0, the capacity is an upper bound, "
       "and events_left is NULL",
       [](const W& w) { return keyOfBytes(w.wall.unmapped_bytes); }},
      {Kind::kStep, "since_step",
       "step from which the slope is taken, because growth began late; NULL: the end of the "
       "warm-up",
       [](const W& w) { return w.wall.since_step ? keyOfStep(*w.wall.since_step) : kNull; }},
      {Kind::kBytes, "rise_bytes", "per_event_bytes × 1,000, rounded",
       [](const W& w) { return whole(1000 * w.line.bytes_per_event.slope); }},
      {Kind::kBytes, "least_rise_bytes", "lower end of the 90 % confidence interval",
       [](const W& w) { return whole(1000 * w.line.bytes_per_event.low); }},
      {Kind::kBytes, "most_rise_bytes", "upper end of the 90 % confidence interval",
       [](const W& w) { return whole(1000 * w.line.bytes_per_event.high); }}};
}

std::vector<WallRow> wallRows(const AnalysedTrace& trace, const DeviceAnalysis& device,
                              std::optional<uint64_t> capacity_bytes) {
  analysis::Wall wall = analysis::wallOf(trace, device, capacity_bytes);
  if (!wall.enough) return {};
  return {{&device, "active", wall, wall.active}, {&device, "reserved", wall, wall.reserved}};
}

TableFunction wallFunction(const AnalysedTrace& trace) {
  return deviceAnswer<WallRow>(
      trace, "wall",
      "table: when active and reserved memory would reach the capacity; no rows: the recording is "
      "too short",
      wallColumns(),
      [](const AnalysedTrace& t, const DeviceAnalysis& d) { return wallRows(t, d, std::nullopt); });
}

TableFunction wallAtFunction(const AnalysedTrace& trace) {
  return capacityAnswer<WallRow>(trace, "wall_at", "table: as wall, for the given capacity",
                                 wallColumns(), wallRows);
}

TableFunction phasesFunction(const AnalysedTrace& trace) {
  using P = Of<analysis::PhaseSummary>;
  std::vector<AnswerColumn<P>> columns = {
      deviceColumn<analysis::PhaseSummary>(),
      {Kind::kInteger, "annotation_id", "→ annotations.id",
       [](const P& p) { return int64_t{p.row.annotation}; }},
      {Kind::kText,
       "name",
       "",
       {},
       [](const P& p) {
         const model::Trace& t = p.trace->trace;
         return std::string(t.strings.text(t.annotations.name[p.row.annotation]));
       }},
      {Kind::kInteger, "depth", "nesting, 0 = outermost",
       [](const P& p) { return int64_t{p.row.depth}; }},
      {Kind::kStep, "begin_step", "first event inside the annotation",
       [](const P& p) { return keyOfStep(p.row.begin_step); }},
      {Kind::kStep, "end_step", "first event after the annotation",
       [](const P& p) { return keyOfStep(p.row.end_step); }},
      {Kind::kStep, "last_step", "last event inside the annotation",
       [](const P& p) { return keyOfStep(p.row.end_step - 1); }},
      {Kind::kBytes, "peak_active_bytes",
       "peak active memory of the annotation, with the state before its first event",
       [](const P& p) { return keyOfBytes(p.row.peak_active_bytes); }},
      {Kind::kStep, "peak_step",
       "step of the peak; begin_step − 1: the state before its first event; −1: before the "
       "recording's",
       [](const P& p) { return p.row.peak_step; }},
      {Kind::kInteger, "grew_bytes",
       "active bytes after its last event − active bytes before its first event",
       [](const P& p) { return p.row.grew_bytes; }}};
  return deviceAnswer<P>(trace, "phases",
                         "table: annotations that contain events of the device, outer ones first",
                         columns, [](const AnalysedTrace& t, const DeviceAnalysis& d) {
                           return rowsOf(t, d, analysis::phaseSummaries(d));
                         });
}

}  // namespace

std::vector<TableFunction> growthFunctions(const AnalysedTrace& trace) {
  return {growthFunction(trace), growthBasisFunction(trace), neverFreedFunction(trace),
          churnFunction(trace),  churnSumsFunction(trace),   wallFunction(trace),
          wallAtFunction(trace), phasesFunction(trace)};
}

}  // namespace tidegauge::query
