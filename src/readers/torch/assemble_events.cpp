#include <fmt/format.h>

#include <algorithm>

#include "readers/torch/assemble.h"
#include "readers/torch/order_events.h"

namespace tidegauge::readers::torch {
namespace {

// Consecutive rows of the columns.
struct RowRun {
  uint64_t begin;
  uint64_t count;
};

struct DeviceRows {
  int32_t ordinal;
  std::vector<RowRun> runs;
};

// An event dict that is not a row yet, or one without an action.
bool isEventDict(const Values& values, Value value) {
  return value.tag() == Tag::kDict && values.tree().itemCount(value.index()) > 0 &&
         values.shapeOf(value) != Values::Shape::kFrame;
}

// The rows of one device's list of events, in its order. Event dicts without a row get one. `named`
// counts over all lists; a list that occurs several times is read several times, but every event
// takes at least one byte of the input.
std::vector<RowRun> rowsOf(Columns& columns, Value list, uint64_t& named) {
  std::vector<RowRun> runs;
  if (list.tag() == Tag::kEmptyList || list.tag() == Tag::kNothing) return runs;
  if (!list.isSequence()) {
    columns.oddities().badValue(Place::kTopLevel, "device_traces");
    return runs;
  }
  columns.values().tree().forEachItem(list.index(), [&](Value item) {
    if (named > columns.values().inputBytes()) return;
    ++named;
    RowRun run{item.index(), 1};
    if (item.tag() == Tag::kEvent) {
      run.count += item.moreRows();
    } else if (isEventDict(columns.values(), item)) {
      run.begin = columns.addEventFromNode(item.index());
    } else {
      columns.oddities().badValue(Place::kTopLevel, "device_traces");
      return;
    }
    if (!runs.empty() && runs.back().begin + runs.back().count == run.begin) {
      runs.back().count += run.count;
    } else {
      runs.push_back(run);
    }
  });
  return runs;
}

template <class T>
void gather(std::vector<T>& column, const std::vector<DeviceRows>& devices, uint64_t total) {
  if (column.empty()) return;
  std::vector<T> gathered;
  gathered.reserve(total);
  for (const DeviceRows& device : devices) {
    for (RowRun run : device.runs) {
      auto begin = column.begin() + static_cast<ptrdiff_t>(run.begin);
      gathered.insert(gathered.end(), begin, begin + static_cast<ptrdiff_t>(run.count));
    }
  }
  column = std::move(gathered);
}

template <class T>
void gather(model::UniformColumn<T>& column, const std::vector<DeviceRows>& devices,
            uint64_t total) {
  if (column.empty()) return;
  model::UniformColumn<T> gathered;
  gathered.reserve(total);
  for (const DeviceRows& device : devices) {
    for (RowRun run : device.runs) {
      for (uint64_t row = run.begin; row < run.begin + run.count; ++row)
        gathered.push_back(column[row]);
    }
  }
  column = std::move(gathered);
}

// Such a column is empty if no event has the field; gathered rows may be those without it.
template <class Column, class T>
void gatherOptional(Column& column, T absent, const std::vector<DeviceRows>& devices,
                    uint64_t total) {
  gather(column, devices, total);
  for (size_t row = 0; row < column.size(); ++row) {
    if (column[row] != absent) return;
  }
  column.clear();
}

void gatherAll(model::Events& events, const std::vector<DeviceRows>& devices, uint64_t total) {
  gather(events.action, devices, total);
  gather(events.address, devices, total);
  gather(events.size_bytes, devices, total);
  gather(events.stack, devices, total);
  gather(events.stream, devices, total);
  gatherOptional(events.time_us, model::kNoTime, devices, total);
  gatherOptional(events.pool, model::PoolId(), devices, total);
  gatherOptional(events.compile_context, model::StringId(), devices, total);
  gatherOptional(events.metadata, model::StringId(), devices, total);
  gatherOptional(events.category, model::StringId(), devices, total);
  gatherOptional(events.internal_metadata, model::StringId(), devices, total);
}

// Are the rows sorted by device already? True for every file that torch writes.
bool inOrder(const std::vector<DeviceRows>& devices, uint64_t rows) {
  uint64_t next = 0;
  for (const DeviceRows& device : devices) {
    for (RowRun run : device.runs) {
      if (run.begin != next) return false;
      next += run.count;
    }
  }
  return next == rows;
}

void reportUnknownActions(model::Trace& trace, const model::Device& device) {
  if (trace.unknown_actions.empty()) return;
  std::vector<model::Issue> issues(trace.unknown_actions.size());
  for (uint64_t row = device.event_begin; row < device.event_end; ++row) {
    if (trace.events.action[row] < model::Action::kFirstUnknown) continue;
    size_t number = static_cast<size_t>(trace.events.action[row]) -
                    static_cast<size_t>(model::Action::kFirstUnknown);
    model::Issue& issue = issues[number];
    if (issue.count++ == 0) issue.first_step = row - device.event_begin;
  }
  for (size_t i = 0; i < issues.size(); ++i) {
    if (issues[i].count == 0) continue;
    issues[i].kind = model::IssueKind::kUnknownAction;
    issues[i].device = device.ordinal;
    issues[i].detail = fmt::format("action '{}'", trace.strings.text(trace.unknown_actions[i]));
    trace.issues.add(std::move(issues[i]));
  }
}

}  // namespace

base::Status assembleEvents(model::Trace& trace, Columns& columns, Value device_traces,
                            Value host_traces) {
  std::vector<DeviceRows> devices;
  uint64_t named = 0;
  if (device_traces.isSequence()) {
    std::vector<Value> lists;
    const Tree& tree = columns.values().tree();
    if (tree.itemCount(device_traces.index()) > static_cast<uint64_t>(kMaxDevices)) {
      return base::Error{
          base::ErrorKind::kLimit,
          fmt::format("'device_traces' has {} devices, and Tidegauge reads at most {}",
                      tree.itemCount(device_traces.index()), kMaxDevices),
          std::nullopt, "No machine has that many."};
    }
    tree.forEachItem(device_traces.index(), [&](Value list) { lists.push_back(list); });
    for (size_t i = 0; i < lists.size(); ++i) {
      devices.push_back({static_cast<int32_t>(i), rowsOf(columns, lists[i], named)});
    }
  } else if (device_traces.tag() != Tag::kNothing && device_traces.tag() != Tag::kEmptyList &&
             device_traces.tag() != Tag::kNone) {
    columns.oddities().badValue(Place::kTopLevel, "device_traces");
  }
  if (host_traces.tag() != Tag::kNothing && host_traces.tag() != Tag::kNone) {
    devices.push_back({kHostOrdinal, rowsOf(columns, host_traces, named)});
  }
  columns.finishEvents();

  uint64_t total = 0;
  for (const DeviceRows& device : devices) {
    uint64_t begin = total;
    for (RowRun run : device.runs) total += run.count;
    model::Device& row = deviceRow(trace, device.ordinal);
    row.event_begin = begin;
    row.event_end = total;
  }
  uint64_t wanted = std::max(total, named);
  if (wanted > columns.values().inputBytes() || wanted >= model::kNoStep) {
    return base::Error{base::ErrorKind::kLimit,
                       fmt::format("the file claims {} events, more than its size allows", wanted),
                       std::nullopt, "PyTorch does not write such files."};
  }
  columns.endList(columns.values().inputBytes());
  if (!inOrder(devices, trace.events.size())) {
    columns.noteMoved();
    gatherAll(trace.events, devices, total);
  }
  for (model::Device& device : trace.devices) {
    if (orderEvents(trace, device)) columns.noteMoved();
    reportUnknownActions(trace, device);
  }
  return base::okStatus();
}

}  // namespace tidegauge::readers::torch
