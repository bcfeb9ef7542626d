// The bytes exist, but not for this request: other pools, streams and processes, a limit of the
// process, and the allocator's missing second search.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/oom/advice_rules.h"

namespace tidegauge::analysis {

using Unit = Evidence::Unit;

void onOtherPool(Adviser& c, const OomVerdict& v) {
  uint64_t in_pools = 0, on_streams = 0;
  for (const FreeList& list : v.free.lists) {
    for (const FreeBlock& block : list.blocks) {
      if (v.whyUnfit(c.trace, list, block) != Unfit::kElsewhere) continue;
      (list.key.pool != v.key.pool ? in_pools : on_streams) += block.size_bytes;
    }
  }
  if (in_pools > 0) {
    Advice& a = c.add(AdviceKind::kPool);
    rest(a, "other_pool_bytes", in_pools, Unit::kBytes, "free blocks, " + atEvent(v));
  }
  if (on_streams > 0) {
    Advice& a = c.add(AdviceKind::kStream);
    rest(a, "other_stream_bytes", on_streams, Unit::kBytes, "free blocks, " + atEvent(v));
  }
}

void onHeldInPools(Adviser& c, const OomVerdict& v) {
  uint64_t most_bytes = 0;
  for (const PoolShare& share : v.pools) most_bytes = std::max(most_bytes, share.free_bytes);
  for (const PoolShare& share : v.pools) {
    // A pool with little to give does not change the outcome, but the first of equal ones may.
    bool is_largest =
        share.free_bytes == most_bytes &&
        std::ranges::find(c.advice, AdviceKind::kReleasePool, &Advice::kind) == c.advice.end();
    if (share.free_bytes == 0 || (share.free_bytes < v.held_bytes / 10 && !is_largest)) continue;
    Advice& a = c.add(AdviceKind::kReleasePool);
    a.step = v.step;
    a.pool = share.pool;
    a.stack = share.stack;
    rest(a, "pool_free_bytes", share.free_bytes, Unit::kBytes, "its segments, " + atEvent(v));
    rest(a, "pool_whole_bytes", share.whole_bytes, Unit::kBytes,
         "its whole free segments and pages, " + atEvent(v));
    rest(a, "pool_live_bytes", share.live_bytes, Unit::kBytes, "its blocks, " + atEvent(v));
    rest(a, "pool_blocks", share.live_blocks, Unit::kCount, "its blocks, " + atEvent(v));
    rest(a, "held_bytes", v.held_bytes, Unit::kBytes, "free in private pools, " + atEvent(v));
  }
}

void onNoFlush(Adviser& c, const OomVerdict& v) {
  Advice& a = c.add(AdviceKind::kFlushBeforeCapture);
  rest(a, "unflushed_bytes", v.unflushed_bytes, Unit::kBytes,
       "whole free segments of the default pool, " + atEvent(v));
}

void onOthers(Adviser& c, const OomVerdict& v, uint64_t bytes) {
  Advice& a = c.add(AdviceKind::kOtherProcesses);
  rest(a, v.total_bytes ? "other_bytes" : "least_other_bytes", bytes, Unit::kBytes,
       v.total_bytes ? "device total − reserved − driver"
                     : "most that this process could have had at another step − reserved − driver");
}

void onCap(Adviser& c, const OomVerdict& v) {
  // Where no fixed limit explains the refusal, a larger one is a guess.
  if (v.cap->isFixed()) {
    Advice& a = c.add(AdviceKind::kMemoryFraction);
    rest(a, "driver_bytes", *v.driver_bytes, Unit::kBytes, "out-of-memory event");
    rest(a, "wanted_bytes", *v.wanted_bytes, Unit::kBytes, "segment for the request");
    rest(a, "needed_bytes", v.cap->needed_bytes, Unit::kBytes,
         "reserved + segment for the request");
    if (v.cap->fraction) {
      auto device_bytes = static_cast<double>(v.total_bytes.value_or(v.least_total_bytes));
      double needed = static_cast<double>(v.cap->needed_bytes) / device_bytes * 100;
      auto now_percent = static_cast<uint64_t>(std::llround(*v.cap->fraction * 100));
      rest(a, "fraction_percent", now_percent, Unit::kPercent,
           "per_process_memory_fraction of the settings");
      // Above the present one in whole percent, too.
      auto percent = std::max(static_cast<uint64_t>(needed), now_percent) + 1;
      if (percent <= 100) {
        rest(
            a, "needed_percent", percent, Unit::kPercent,
            v.total_bytes ? "needed / size of the device" : "needed / the most that was available");
        a.setting =
            fmt::format("per_process_memory_fraction:{:.2f}", static_cast<double>(percent) / 100);
      }
    }
  }
  if (v.cap->would_fit != true) return;
  tryExpandable(c, v);
  flushAtTheTrough(c, v);
}

void onFlaw(Adviser& c, const OomVerdict& v, uint64_t bytes) {
  Advice& a = c.add(AdviceKind::kTryAgain);
  a.step = v.step;
  rest(a, "fitting_bytes", bytes, Unit::kBytes, "fit test, " + atEvent(v));
}

}  // namespace tidegauge::analysis
