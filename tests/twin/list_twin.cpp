// The event list, filters, sums by stack and tables against scans of the columns.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/view_trace.h"
#include "view/filter/filter.h"
#include "view/tables/event_list.h"
#include "view/tables/stack_sums.h"
#include "view/tables/table.h"

namespace tidegauge {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceAnalysis;
using analysis::Step;

TEST(ListTwin, TheEventListAgreesWithAScan) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    AnalysedTrace analysed = testing::viewTrace(seed);
    const model::Device& device = analysed.devices[0]->device;
    const model::Events& e = analysed.trace.events;
    uint64_t address = analysed.trace.allocations.address[seed % analysed.trace.allocations.size()];
    view::EventFilter filter;
    filter.actions = view::actionBit(model::Action::kAlloc);
    filter.size = view::SizeRange{1024, 1 << 20, false};
    std::vector<Step> steps = view::matchingSteps(analysed, device, filter);
    std::vector<Step> slow;
    std::vector<Step> at_address;
    for (Step s = 0; s < device.steps(); ++s) {
      uint64_t bytes = e.size_bytes[s];
      if (e.action[s] == model::Action::kAlloc && bytes >= 1024 && bytes <= 1 << 20) {
        slow.push_back(s);
      }
      if (e.action[s] <= model::Action::kFree && e.address[s] == address) at_address.push_back(s);
    }
    EXPECT_EQ(steps, slow);
    view::EventFilter around;
    around.actions = view::actionBit(model::Action::kAlloc) |
                     view::actionBit(model::Action::kFreeRequested) |
                     view::actionBit(model::Action::kFreeCompleted);
    around.address = address;
    steps = view::matchingSteps(analysed, device, around);
    EXPECT_TRUE(std::includes(steps.begin(), steps.end(), at_address.begin(), at_address.end()));
  }
}

TEST(ListTwin, FiltersAgreeWithTheColumns) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    AnalysedTrace analysed = testing::viewTrace(seed);
    const model::Allocations& a = analysed.trace.allocations;
    auto filter = view::parseFilter("size:>=2048 life:..50 -provenance:older born:10..");
    ASSERT_TRUE(filter.ok()) << filter.error().what;
    view::FilterSet set = view::applyFilter(analysed, filter.value());
    uint64_t count = 0;
    for (uint32_t row = 0; row < a.size(); ++row) {
      bool passes = a.block_bytes[row] >= 2048 && a.last_step[row] - a.first_step[row] <= 50 &&
                    !model::isOlder(a.provenance[row]) && a.has(row, model::kAllocSeen) &&
                    a.first_step[row] >= 10;
      EXPECT_EQ(set.has(row), passes) << "row " << row;
      count += passes;
    }
    EXPECT_EQ(set.count(), count);
  }
}

TEST(ListTwin, StackSumsAgreeWithEveryStep) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    AnalysedTrace analysed = testing::viewTrace(seed);
    const DeviceAnalysis& device = *analysed.devices[0];
    const model::Allocations& a = analysed.trace.allocations;
    for (const view::StackSum& sum : view::stackSums(analysed, device, nullptr)) {
      auto isOf = [&](uint32_t row) {
        bool known = a.stack[row].valid() && !a.has(row, model::kStackIsOfFree);
        return known ? a.stack[row] == sum.stack : !sum.stack.valid();
      };
      uint64_t peak = 0;
      Step peak_step = 0;
      for (Step step = 0; step < device.totals.steps(); ++step) {
        uint64_t live = 0;
        for (uint32_t row = 0; row < a.size(); ++row) {
          if (isOf(row) && analysis::liveAfter(analysed.trace, row, step))
            live += a.block_bytes[row];
        }
        if (live > peak) {
          peak = live;
          peak_step = step;
        }
        if (step + 1 == device.totals.steps()) {
          EXPECT_EQ(sum.at_end_bytes, live);
        }
        if (step == device.totals.peakActive().step && !device.totals.peakActive().at_start) {
          EXPECT_EQ(sum.at_peak_bytes, live);
        }
      }
      EXPECT_EQ(sum.peak_bytes, peak);
      EXPECT_EQ(sum.peak_step, peak_step);
    }
    auto table = view::tableOf(analysed, device, "stacks", nullptr);
    ASSERT_TRUE(table.has_value());
    const view::TableColumn* column = table->find("peak_bytes");
    std::vector<uint32_t> order = view::orderOf(*table, *column, true);
    for (size_t i = 1; i < order.size(); ++i) {
      EXPECT_GE(*column->number(order[i - 1]), *column->number(order[i]));
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tidegauge
