// The blocks of named tensors against a slow twin: for each tensor, every allocation is looked at.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "model/tensors/join_tensors.h"
#include "model/tensors/tensors.h"
#include "support/messy_trace.h"

namespace tidegauge {
namespace {

using model::AllocationId;
using model::Step;
using model::TensorKind;

// Is the allocation live when `events_done` events of its device have happened?
bool isLive(const model::Trace& trace, const model::Device& device, uint32_t row,
            uint64_t events_done) {
  const model::Allocations& a = trace.allocations;
  if (events_done == device.steps()) return a.last_step[row] == device.steps();
  if (events_done == 0) return false;  // nothing is known of the time before the first event
  Step step = static_cast<Step>(events_done - 1);
  return a.first_step[row] <= step && step < a.last_step[row];
}

uint64_t eventsDone(const model::Trace& trace, const model::Device& device, int64_t time_us) {
  const std::vector<int64_t>& times = trace.events.time_us;
  if (times.empty() || time_us == model::kNoTime) return device.steps();
  int64_t latest = model::kNoTime;
  for (uint64_t i = device.event_begin; i < device.event_end; ++i) {
    latest = std::max(latest, times[i]);
    if (latest > time_us) return i - device.event_begin;
  }
  return device.steps();
}

bool holds(const model::Trace& trace, uint32_t row, uint64_t address) {
  uint64_t begin = trace.allocations.address[row];
  return begin <= address && address - begin < trace.allocations.block_bytes[row];
}

AllocationId slowBlockOf(const model::Trace& trace, size_t tensor) {
  const model::Tensors& t = *trace.tensors;
  const model::Device* device = trace.findDevice(t.device[tensor]);
  if (device == nullptr) return {};
  uint64_t done = eventsDone(trace, *device, t.time_us[tensor]);
  std::set<std::tuple<uint64_t, int64_t, uint32_t>> candidates;
  for (auto row = static_cast<uint32_t>(device->allocation_begin); row < device->allocation_end;
       ++row) {
    bool named = false;
    for (size_t other = 0; other < t.size(); ++other) {
      named |= t.device[other] == t.device[tensor] && holds(trace, row, t.address[other]);
    }
    if (!named || !isLive(trace, *device, row, done)) continue;
    if (trace.allocations.address[row] > t.address[tensor]) continue;
    candidates.emplace(trace.allocations.address[row], trace.allocations.first_step[row], row);
  }
  if (candidates.empty()) return {};
  uint32_t last = std::get<2>(*candidates.rbegin());
  return holds(trace, last, t.address[tensor]) ? AllocationId(last) : AllocationId();
}

// Names at addresses in and around blocks, at times in and around the recording.
void nameAtRandom(model::Trace& trace, std::mt19937_64& random) {
  trace.tensors = std::make_shared<model::Tensors>();
  model::Tensors& t = *trace.tensors;
  const model::Allocations& a = trace.allocations;
  const std::vector<int64_t>& times = trace.events.time_us;
  for (int i = 0; i < 60 && a.size() > 0; ++i) {
    size_t row = random() % a.size();
    uint64_t offset = random() % 3 == 0 ? random() % (a.block_bytes[row] + 2) : 0;
    t.device.push_back(trace.deviceOfAllocation(AllocationId(static_cast<uint32_t>(row))).ordinal);
    t.address.push_back(a.address[row] + offset);
    t.size_bytes.push_back(random() % 2 == 0 ? 100 : model::kUnknownBytes);
    t.name.push_back(trace.strings.intern("t" + std::to_string(i % 7)));
    t.kind.push_back(static_cast<TensorKind>(random() % 6));
    for (auto* column : {&t.of, &t.state, &t.shape, &t.dtype}) column->push_back({});
    bool timed = !times.empty() && random() % 8 != 0;
    int64_t time_us = model::kNoTime;
    if (timed) time_us = times[random() % times.size()];
    if (timed && time_us != model::kNoTime) time_us += static_cast<int64_t>(random() % 3) - 1;
    t.time_us.push_back(time_us);
  }
}

using Order = std::vector<std::tuple<AllocationId, TensorKind, uint32_t>>;

// Each row that an earlier one of its allocation equals.
void leaveOutRepeated(const model::Tensors& t, Order& order) {
  Order kept;
  for (const auto& [allocation, kind, row] : order) {
    bool repeated = false;
    for (const auto& [other_allocation, other_kind, other] : kept) {
      repeated |= other_allocation == allocation && other_kind == kind &&
                  t.address[other] == t.address[row] && t.name[other] == t.name[row] &&
                  t.shape[other] == t.shape[row];
    }
    if (!repeated) kept.emplace_back(allocation, kind, row);
  }
  order = kept;
}

TEST(TensorsTwin, EachTensorIsInTheBlockThatASlowSearchFinds) {
  uint64_t found = 0, lost = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    model::Trace trace = testing::messyTrace({.seed = seed, .events = 150, .wild = seed % 4 == 0});
    std::mt19937_64 random(seed);
    // Half of the traces have times that go back now and then.
    if (seed % 2 == 0) {
      trace.events.time_us.resize(trace.events.size());
      int64_t now = 1000;
      for (int64_t& time_us : trace.events.time_us) {
        now += static_cast<int64_t>(random() % 4);
        bool none = random() % 20 == 0;
        time_us = none ? model::kNoTime : now - static_cast<int64_t>(random() % 15 == 0 ? 5 : 0);
      }
    }
    nameAtRandom(trace, random);
    model::joinTensors(trace);
    const model::Tensors& t = *trace.tensors;
    Order order;
    for (uint32_t row = 0; row < t.size(); ++row) {
      AllocationId expected = slowBlockOf(trace, row);
      ASSERT_EQ(t.allocation[row], expected) << "seed " << seed << " row " << row;
      (expected.valid() ? found : lost) += 1;
      if (expected.valid()) order.emplace_back(expected, t.kind[row], row);
    }
    EXPECT_EQ(trace.issues.count(model::IssueKind::kTensorWithoutBlock), t.size() - order.size());
    std::sort(order.begin(), order.end());
    leaveOutRepeated(t, order);
    ASSERT_EQ(t.by_allocation.size(), order.size());
    for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(t.by_allocation[i], std::get<2>(order[i]));
  }
  EXPECT_GT(found, 5000u);
  EXPECT_GT(lost, 1000u);
}

}  // namespace
}  // namespace tidegauge
