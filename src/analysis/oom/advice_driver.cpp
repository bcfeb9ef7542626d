// There is no allocator between the program and the driver: only the bytes count, and no setting
// helps.
#include <fmt/format.h>

#include "analysis/oom/advice_rules.h"
#include "base/format.h"

namespace tidegauge::analysis {

using base::humanBytes;
using Unit = Evidence::Unit;

void onDriverMemory(Adviser& c, const OomVerdict& v) {
  const VerdictRow* capacity = v.find(Verdict::kCapacity);
  if (capacity == nullptr) return;
  if (v.total_bytes && *v.request_bytes > *v.total_bytes) {
    Advice& a = c.add(AdviceKind::kSmallerRequest,
                      fmt::format("Request less at once, because the device has only {}.",
                                  humanBytes(*v.total_bytes)));
    a.step = v.step;
    rest(a, "request_bytes", *v.request_bytes, Unit::kBytes, "out-of-memory event");
    rest(a, "total_bytes", *v.total_bytes, Unit::kBytes, "the device");
    return;
  }
  holdLess(c, v, capacity->bytes, "Free something before this point, or request less");
  if (const VerdictRow* others = v.find(Verdict::kOthers)) onOthers(c, v, others->bytes);
}

}  // namespace tidegauge::analysis
