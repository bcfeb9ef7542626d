#include "model/tensors/join_tensors.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "model/tensors/tensors.h"

namespace tidegauge::model {
namespace {

// A step, or the number of events: the end.
using Moment = int64_t;
constexpr Moment kNever = std::numeric_limits<Moment>::max();

// From when on it is gone.
Moment endOf(const Allocations& a, uint64_t row, const Device& device) {
  return a.last_step[row] == device.steps() ? kNever : Moment{a.last_step[row]};
}

// One device's tensors and blocks.
class DeviceJoin {
 public:
  DeviceJoin(Trace& trace, const Device& device, std::vector<uint32_t> rows)
      : trace_(trace), tensors_(*trace.tensors), device_(device), rows_(std::move(rows)) {}

  void join() {
    findMoments();
    findBlocks();
    std::sort(by_end_.begin(), by_end_.end());
    for (const auto& [moment, row] : asked_) {
      moveTo(moment);
      tensors_.allocation[row] = blockAt(tensors_.address[row]);
    }
  }

 private:
  // Ordered so that of several blocks that begin at or below an address, the last one counts.
  using Place = std::tuple<uint64_t, Moment, uint32_t>;  // address, birth, row

  void findMoments() {
    const std::vector<int64_t>& times = trace_.events.time_us;
    Moment end = device_.steps();
    std::vector<std::pair<int64_t, uint32_t>> timed;
    for (uint32_t row : rows_) {
      bool has_time = !times.empty() && tensors_.time_us[row] != kNoTime;
      if (has_time) {
        timed.emplace_back(tensors_.time_us[row], row);
      } else {
        asked_.emplace_back(end, row);
      }
    }
    std::sort(timed.begin(), timed.end());
    uint64_t event = device_.event_begin;
    for (const auto& [time_us, row] : timed) {
      // Where times go back, the latest so far counts, so the first later one decides.
      while (event < device_.event_end && times[event] <= time_us) ++event;
      bool at_end = event == device_.event_end;
      Moment done = static_cast<Moment>(event - device_.event_begin);
      // What was there before the first event is not known.
      if (!at_end && done == 0) continue;
      asked_.emplace_back(at_end ? end : done - 1, row);
    }
    std::sort(asked_.begin(), asked_.end());
  }

  // The allocations that hold a named address and are live at the moment of some name, by birth.
  void findBlocks() {
    std::vector<uint64_t> addresses;
    for (uint32_t row : rows_) addresses.push_back(tensors_.address[row]);
    std::vector<Moment> moments;
    for (const auto& [moment, row] : asked_) moments.push_back(moment);
    makeSet(addresses);
    makeSet(moments);
    const Allocations& a = trace_.allocations;
    for (uint64_t row = device_.allocation_begin; row < device_.allocation_end; ++row) {
      Moment birth = a.first_step[row];
      Moment gone = endOf(a, row, device_);
      // Mostly all names are of the end, and few blocks are live there.
      auto asked = std::lower_bound(moments.begin(), moments.end(), birth);
      if (asked == moments.end() || *asked >= gone) continue;
      auto named = std::lower_bound(addresses.begin(), addresses.end(), a.address[row]);
      if (named == addresses.end() || *named - a.address[row] >= a.block_bytes[row]) continue;
      by_birth_.emplace_back(birth, static_cast<uint32_t>(row));
      by_end_.emplace_back(gone, static_cast<uint32_t>(row));
    }
    std::sort(by_birth_.begin(), by_birth_.end());
  }

  template <class T>
  static void makeSet(std::vector<T>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  }

  Place placeOf(uint32_t row) const {
    return {trace_.allocations.address[row], trace_.allocations.first_step[row], row};
  }

  // Moments ascend.
  void moveTo(Moment moment) {
    for (; born_ < by_birth_.size() && by_birth_[born_].first <= moment; ++born_)
      live_.insert(placeOf(by_birth_[born_].second));
    for (; gone_ < by_end_.size() && by_end_[gone_].first <= moment; ++gone_)
      live_.erase(placeOf(by_end_[gone_].second));
  }

  AllocationId blockAt(uint64_t address) const {
    auto next = live_.upper_bound({address, kNever, std::numeric_limits<uint32_t>::max()});
    if (next == live_.begin()) return {};
    uint32_t row = std::get<2>(*std::prev(next));
    const Allocations& a = trace_.allocations;
    return address - a.address[row] < a.block_bytes[row] ? AllocationId(row) : AllocationId();
  }

  Trace& trace_;
  Tensors& tensors_;
  const Device& device_;
  std::vector<uint32_t> rows_;
  std::vector<std::pair<Moment, uint32_t>> asked_;  // tensors, by the moment of their name
  std::vector<std::pair<Moment, uint32_t>> by_birth_, by_end_;  // allocations
  size_t born_ = 0, gone_ = 0;
  std::set<Place> live_;
};

void orderByAllocation(Tensors& tensors) {
  std::vector<uint32_t>& rows = tensors.by_allocation;
  rows.clear();
  for (uint32_t row = 0; row < tensors.size(); ++row) {
    if (tensors.allocation[row].valid()) rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(), [&](uint32_t x, uint32_t y) {
    return std::tuple(tensors.allocation[x], tensors.kind[x], x) <
           std::tuple(tensors.allocation[y], tensors.kind[y], y);
  });
  // The first of equal names in one allocation stays.
  std::set<std::tuple<TensorKind, uint64_t, StringId, StringId>> met;
  AllocationId of;
  std::erase_if(rows, [&](uint32_t row) {
    if (tensors.allocation[row] != of) met.clear();
    of = tensors.allocation[row];
    return !met.emplace(tensors.kind[row], tensors.address[row], tensors.name[row],
                        tensors.shape[row])
                .second;
  });
}

void noteUnplaced(Trace& trace) {
  const Tensors& tensors = *trace.tensors;
  for (size_t row = 0; row < tensors.size(); ++row) {
    if (tensors.allocation[row].valid()) continue;
    Issue issue;
    issue.kind = IssueKind::kTensorWithoutBlock;
    issue.device = tensors.device[row];
    issue.bytes = tensors.size_bytes[row] == kUnknownBytes ? 0 : tensors.size_bytes[row];
    trace.issues.add(std::move(issue));
  }
}

}  // namespace

void joinTensors(Trace& trace) {
  if (!trace.tensors) return;
  Tensors& tensors = *trace.tensors;
  tensors.allocation.assign(tensors.size(), AllocationId());
  std::vector<std::vector<uint32_t>> of_device(trace.devices.size());
  for (uint32_t row = 0; row < tensors.size(); ++row) {
    const Device* device = trace.findDevice(tensors.device[row]);
    if (device != nullptr)
      of_device[static_cast<size_t>(device - trace.devices.data())].push_back(row);
  }
  for (size_t d = 0; d < of_device.size(); ++d) {
    if (!of_device[d].empty()) DeviceJoin(trace, trace.devices[d], std::move(of_device[d])).join();
  }
  orderByAllocation(tensors);
  noteUnplaced(trace);
}

}  // namespace tidegauge::model
