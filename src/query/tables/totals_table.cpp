#include "query/scan/columns.h"
#include "query/tables/tables.h"

namespace tidegauge::query {
namespace {

using analysis::Totals;
using model::Step;

// Bytes of live blocks outside known segments, as changes in step order with a running sum.
struct OutsideBytes {
  std::vector<Step> step;
  std::vector<int64_t> after_bytes;

  int64_t at(Step s) const {
    auto next = std::upper_bound(step.begin(), step.end(), s);
    return next == step.begin() ? 0 : after_bytes[static_cast<size_t>(next - step.begin()) - 1];
  }
};

OutsideBytes outsideBytes(const model::Trace& trace, const model::Device& device) {
  const model::Allocations& a = trace.allocations;
  std::vector<std::pair<Step, int64_t>> changes;
  for (uint64_t row = device.allocation_begin; row < device.allocation_end; ++row) {
    if (a.segment[row].valid() || a.first_step[row] >= a.last_step[row]) continue;
    int64_t bytes = keyOfBytes(a.block_bytes[row]);
    if (bytes == kNull) continue;
    changes.emplace_back(a.first_step[row], bytes);
    changes.emplace_back(a.last_step[row], -bytes);
  }
  std::sort(changes.begin(), changes.end());
  OutsideBytes result;
  uint64_t sum = 0;  // unsigned: a hostile file may overflow it
  for (const auto& [step, bytes] : changes) {
    sum += static_cast<uint64_t>(bytes);
    if (!result.step.empty() && result.step.back() == step) {
      result.after_bytes.back() = static_cast<int64_t>(sum);
    } else {
      result.step.push_back(step);
      result.after_bytes.push_back(static_cast<int64_t>(sum));
    }
  }
  return result;
}

// Totals of a batch of rows. Neighbouring rows are read in one run over the steps between them;
// distant rows are looked up one by one.
class TotalsReader {
 public:
  explicit TotalsReader(const AnalysedTrace& analysed) : analysed_(analysed) {}

  template <class F>  // f(index into rows, totals)
  void read(const Row* rows, size_t count, F&& f) const {
    for (size_t i = 0; i < count;) {
      size_t d = 0;
      while (rows[i] >= analysed_.trace.devices[d].event_end) ++d;
      const model::Device& device = analysed_.trace.devices[d];
      size_t end = i + 1;
      while (end < count && rows[end] > rows[end - 1] && rows[end] - rows[end - 1] <= kNear &&
             rows[end] < device.event_end) {
        ++end;
      }
      const analysis::TotalsIndex& totals = analysed_.devices[d]->totals;
      auto step_of = [&](size_t k) { return static_cast<Step>(rows[k] - device.event_begin); };
      if (end - i == 1) {
        f(i, totals.at(step_of(i)));
      } else {
        size_t next = i;
        totals.forEach(step_of(i), step_of(end - 1) + 1, [&](Step step, const Totals& t) {
          if (step == step_of(next)) f(next++, t);
        });
      }
      i = end;
    }
  }

 private:
  static constexpr Row kNear = 64;
  const AnalysedTrace& analysed_;
};

Fill member(const AnalysedTrace& analysed, uint64_t Totals::*bytes) {
  return [reader = TotalsReader(analysed), bytes](const Row* rows, size_t count, int64_t* keys) {
    reader.read(rows, count, [&](size_t i, const Totals& t) { keys[i] = keyOfBytes(t.*bytes); });
  };
}

// NULL on a device whose requests are unknown.
Fill requestedMember(const AnalysedTrace& analysed) {
  return [sums = member(analysed, &Totals::requested_bytes), &trace = analysed.trace](
             const Row* rows, size_t count, int64_t* keys) {
    sums(rows, count, keys);
    for (const model::Device& device : trace.devices) {
      if (device.knows_requests) continue;
      for (size_t i = 0; i < count; ++i) {
        if (device.event_begin <= rows[i] && rows[i] < device.event_end) keys[i] = kNull;
      }
    }
  };
}

// What the index knows of some steps: highs of all four sums, lows of two.
struct KnownSpan {
  uint64_t Totals::*bytes;
  uint64_t analysis::Span::*most;
  uint64_t analysis::Span::*least;  // or null
};
constexpr KnownSpan kKnownSpans[] = {
    {&Totals::requested_bytes, &analysis::Span::requested_max, nullptr},
    {&Totals::active_bytes, &analysis::Span::active_max, &analysis::Span::active_min},
    {&Totals::allocated_bytes, &analysis::Span::allocated_max, nullptr},
    {&Totals::reserved_bytes, &analysis::Span::reserved_max, &analysis::Span::reserved_min},
};

std::function<Extremes(RowRange)> extremesOf(const AnalysedTrace& analysed,
                                             uint64_t Totals::*bytes) {
  const KnownSpan& known = *std::find_if(std::begin(kKnownSpans), std::end(kKnownSpans),
                                         [&](const KnownSpan& k) { return k.bytes == bytes; });
  return [&analysed, &known](RowRange rows) -> Extremes {
    size_t d = 0;
    while (rows.begin >= analysed.trace.devices[d].event_end) ++d;
    const model::Device& device = analysed.trace.devices[d];
    if (known.bytes == &Totals::requested_bytes && !device.knows_requests) return {};
    analysis::Span span =
        analysed.devices[d]->totals.span(static_cast<Step>(rows.begin - device.event_begin),
                                         static_cast<Step>(rows.end - device.event_begin));
    int64_t most = keyOfBytes(span.*known.most);
    constexpr int64_t kClamped = std::numeric_limits<int64_t>::max();
    if (most == kNull || most == kClamped) return {};  // sums that are NULL may be below
    Extremes extremes;
    extremes.most = most;
    if (known.least != nullptr) extremes.least = keyOfBytes(span.*known.least);
    return extremes;
  };
}

}  // namespace

Table totalsTable(const AnalysedTrace& analysed) {
  const model::Trace& trace = analysed.trace;
  Table table;
  table.name = "totals";
  table.doc =
      "One row per step: the sums of memory after it. The state before the first event is in "
      "devices (initial_…).";
  setDeviceRows(table, trace, &model::Device::event_begin, &model::Device::event_end);
  addDevice(table);
  Column& step = add(table, ColumnKind::kStep, "step", "the sums are those after this event",
                     eachRow([devices = table.devices](Row row) {
                       size_t d = DeviceFinder(devices)(row);
                       return static_cast<int64_t>(row - devices[d].begin);
                     }));
  step.sorted = Sorted::kWithinDevices;
  step.distinct = table.rows;
  table.natural_order = {0, 1};
  add(table, ColumnKind::kTime, "time_us", "µs since the epoch",
      storedIntegers(trace.events.time_us));
  auto addTotal = [&](const char* name, const char* doc, uint64_t Totals::*bytes) {
    Column& column = add(table, ColumnKind::kBytes, name, doc, member(analysed, bytes));
    column.in_row_order_only = true;
    column.extremes = extremesOf(analysed, bytes);
  };
  Column& requested = add(table, ColumnKind::kBytes, "requested_bytes",
                          "bytes that the program requested; NULL: unknown (pinned host memory)",
                          requestedMember(analysed));
  requested.in_row_order_only = true;
  requested.extremes = extremesOf(analysed, &Totals::requested_bytes);
  addTotal("active_bytes", "block bytes from alloc to free_completed", &Totals::active_bytes);
  addTotal("allocated_bytes", "block bytes from alloc to free_requested", &Totals::allocated_bytes);
  addTotal("reserved_bytes", "bytes held from the driver", &Totals::reserved_bytes);
  std::vector<OutsideBytes> outside;
  for (const model::Device& device : trace.devices) {
    outside.push_back(outsideBytes(trace, device));
  }
  add(table, ColumnKind::kBytes, "unaccounted_bytes",
      "bytes of live blocks that are in no known segment",
      eachRow([outside = std::move(outside), devices = table.devices](Row row) {
        size_t d = DeviceFinder(devices)(row);
        return outside[d].at(static_cast<Step>(row - devices[d].begin));
      }));
  return table;
}

}  // namespace tidegauge::query
