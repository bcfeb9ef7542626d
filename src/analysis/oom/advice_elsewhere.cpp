// The bytes exist, but not for this request: other pools, streams and processes, a limit of the
// process, and the allocator's missing second search.
#include <fmt/format.h>

#include "analysis/oom/advice_rules.h"
#include "base/format.h"

namespace tidegauge::analysis {

using base::humanBytes;
using Unit = Evidence::Unit;

void onOtherPool(Adviser& c, const OomVerdict& v) {
  uint64_t in_pools = 0, on_streams = 0;
  for (const FreeList& list : v.free.lists) {
    for (const FreeBlock& block : list.blocks) {
      if (!v.isElsewhere(list, block)) continue;
      (list.key.pool != v.key.pool ? in_pools : on_streams) += block.size_bytes;
    }
  }
  if (in_pools > 0) {
    Advice& a =
        c.add(AdviceKind::kPool, fmt::format("Try to share or to release memory pools. {} in "
                                             "free blocks that are large enough belong to other "
                                             "pools (CUDA graphs, MemPool) than the request's.",
                                             humanBytes(in_pools)));
    rest(a, "other_pool_bytes", in_pools, Unit::kBytes, "free blocks, " + atEvent(v));
  }
  if (on_streams > 0) {
    Advice& a = c.add(AdviceKind::kStream,
                      fmt::format("Try to allocate on one stream, with record_stream() where "
                                  "another uses the tensor. {} in free blocks that are large "
                                  "enough belong to other streams than the request's.",
                                  humanBytes(on_streams)));
    rest(a, "other_stream_bytes", on_streams, Unit::kBytes, "free blocks, " + atEvent(v));
  }
}

void onOthers(Adviser& c, const OomVerdict& v, uint64_t bytes) {
  bool of_driver = v.allocator == AllocatorKind::kDriver;
  Advice& a = c.add(AdviceKind::kOtherProcesses,
                    fmt::format("Check what else is on the device "
                                "(nvidia-smi). {}{} are outside this {}.",
                                v.total_bytes ? "" : "At least ", humanBytes(bytes),
                                of_driver ? "process" : "allocator"));
  rest(a, "other_bytes", bytes, Unit::kBytes,
       v.total_bytes ? "device total − reserved − driver"
                     : "most that this process could have had at another step − reserved − driver");
}

void onCap(Adviser& c, const OomVerdict& v) {
  Advice& a = c.add(AdviceKind::kMemoryFraction,
                    fmt::format("Try a larger memory fraction (set_per_process_memory_fraction). "
                                "The driver had {} free, and the allocator needed {}.",
                                humanBytes(*v.driver_bytes), humanBytes(*v.wanted_bytes)));
  rest(a, "driver_bytes", *v.driver_bytes, Unit::kBytes, "out-of-memory event");
  rest(a, "wanted_bytes", *v.wanted_bytes, Unit::kBytes, "segment for the request");
  if (v.cap->would_fit != true) return;
  tryExpandable(c, v);
  flushAtTheTrough(c, v);
}

void onFlaw(Adviser& c, const OomVerdict& v, uint64_t bytes) {
  Advice& a = c.add(AdviceKind::kTryAgain,
                    fmt::format("Try the same request again. A free block of {} fits, but the "
                                "allocator does not search again after its flush.",
                                humanBytes(bytes)));
  a.step = v.step;
  rest(a, "fitting_bytes", bytes, Unit::kBytes, "fit test, " + atEvent(v));
}

}  // namespace tidegauge::analysis
