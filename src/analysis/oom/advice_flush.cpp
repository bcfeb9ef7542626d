// The bytes could have been returned to the driver: where to flush the cache.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/oom/advice_rules.h"
#include "base/format.h"

namespace tidegauge::analysis {
namespace {

using base::withCommas;
using Unit = Evidence::Unit;

// The state with the least live bytes since the last flush and since the program held half of what
// it held at the event.
std::optional<Step> troughBefore(const Adviser& c, const OomVerdict& v) {
  uint64_t high = v.live_bytes;
  Step end = v.before_step ? *v.before_step + 1 : v.step;
  Step begin = end;
  for (; begin > 0; --begin) {
    model::Action action = c.trace.events.action[c.device.device.event_begin + begin - 1];
    if (action == model::Action::kSegmentFree || action == model::Action::kSegmentUnmap) break;
  }
  bool warm = false;
  uint64_t least = UINT64_MAX;
  Step at = 0;
  c.device.totals.forEach(begin, end, [&](Step step, const Totals& totals) {
    warm |= totals.active_bytes >= high / 2;
    if (!warm || totals.active_bytes >= least) return;
    least = totals.active_bytes;
    at = step;
  });
  if (least > high / 5 * 4) return std::nullopt;
  return at;
}

}  // namespace

// Where little was live, much of the cache could have been returned and split anew.
void flushAtTheTrough(Adviser& c, const OomVerdict& v) {
  std::optional<Step> trough = troughBefore(c, v);
  if (!trough) return;
  Totals then = c.device.totals.at(*trough);
  SegmentedLayout layout(blocksAt(c.trace, c.device.device, c.device.live, *trough));
  uint64_t releasable = pinnedBy(c.trace, layout).releasable_bytes;
  if (releasable < std::max(v.missingBytes().value_or(0), v.reserved_bytes / 20)) return;
  Advice& a = c.add(AdviceKind::kEmptyCache);
  std::vector<uint32_t> around = phasesAt(c.device.phases, *trough);
  if (!around.empty()) a.annotation = around.back();
  a.step = trough;
  rest(a, "releasable_bytes", releasable, Unit::kBytes,
       fmt::format("whole free segments and pages at step {}", withCommas(*trough)));
  rest(a, "active_bytes", then.active_bytes, Unit::kBytes,
       fmt::format("totals at step {}", withCommas(*trough)));
}

void onReleasableAtTheEnd(Adviser& c) {
  Totals last = c.device.totals.last();
  Pinned pinned = pinnedBy(
      c.trace, SegmentedLayout(blocksAt(c.trace, c.device.device, c.device.live, model::kNoStep)));
  uint64_t releasable = pinned.releasable_bytes;
  if (releasable < kWorthBytes || releasable < last.reserved_bytes / 4) return;
  Advice& a = c.add(AdviceKind::kEmptyCache);
  if (c.device.totals.steps() > 0) a.step = c.device.totals.steps() - 1;
  rest(a, "releasable_bytes", releasable, Unit::kBytes, "whole free segments and pages, the end");
  rest(a, "reserved_bytes", last.reserved_bytes, Unit::kBytes, "totals at the end");
}

}  // namespace tidegauge::analysis
