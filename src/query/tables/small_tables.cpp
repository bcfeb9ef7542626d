// devices, annotations, streams, pools, settings, issues: a few rows each.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "analysis/summary.h"
#include "model/lives/missing_actions.h"
#include "model/pinned_requests.h"
#include "model/recorded_work.h"
#include "query/scan/columns.h"
#include "query/tables/tables.h"

namespace tidegauge::query {
namespace {

using analysis::DeviceAnalysis;
using analysis::TotalsIndex;
using model::Device;

// The key is a row; the text comes from `make`.
Column& addRowText(Table& table, std::string name, std::string doc,
                   std::function<std::string(size_t row)> make) {
  return addMadeText(
      table, std::move(name), std::move(doc), rowNumber(),
      [make = std::move(make)](int64_t key) { return make(static_cast<size_t>(key)); });
}

// The device that uses each stream or pool: its ordinal, or NULL if none or several do.
template <class Id>
std::vector<int64_t> ownerOf(const model::Trace& trace, const model::UniformColumn<Id>& of_event,
                             const std::vector<Id>& of_segment, size_t ids) {
  std::vector<int64_t> owner(ids, kNull);
  std::vector<bool> shared(ids);
  auto see = [&](Id id, int32_t ordinal) {
    if (!id.valid() || id.index() >= ids) return;
    if (owner[id.index()] != kNull && owner[id.index()] != ordinal) shared[id.index()] = true;
    owner[id.index()] = ordinal;
  };
  for (const Device& d : trace.devices) {
    if (!of_event.empty()) {
      uint64_t end = of_event.uniform() ? std::min(d.event_begin + 1, d.event_end) : d.event_end;
      for (uint64_t i = d.event_begin; i < end; ++i) see(of_event[i], d.ordinal);
    }
    for (uint64_t i = d.segment_begin; i < d.segment_end; ++i) see(of_segment[i], d.ordinal);
  }
  for (size_t i = 0; i < ids; ++i) {
    if (shared[i]) owner[i] = kNull;
  }
  return owner;
}

void addOwner(Table& table, std::vector<int64_t> owner) {
  add(table, ColumnKind::kInteger, "device", "the device that uses it; NULL: several or none",
      eachRow([owner = std::move(owner)](Row row) { return owner[row]; }));
}

}  // namespace

Table devicesTable(const AnalysedTrace& analysed) {
  const model::Trace& trace = analysed.trace;
  Table table;
  table.name = "devices";
  table.doc = "One row per GPU, and one for pinned host memory if it was recorded.";
  for (size_t i = 0; i < trace.devices.size(); ++i) {
    table.devices.push_back({trace.devices[i].ordinal, i, i + 1});
  }
  table.rows = trace.devices.size();
  addDevice(table);
  addRowText(table, "name", "\"cuda:0\"",
             [&trace](size_t row) { return analysis::deviceLabel(trace.devices[row]); });
  add(table, ColumnKind::kBytes, "total_bytes",
      "memory of the device, as reported by the driver; NULL: not reported, as in snapshots",
      eachRow([&trace](Row row) {
        uint64_t bytes = trace.devices[row].total_bytes;
        return bytes == model::kUnknownBytes ? kNull : static_cast<int64_t>(bytes);
      }));
  add(table, ColumnKind::kInteger, "at_least",
      "1: the recording shows only part of the memory allocated before it, so the bytes are lower "
      "bounds",
      eachRow([&trace](Row row) {
        return int64_t{model::isAtLeast(trace, trace.devices[row].ordinal)};
      }));
  addRowText(table, "missing_actions",
             "kinds of events that happened and are not in the file (skip_actions); empty: none",
             [&trace](size_t row) { return model::namesOf(trace.devices[row].missing); });
  add(table, ColumnKind::kInteger, "gaps",
      "number of places before which events are missing; issues has them as recording_gap",
      eachRow([&trace](Row row) { return static_cast<int64_t>(trace.devices[row].gaps.size()); }));
  auto count = [&](std::string name, std::string doc, uint64_t Device::*begin,
                   uint64_t Device::*end) {
    add(table, ColumnKind::kInteger, std::move(name), std::move(doc),
        eachRow([&trace, begin, end](Row row) {
          return static_cast<int64_t>(trace.devices[row].*end - trace.devices[row].*begin);
        }));
  };
  count("events", "number of rows in events", &Device::event_begin, &Device::event_end);
  count("allocations", "number of rows in allocations", &Device::allocation_begin,
        &Device::allocation_end);
  count("segments", "number of rows in segments", &Device::segment_begin, &Device::segment_end);
  auto of_analysis = [&analysed](auto key_of) {
    return eachRow([&analysed, key_of](Row row) { return key_of(*analysed.devices[row]); });
  };
  add(table, ColumnKind::kTime, "first_time_us", "time of its first event",
      of_analysis(
          [](const DeviceAnalysis& d) { return d.time.present() ? d.time.firstUs() : kNull; }));
  add(table, ColumnKind::kTime, "last_time_us", "time of its last event",
      of_analysis(
          [](const DeviceAnalysis& d) { return d.time.present() ? d.time.lastUs() : kNull; }));
  struct PeakColumn {
    const char* what;
    const char* doc;
    analysis::Peak (TotalsIndex::*peak)() const;
  };
  constexpr PeakColumn kPeaks[] = {
      {"requested",
       "peak of the requested bytes; NULL: unknown, because the file states rounded sizes (pinned "
       "host memory)",
       &TotalsIndex::peakRequested},
      {"allocated", "peak of the allocated bytes (blocks that are not freed yet)",
       &TotalsIndex::peakAllocated},
      {"active", "peak of the active bytes (blocks that cannot be reused yet)",
       &TotalsIndex::peakActive},
      {"reserved", "peak of the reserved bytes (held from the driver)",
       &TotalsIndex::peakReserved}};
  for (const PeakColumn& p : kPeaks) {
    bool is_request = std::string_view(p.what) == "requested";
    add(table, ColumnKind::kBytes, fmt::format("peak_{}_bytes", p.what), p.doc,
        of_analysis([peak = p.peak, is_request](const DeviceAnalysis& d) {
          uint64_t bytes = (d.totals.*peak)().bytes;
          return keyOfBytes(is_request ? model::knownSum(d.device, bytes) : bytes);
        }));
    add(table, ColumnKind::kStep, fmt::format("peak_{}_step", p.what),
        "first step with this peak; −1: before the first event",
        of_analysis([peak = p.peak, is_request](const DeviceAnalysis& d) {
          bool is_known = !is_request || d.device.knows_requests;
          return is_known ? (d.totals.*peak)().place() : kNull;
        }));
  }
  add(table, ColumnKind::kReal, "peak_active_seconds",
      "time of peak_active_step since the first event; NULL: the file has no times",
      of_analysis([](const DeviceAnalysis& d) {
        return keyOfSeconds(d.time, d.totals.peakActive().step);
      }));
  add(table, ColumnKind::kBytes, "peak_uncertain_bytes",
      "the true active and allocated peaks are higher by at most this much; of a recording of "
      "calls, higher or lower, as calls of several threads at the same time may have taken effect "
      "in any order",
      eachRow([&analysed](Row row) {
        return keyOfBytes(analysis::peakOf(analysed, *analysed.devices[row]).uncertain_bytes);
      }));
  add(table, ColumnKind::kBytes, "peak_reserved_uncertain_bytes",
      "the true reserved peak is higher or lower by at most this much, for the same reason",
      eachRow([&trace](Row row) {
        return keyOfBytes(model::peakSlackOf(trace, trace.devices[row].ordinal).reserved_bytes);
      }));
  add(table, ColumnKind::kInteger, "peak_is_at_least",
      "1: the true active and allocated peaks may be higher, because sizes or blocks are inferred",
      eachRow([&analysed](Row row) {
        return int64_t{analysis::peakOf(analysed, *analysed.devices[row]).is_at_least};
      }));
  add(table, ColumnKind::kInteger, "only_state",
      "1: the file has only the final state (no history, or enabled=\"state\"), so the peaks are "
      "lower bounds",
      eachRow([&trace](Row row) {
        return int64_t{analysis::hasOnlyState(trace, trace.devices[row])};
      }));
  struct BoundColumn {
    const char* what;
    model::Bound model::Bounds::*bound;
  };
  for (BoundColumn b : {BoundColumn{"active", &model::Bounds::active},
                        BoundColumn{"allocated", &model::Bounds::allocated},
                        BoundColumn{"reserved", &model::Bounds::reserved}}) {
    addRowText(table, fmt::format("peak_{}_bound", b.what),
               "exact; at_most or at_least if kinds of events are missing",
               [&trace, bound = b.bound](size_t row) {
                 return std::string(model::name(model::boundsOf(trace.devices[row]).*bound));
               });
  }
  auto bound = [&](const char* name, const char* doc, uint64_t analysis::PeakBounds::*bytes) {
    add(table, ColumnKind::kBytes, name, doc, eachRow([&analysed, bytes](Row row) {
          auto bounds = analysis::activeBounds(analysed, *analysed.devices[row]);
          return bounds ? keyOfBytes((*bounds).*bytes) : kNull;
        }));
  };
  bound("peak_active_at_least_bytes",
        "the active peak was at least this; NULL: peak_active_bytes is exact, apart from "
        "peak_uncertain_bytes",
        &analysis::PeakBounds::at_least_bytes);
  bound("peak_active_at_most_bytes",
        "the active peak was at most this; NULL: as for peak_active_at_least_bytes",
        &analysis::PeakBounds::at_most_bytes);
  bound("initial_active_at_most_bytes",
        "active before the first event was at most this; NULL: as for peak_active_at_least_bytes",
        &analysis::PeakBounds::initial_at_most_bytes);
  using analysis::Totals;
  struct TotalColumn {
    const char* what;
    uint64_t Totals::*bytes;
  };
  constexpr TotalColumn kTotals[] = {{"requested", &Totals::requested_bytes},
                                     {"allocated", &Totals::allocated_bytes},
                                     {"active", &Totals::active_bytes},
                                     {"reserved", &Totals::reserved_bytes}};
  for (const TotalColumn& t : kTotals) {
    add(table, ColumnKind::kBytes, fmt::format("initial_{}_bytes", t.what),
        fmt::format("{} before the first event", t.what),
        of_analysis([bytes = t.bytes](const DeviceAnalysis& d) {
          uint64_t sum = d.totals.initial().*bytes;
          bool is_request = bytes == &Totals::requested_bytes;
          return keyOfBytes(is_request ? model::knownSum(d.device, sum) : sum);
        }));
  }
  for (const TotalColumn& t : kTotals) {
    add(table, ColumnKind::kBytes, fmt::format("final_{}_bytes", t.what),
        fmt::format("{} at the end", t.what),
        of_analysis([bytes = t.bytes](const DeviceAnalysis& d) {
          uint64_t sum = d.totals.last().*bytes;
          bool is_request = bytes == &Totals::requested_bytes;
          return keyOfBytes(is_request ? model::knownSum(d.device, sum) : sum);
        }));
  }
  return table;
}

Table fileTable(const AnalysedTrace& analysed) {
  const model::Source& source = analysed.trace.source;
  Table table;
  table.name = "file";
  table.doc = "One row: the file that is open.";
  setRows(table, 1);
  auto text = [&](const char* name, const char* doc, const std::string& value) {
    addRowText(table, name, doc, [&value](size_t) { return value; });
  };
  auto number = [&](ColumnKind kind, const char* name, const char* doc, uint64_t value) {
    add(table, kind, name, doc, eachRow([value](Row) { return keyOfBytes(value); }));
  };
  text("name", "path as given", source.name);
  text("format", "\"pickle protocol 4\"", source.format);
  text("container", "\"zstd\"; empty if plain", source.container);
  number(ColumnKind::kBytes, "file_bytes", "size of the file", source.file_bytes);
  number(ColumnKind::kBytes, "data_bytes", "size of the unpacked data", source.data_bytes);
  number(ColumnKind::kInteger, "events", "number over all devices", analysed.trace.events.size());
  number(ColumnKind::kInteger, "allocations", "number over all devices",
         analysed.trace.allocations.size());
  number(ColumnKind::kInteger, "stacks", "number of distinct ones", analysed.trace.stacks.size());
  number(ColumnKind::kInteger, "frames", "number of distinct ones", analysed.trace.frames.size());
  number(ColumnKind::kInteger, "annotations", "number of ranges that the program named",
         analysed.trace.annotations.size());
  number(ColumnKind::kInteger, "issues", "number of rows in issues",
         analysed.trace.issues.all().size());
  return table;
}

Table annotationsTable(const AnalysedTrace& analysed) {
  const model::Trace& trace = analysed.trace;
  const model::Annotations& a = trace.annotations;
  Table table;
  table.name = "annotations";
  table.doc =
      "One row per range that the program named (record_function), with the steps inside it.";
  setRows(table, a.size());
  addId(table, "");
  add(table, ColumnKind::kInteger, "device",
      "current device of the thread; the steps are steps of this device",
      stored(a.device, [](int32_t device) { return int64_t{device}; }));
  addPoolText(table, "name", "", storedIds(a.name), trace.strings);
  add(table, ColumnKind::kTime, "begin_time_us", "µs since the epoch", storedIntegers(a.begin_us));
  add(table, ColumnKind::kTime, "end_time_us", "NULL: its end was not recorded",
      storedIntegers(a.end_us));
  std::vector<int64_t> begin(a.size(), kNull);
  std::vector<int64_t> end(a.size(), kNull);
  for (const auto& device : analysed.devices) {
    for (const analysis::Phase& phase : device->phases) {
      if (a.device[phase.annotation] != device->device.ordinal) continue;
      begin[phase.annotation] = phase.begin_step;
      end[phase.annotation] = phase.end_step;
    }
  }
  add(table, ColumnKind::kStep, "begin_step",
      "first event inside the range; NULL: no event on the device",
      eachRow([begin = std::move(begin)](Row row) { return begin[row]; }));
  add(table, ColumnKind::kStep, "end_step", "first event after the range",
      eachRow([end = std::move(end)](Row row) { return end[row]; }));
  add(table, ColumnKind::kInteger, "depth", "nesting, 0 = outermost",
      stored(a.depth, [](uint16_t depth) { return int64_t{depth}; }));
  return table;
}

Table streamsTable(const AnalysedTrace& analysed) {
  const model::Trace& trace = analysed.trace;
  Table table;
  table.name = "streams";
  table.doc = "One row per stream, in the order of their first use; 0 = default stream.";
  setRows(table, trace.streams.size());
  addId(table, "");
  add(table, ColumnKind::kInteger, "raw", "pointer of the stream; 0 = default stream",
      stored(trace.streams, [](model::Stream s) { return keyOfAddress(s.raw); }));
  addOwner(table, ownerOf(trace, trace.events.stream, trace.segments.stream, table.rows));
  return table;
}

Table poolsTable(const AnalysedTrace& analysed) {
  const model::Trace& trace = analysed.trace;
  Table table;
  table.name = "pools";
  table.doc =
      "One row per pool: (0, 0) is the default pool, (n, 0) belongs to a CUDA graph, (0, n) to a "
      "torch.cuda.MemPool.";
  setRows(table, trace.pools.size());
  addId(table, "");
  add(table, ColumnKind::kInteger, "first", "first half of PyTorch's id of the pool",
      stored(trace.pools, [](model::Pool p) { return keyOfAddress(p.first); }));
  add(table, ColumnKind::kInteger, "second", "second half of that id",
      stored(trace.pools, [](model::Pool p) { return keyOfAddress(p.second); }));
  addOwner(table, ownerOf(trace, trace.events.pool, trace.segments.pool, table.rows));
  return table;
}

Table settingsTable(const AnalysedTrace& analysed) {
  // What is in effect, then what the conf string asks for under names of its own.
  struct SettingRow {
    std::string key, value, asked;
    int64_t in_effect = kNull;
  };
  const model::AllocatorSettings& settings = analysed.trace.settings;
  auto rows = std::make_shared<std::vector<SettingRow>>();
  for (const auto& [key, value] : settings.items) rows->push_back({key, value, {}});
  for (const model::AskedSetting& part : settings.asked) {
    auto row = std::find_if(rows->begin(), rows->end(),
                            [&](const SettingRow& it) { return it.key == part.key; });
    if (row == rows->end()) row = rows->insert(rows->end(), {part.key, part.in_effect, {}});
    row->asked = part.asked;
    if (!part.in_effect.empty()) row->in_effect = part.differs ? 0 : 1;
  }
  Table table;
  table.name = "settings";
  table.doc =
      "One row per allocator setting that the file contains, or that PYTORCH_CUDA_ALLOC_CONF asks "
      "for.";
  setRows(table, rows->size());
  addRowText(table, "key", "", [rows](size_t row) { return (*rows)[row].key; });
  addRowText(table, "value", "what the file states; empty: it states nothing",
             [rows](size_t row) { return (*rows)[row].value; });
  addRowText(table, "asked", "what PYTORCH_CUDA_ALLOC_CONF asks for; empty: nothing",
             [rows](size_t row) { return (*rows)[row].asked; });
  add(table, ColumnKind::kInteger, "in_effect",
      "1: what was asked for is in effect; 0: it is not, as on a platform that does not support "
      "it; NULL: not asked for, or the file does not state it",
      eachRow([rows](Row row) { return (*rows)[row].in_effect; }));
  return table;
}

Table issuesTable(const AnalysedTrace& analysed) {
  const std::vector<model::Issue>& issues = analysed.trace.issues.all();
  Table table;
  table.name = "issues";
  table.doc = "Problems that the reader found in the file, one row per kind.";
  setRows(table, issues.size());
  using model::Issue;
  auto number = [](uint64_t n) { return n == Issue::kNone ? kNull : keyOfBytes(n); };
  addRowText(table, "kind", "",
             [&issues](size_t row) { return std::string(model::name(issues[row].kind)); });
  add(table, ColumnKind::kInteger, "count", "number of times",
      stored(issues, [](const Issue& i) { return keyOfBytes(i.count); }));
  add(table, ColumnKind::kInteger, "device", "NULL: the whole file",
      stored(issues, [](const Issue& i) {
        return i.device == Issue::kNoDevice ? kNull : int64_t{i.device};
      }));
  add(table, ColumnKind::kStep, "first_step", "step of the first one",
      stored(issues, [number](const Issue& i) { return number(i.first_step); }));
  add(table, ColumnKind::kInteger, "first_offset", "byte in the unpacked file of the first one",
      stored(issues, [number](const Issue& i) { return number(i.first_offset); }));
  add(table, ColumnKind::kBytes, "bytes", "amount of memory that is affected, if known",
      stored(issues, [](const Issue& i) { return keyOfBytes(i.bytes); }));
  addRowText(table, "detail", "", [&issues](size_t row) { return issues[row].detail; });
  addRowText(table, "meaning", "effect on the totals",
             [&issues](size_t row) { return std::string(model::meaning(issues[row].kind)); });
  return table;
}

}  // namespace tidegauge::query
