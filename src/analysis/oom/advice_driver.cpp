// There is no allocator between the program and the driver: only the bytes count, and no setting
// helps.
#include "analysis/oom/advice_rules.h"

namespace tidegauge::analysis {

void onDriverMemory(Adviser& c, const OomVerdict& v) {
  if (const VerdictRow* never = v.find(Verdict::kNeverFits)) onNeverFits(c, v, never->bytes);
  if (const VerdictRow* capacity = v.find(Verdict::kCapacity)) holdLess(c, v, capacity->bytes);
  if (const VerdictRow* others = v.find(Verdict::kOthers)) onOthers(c, v, others->bytes);
  for (Advice& a : c.advice) a.allocator = AllocatorKind::kDriver;
}

}  // namespace tidegauge::analysis
