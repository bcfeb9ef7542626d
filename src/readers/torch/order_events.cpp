#include "readers/torch/order_events.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <numeric>
#include <vector>

namespace tidegauge::readers::torch {
namespace {

using model::Action;
using Order = std::vector<uint64_t>;  // rows of events

constexpr size_t kMaxRuns = 64;        // a ring is resized a few times at most
constexpr uint64_t kMinRunEvents = 8;  // fewer: threads that raced

// Rows at which times go back: the first row of every run but the first.
std::vector<uint64_t> descents(const model::Trace& trace, const model::Device& device,
                               model::Issue& issue) {
  const std::vector<int64_t>& time_us = trace.events.time_us;
  std::vector<uint64_t> begins;
  int64_t latest_us = model::kNoTime, before_us = model::kNoTime;
  for (uint64_t row = device.event_begin; row < device.event_end; ++row) {
    if (time_us[row] == model::kNoTime) continue;
    if (time_us[row] < latest_us) {
      if (issue.count++ == 0) issue.first_step = row - device.event_begin;
    }
    if (time_us[row] < before_us) begins.push_back(row);
    before_us = time_us[row];
    latest_us = std::max(latest_us, time_us[row]);
  }
  return begins;
}

// Events that cannot follow the one before them at their address.
uint64_t contradictions(const model::Trace& trace, const Order& order) {
  struct Place {
    bool seen = false, live = false, requested = false;
  };
  boost::unordered_flat_map<uint64_t, Place> blocks, segments;
  uint64_t count = 0;
  for (uint64_t row : order) {
    Action action = trace.events.action[row];
    bool of_segment = action == Action::kSegmentAlloc || action == Action::kSegmentFree;
    if (action > Action::kFree && !of_segment) continue;
    Place& place = (of_segment ? segments : blocks)[trace.events.address[row]];
    bool begins = action == Action::kAlloc || action == Action::kSegmentAlloc;
    bool requests = action == Action::kFreeRequested;
    bool odd = begins ? place.live : !place.live || (requests && place.requested);
    count += place.seen && odd;
    place = {true, begins || requests, requests};
  }
  return count;
}

template <class T>
void permuteColumn(std::vector<T>& column, const Order& order, uint64_t begin) {
  if (column.empty()) return;
  std::vector<T> sorted;
  sorted.reserve(order.size());
  for (uint64_t row : order) sorted.push_back(column[row]);
  std::copy(sorted.begin(), sorted.end(), column.begin() + static_cast<ptrdiff_t>(begin));
}

template <class T>
void permuteColumn(model::UniformColumn<T>& column, const Order& order, uint64_t begin) {
  if (column.empty() || column.uniform()) return;
  model::UniformColumn<T> sorted;
  sorted.reserve(column.size());
  for (uint64_t row = 0; row < begin; ++row) sorted.push_back(column[row]);
  for (uint64_t row : order) sorted.push_back(column[row]);
  for (uint64_t row = sorted.size(); row < column.size(); ++row) sorted.push_back(column[row]);
  column = std::move(sorted);
}

void permuteAll(model::Events& events, const Order& order, uint64_t begin) {
  permuteColumn(events.action, order, begin);
  permuteColumn(events.address, order, begin);
  permuteColumn(events.size_bytes, order, begin);
  permuteColumn(events.stack, order, begin);
  permuteColumn(events.stream, order, begin);
  permuteColumn(events.time_us, order, begin);
  permuteColumn(events.pool, order, begin);
  permuteColumn(events.compile_context, order, begin);
  permuteColumn(events.metadata, order, begin);
  permuteColumn(events.category, order, begin);
  permuteColumn(events.internal_metadata, order, begin);
}

// Did whole runs move, or only single events among their neighbours?
bool movesRuns(const std::vector<uint64_t>& begins, const model::Device& device) {
  if (begins.size() > kMaxRuns) return false;
  uint64_t from = device.event_begin;
  for (uint64_t begin : begins) {
    if (begin - from < kMinRunEvents) return false;
    from = begin;
  }
  return device.event_end - from >= kMinRunEvents;
}

}  // namespace

bool orderEvents(model::Trace& trace, model::Device& device) {
  if (trace.events.time_us.empty()) return false;
  model::Issue issue;
  issue.kind = model::IssueKind::kUnorderedTime;
  issue.device = device.ordinal;
  std::vector<uint64_t> begins = descents(trace, device, issue);
  if (issue.count == 0) return false;
  auto by_time = [&](uint64_t a, uint64_t b) {
    return trace.events.time_us[a] < trace.events.time_us[b];
  };
  Order as_written(device.event_end - device.event_begin);
  std::iota(as_written.begin(), as_written.end(), device.event_begin);
  bool all_timed = std::none_of(as_written.begin(), as_written.end(), [&](uint64_t row) {
    return trace.events.time_us[row] == model::kNoTime;
  });
  if (!all_timed || begins.size() > kMaxRuns) {
    trace.issues.add(std::move(issue));
    return false;
  }
  Order sorted = as_written;
  std::stable_sort(sorted.begin(), sorted.end(), by_time);
  uint64_t odd_as_written = contradictions(trace, as_written);
  uint64_t odd_sorted = contradictions(trace, sorted);
  bool better =
      odd_sorted < odd_as_written || (odd_sorted == odd_as_written && movesRuns(begins, device));
  if (better) {
    for (size_t i = 1; i < sorted.size(); ++i) {
      if (sorted[i] != sorted[i - 1] + 1) device.seams.push_back(static_cast<model::Step>(i));
    }
    permuteAll(trace.events, sorted, device.event_begin);
    issue.kind = model::IssueKind::kReordered;
    issue.count = begins.size();
    issue.first_step = device.seams.empty() ? model::Issue::kNone : device.seams.front();
  }
  trace.issues.add(std::move(issue));
  return better;
}

}  // namespace tidegauge::readers::torch
