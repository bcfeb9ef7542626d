#include "view/tables/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "analysis/trace/peak.h"
#include "model/pinned_requests.h"
#include "view/tables/radix_order.h"
#include "view/tables/stack_sums.h"
#include "view/tables/table_columns.h"
#include "view/tables/tensor_table.h"

namespace tidegauge::view {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceAnalysis;
using analysis::Step;

template <class Id>
Number idOf(Id id) {
  return id.valid() ? Number(id.value) : std::nullopt;
}

// The rank of each stack's label, so that millions of rows are sorted by it without building texts.
std::shared_ptr<const std::vector<uint32_t>> labelRanks(const AnalysedTrace& analysed) {
  size_t stacks = analysed.trace.stacks.size();
  std::vector<std::pair<std::string, uint32_t>> labels;
  for (uint32_t s = 0; s < stacks; ++s)
    labels.emplace_back(analysed.labels.label(model::StackId(s)), s);
  std::sort(labels.begin(), labels.end());
  auto ranks = std::make_shared<std::vector<uint32_t>>(stacks);
  uint32_t rank = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (i > 0 && labels[i].first != labels[i - 1].first) ++rank;
    (*ranks)[labels[i].second] = rank;
  }
  return ranks;
}

Table allocationTable(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                      const FilterSet* filter) {
  const model::Trace& trace = analysed.trace;
  const model::Allocations& a = trace.allocations;
  auto first = static_cast<uint32_t>(device.device.allocation_begin);
  Step steps = device.device.steps();
  Table table;
  table.rows = static_cast<uint32_t>(device.device.allocation_end - first);
  if (filter != nullptr) {
    table.filtered = true;
    for (uint32_t row = 0; row < table.rows; ++row) {
      if (filter->has(first + row)) table.passing.push_back(row);
    }
  }
  auto number = [&](std::string_view name, CellKind kind, auto value) {
    table.columns.push_back(
        {name, kind, [first, value](uint32_t row) -> Number { return value(first + row); }});
  };
  auto text = [&](std::string_view name, auto rank, auto value) {
    table.columns.push_back(
        {name, CellKind::kText, [first, rank](uint32_t row) -> Number { return rank(first + row); },
         [first, value](uint32_t row) { return std::string(value(first + row)); }});
  };
  number("id", CellKind::kId, [](uint32_t r) { return numberOf(r); });
  number("address", CellKind::kAddress, [&a](uint32_t r) { return numberOf(a.address[r]); });
  number("version", CellKind::kCount, [&a](uint32_t r) { return numberOf(a.version[r]); });
  number("block_bytes", CellKind::kBytes, [&a](uint32_t r) { return numberOf(a.block_bytes[r]); });
  number("requested_bytes", CellKind::kBytes,
         [&trace, &of = device.device, &a](uint32_t r) -> Number {
           uint64_t bytes = model::knownRequest(trace, of, a.requested_bytes[r]);
           return bytes == model::kUnknownBytes ? std::nullopt : numberOf(bytes);
         });
  number("first_step", CellKind::kStep, [&a](uint32_t r) { return numberOf(a.first_step[r]); });
  number("last_step", CellKind::kStep, [&a, steps](uint32_t r) -> Number {
    return a.last_step[r] < steps ? numberOf(a.last_step[r]) : std::nullopt;
  });
  number("life_steps", CellKind::kCount, [&a](uint32_t r) {
    return numberOf(a.last_step[r] - std::min(a.first_step[r], a.last_step[r]));
  });
  number("stream", CellKind::kId, [&a](uint32_t r) { return idOf(a.stream[r]); });
  number("pool", CellKind::kId, [&a](uint32_t r) { return idOf(a.pool[r]); });
  number("segment", CellKind::kId, [&a](uint32_t r) { return idOf(a.segment[r]); });
  text(
      "provenance", [&a](uint32_t r) { return numberOf(static_cast<uint64_t>(a.provenance[r])); },
      [&a](uint32_t r) { return model::name(a.provenance[r]); });
  text(
      "category",
      [&analysed](uint32_t r) {
        return numberOf(static_cast<uint64_t>(analysed.categories->of(r)));
      },
      [&analysed](uint32_t r) { return analysis::name(analysed.categories->of(r)); });
  number("stack_id", CellKind::kId, [&a](uint32_t r) { return idOf(a.stack[r]); });
  text(
      "label",
      [&a, ranks = labelRanks(analysed)](uint32_t r) -> Number {
        return a.stack[r].valid() ? numberOf((*ranks)[a.stack[r].index()]) : std::nullopt;
      },
      [&analysed, &a](uint32_t r) { return analysed.labels.label(a.stack[r]); });
  return table;
}

struct SegmentRow {
  uint32_t segment;
  uint64_t blocks = 0;
  uint64_t passing = 0;
};

Table segmentTable(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                   const FilterSet* filter) {
  const model::Trace& trace = analysed.trace;
  const model::Segments& s = trace.segments;
  const model::Device& d = device.device;
  std::vector<SegmentRow> rows;
  for (uint64_t i = d.segment_begin; i < d.segment_end; ++i) {
    rows.push_back({.segment = static_cast<uint32_t>(i)});
  }
  for (uint64_t row = d.allocation_begin; row < d.allocation_end; ++row) {
    model::SegmentId segment = trace.allocations.segment[row];
    if (!segment.valid()) continue;
    SegmentRow& of = rows[segment.index() - d.segment_begin];
    of.blocks++;
    of.passing += passes(filter, row);
  }
  Table table;
  if (filter != nullptr) {
    table.filtered = true;
    for (uint32_t i = 0; i < rows.size(); ++i) {
      if (rows[i].passing > 0) table.passing.push_back(i);
    }
  }
  Step steps = d.steps();
  using Row = const SegmentRow&;
  Columns<SegmentRow> columns(table, std::move(rows));
  columns.number("id", CellKind::kId, [](Row r) { return numberOf(r.segment); });
  columns.number("address", CellKind::kAddress,
                 [&s](Row r) { return numberOf(s.address[r.segment]); });
  columns.text("kind", [&s](Row r) { return std::string(model::name(s.kind[r.segment])); });
  columns.number("total_bytes", CellKind::kBytes,
                 [&s](Row r) { return numberOf(s.total_bytes[r.segment]); });
  columns.number("first_step", CellKind::kStep,
                 [&s](Row r) { return numberOf(s.first_step[r.segment]); });
  columns.number("last_step", CellKind::kStep, [&s, steps](Row r) -> Number {
    return s.last_step[r.segment] < steps ? numberOf(s.last_step[r.segment]) : std::nullopt;
  });
  columns.number("life_steps", CellKind::kCount, [&s](Row r) {
    Step last = s.last_step[r.segment];
    return numberOf(last - std::min(s.first_step[r.segment], last));
  });
  columns.number("stream", CellKind::kId, [&s](Row r) { return idOf(s.stream[r.segment]); });
  columns.number("pool", CellKind::kId, [&s](Row r) { return idOf(s.pool[r.segment]); });
  columns.text("provenance",
               [&s](Row r) { return std::string(model::name(s.provenance[r.segment])); });
  columns.number("blocks", CellKind::kCount, [](Row r) { return numberOf(r.blocks); });
  columns.number("passing_blocks", CellKind::kCount, [](Row r) { return numberOf(r.passing); });
  columns.number("stack_id", CellKind::kId, [&s](Row r) { return idOf(s.stack[r.segment]); });
  columns.text("label", [&](Row r) { return analysed.labels.label(s.stack[r.segment]); });
  return table;
}

Table stackTable(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                 const FilterSet* filter) {
  Table table;
  using Row = const StackSum&;
  Columns<StackSum> columns(table, stackSums(analysed, device, filter));
  columns.number("stack_id", CellKind::kId, [](Row r) { return idOf(r.stack); });
  columns.text("label", [&analysed](Row r) { return analysed.labels.label(r.stack); });
  columns.text("caller", [&analysed](Row r) { return analysed.names.caller(r.stack); });
  columns.text("category", [&analysed](Row r) {
    return std::string(analysis::name(analysed.categories->of(r.first_row)));
  });
  columns.number("slot", CellKind::kId, [&analysed](Row r) -> Number {
    return r.stack.valid() ? analysed.labels.colourSlot(r.stack) : 9;
  });
  columns.number("count", CellKind::kCount, [](Row r) { return numberOf(r.count); });
  columns.number("total_bytes", CellKind::kBytes, [](Row r) { return numberOf(r.total_bytes); });
  columns.number("largest_bytes", CellKind::kBytes,
                 [](Row r) { return numberOf(r.largest_bytes); });
  columns.number("peak_bytes", CellKind::kBytes, [](Row r) { return numberOf(r.peak_bytes); });
  columns.number("peak_step", CellKind::kStep, [](Row r) { return numberOf(r.peak_step); });
  columns.number("at_peak_bytes", CellKind::kBytes,
                 [](Row r) { return numberOf(r.at_peak_bytes); });
  columns.number("at_end_bytes", CellKind::kBytes, [](Row r) { return numberOf(r.at_end_bytes); });
  columns.number("at_end_count", CellKind::kCount, [](Row r) { return numberOf(r.at_end_count); });
  columns.number("mean_life_steps", CellKind::kCount,
                 [](Row r) { return numberOf(r.steps_sum / std::max<uint64_t>(r.count, 1)); });
  columns.number("first_id", CellKind::kId, [](Row r) { return numberOf(r.first_row); });
  return table;
}

struct PhaseRow {
  analysis::Phase phase;
  std::optional<analysis::Span> span;  // absent: it contains no event
  analysis::Totals before;             // its first event; it may be the peak
  int64_t grew_bytes = 0;
};

Table phaseTable(const AnalysedTrace& analysed, const DeviceAnalysis& device) {
  const model::Trace& trace = analysed.trace;
  std::vector<PhaseRow> rows;
  for (const analysis::Phase& phase : device.phases) {
    PhaseRow row{.phase = phase, .span = {}, .before = {}};
    if (phase.begin_step < phase.end_step) {
      row.span = device.totals.span(phase.begin_step, phase.end_step);
      row.before =
          phase.begin_step == 0 ? device.totals.initial() : device.totals.at(phase.begin_step - 1);
      row.grew_bytes = static_cast<int64_t>(device.totals.at(phase.end_step - 1).active_bytes -
                                            row.before.active_bytes);
    }
    rows.push_back(row);
  }
  Table table;
  using Row = const PhaseRow&;
  Columns<PhaseRow> columns(table, std::move(rows));
  columns.number("id", CellKind::kId, [](Row r) { return numberOf(r.phase.annotation); });
  columns.text("name", [&trace](Row r) {
    return std::string(trace.strings.text(trace.annotations.name[r.phase.annotation]));
  });
  columns.number("depth", CellKind::kCount, [](Row r) { return numberOf(r.phase.depth); });
  columns.number("begin_step", CellKind::kStep, [](Row r) { return numberOf(r.phase.begin_step); });
  columns.number("end_step", CellKind::kStep, [](Row r) { return numberOf(r.phase.end_step); });
  columns.number("events", CellKind::kCount,
                 [](Row r) { return numberOf(r.phase.end_step - r.phase.begin_step); });
  auto timeOf = [](int64_t us) { return us == model::kNoTime ? Number() : Number(us); };
  columns.number("begin_us", CellKind::kTime, [&trace, timeOf](Row r) {
    return timeOf(trace.annotations.begin_us[r.phase.annotation]);
  });
  columns.number("end_us", CellKind::kTime, [&trace, timeOf](Row r) {
    return timeOf(trace.annotations.end_us[r.phase.annotation]);
  });
  columns.number("peak_active_bytes", CellKind::kBytes, [](Row r) {
    if (!r.span) return Number();
    return numberOf(std::max(r.before.active_bytes, r.span->active_max));
  });
  columns.number("peak_step", CellKind::kStep, [](Row r) {
    if (!r.span) return Number();
    return r.before.active_bytes > r.span->active_max ? Number(int64_t{r.phase.begin_step} - 1)
                                                      : numberOf(r.span->active_max_step);
  });
  columns.number("peak_reserved_bytes", CellKind::kBytes, [](Row r) {
    if (!r.span) return Number();
    return numberOf(std::max(r.before.reserved_bytes, r.span->reserved_max));
  });
  columns.number("grew_bytes", CellKind::kSignedBytes,
                 [](Row r) { return r.span ? Number(r.grew_bytes) : Number(); });
  return table;
}

struct StreamRow {
  model::StreamId stream;
  uint64_t count = 0;
  uint64_t total_bytes = 0;
  uint64_t at_peak_bytes = 0;
  uint64_t at_end_bytes = 0;
  uint64_t segments = 0;
  uint64_t segments_at_end_bytes = 0;
  bool isUsed() const { return count > 0 || segments > 0; }
};

Table streamTable(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                  const FilterSet* filter) {
  const model::Trace& trace = analysed.trace;
  const model::Allocations& a = trace.allocations;
  const model::Device& d = device.device;
  std::vector<StreamRow> rows(trace.streams.size());
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i].stream = model::StreamId(static_cast<uint16_t>(i));
  analysis::Peak peak = device.totals.peakActive();
  for (uint64_t row = d.allocation_begin; row < d.allocation_end; ++row) {
    if (!passes(filter, row) || a.stream[row].index() >= rows.size()) continue;
    StreamRow& of = rows[a.stream[row].index()];
    of.count++;
    of.total_bytes += a.block_bytes[row];
    bool at_peak = d.steps() == 0 || analysis::isLiveAt(trace, static_cast<uint32_t>(row), peak);
    if (at_peak) of.at_peak_bytes += a.block_bytes[row];
    if (a.last_step[row] >= d.steps()) of.at_end_bytes += a.block_bytes[row];
  }
  for (uint64_t i = d.segment_begin; i < d.segment_end; ++i) {
    if (trace.segments.stream[i].index() >= rows.size()) continue;
    rows[trace.segments.stream[i].index()].segments++;
  }
  for (uint64_t i = d.piece_begin; i < d.piece_end; ++i) {
    model::StreamId stream = trace.segments.stream[trace.pieces.segment[i].index()];
    if (stream.index() >= rows.size() || trace.pieces.last_step[i] < d.steps()) continue;
    rows[stream.index()].segments_at_end_bytes += trace.pieces.size_bytes[i];
  }
  std::erase_if(rows, [](const StreamRow& row) { return !row.isUsed(); });
  Table table;
  using Row = const StreamRow&;
  Columns<StreamRow> columns(table, std::move(rows));
  columns.number("id", CellKind::kId, [](Row r) { return idOf(r.stream); });
  columns.number("raw", CellKind::kAddress,
                 [&trace](Row r) { return numberOf(trace.streams[r.stream.index()].raw); });
  columns.number("count", CellKind::kCount, [](Row r) { return numberOf(r.count); });
  columns.number("total_bytes", CellKind::kBytes, [](Row r) { return numberOf(r.total_bytes); });
  columns.number("at_peak_bytes", CellKind::kBytes,
                 [](Row r) { return numberOf(r.at_peak_bytes); });
  columns.number("at_end_bytes", CellKind::kBytes, [](Row r) { return numberOf(r.at_end_bytes); });
  columns.number("segments", CellKind::kCount, [](Row r) { return numberOf(r.segments); });
  columns.number("reserved_at_end_bytes", CellKind::kBytes,
                 [](Row r) { return numberOf(r.segments_at_end_bytes); });
  return table;
}

}  // namespace

std::string_view name(CellKind kind) {
  constexpr std::array<std::string_view, 11> kNames = {
      "id",       "count", "bytes",       "signed_bytes", "step", "time",
      "duration", "rate",  "bytes_per_s", "address",      "text"};
  return kNames[static_cast<size_t>(kind)];
}

const TableColumn* Table::find(std::string_view column) const {
  for (const TableColumn& known : columns) {
    if (known.name == column) return &known;
  }
  return nullptr;
}

std::optional<Table> tableOf(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                             std::string_view name, const FilterSet* filter) {
  if (name == "allocations") return allocationTable(analysed, device, filter);
  if (name == "segments") return segmentTable(analysed, device, filter);
  if (name == "stacks") return stackTable(analysed, device, filter);
  if (name == "phases") return phaseTable(analysed, device);
  if (name == "streams") return streamTable(analysed, device, filter);
  if (name == "tensors") return tensorTable(analysed, device, filter);
  return std::nullopt;
}

std::vector<uint32_t> orderOf(const Table& table, const TableColumn& column, bool descending) {
  std::vector<uint32_t> rows(table.passing);
  if (!table.filtered) {
    rows.resize(table.rows);
    for (uint32_t row = 0; row < table.rows; ++row) rows[row] = row;
  }
  if (!column.number) {
    std::vector<std::pair<std::string, uint32_t>> texts;
    texts.reserve(rows.size());
    for (uint32_t row : rows) texts.emplace_back(column.text(row), row);
    std::stable_sort(texts.begin(), texts.end(), [&](const auto& x, const auto& y) {
      return descending ? y.first < x.first : x.first < y.first;
    });
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = texts[i].second;
    return rows;
  }
  constexpr uint64_t kSign = uint64_t{1} << 63;
  std::vector<OrderKey> keys;
  std::vector<uint32_t> absent;
  keys.reserve(rows.size());
  for (uint32_t row : rows) {
    Number number = column.number(row);
    if (!number) {
      absent.push_back(row);
      continue;
    }
    uint64_t value = static_cast<uint64_t>(*number);
    if (column.kind != CellKind::kAddress) value ^= kSign;  // negative ones first
    keys.push_back({descending ? ~value : value, row});
  }
  sortByValue(keys);
  for (size_t i = 0; i < keys.size(); ++i) rows[i] = keys[i].row;
  std::copy(absent.begin(), absent.end(), rows.begin() + static_cast<ptrdiff_t>(keys.size()));
  return rows;
}

}  // namespace tidegauge::view
