// The bytes do not exist: hold less, request less, waste less.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/oom/advice_rules.h"
#include "base/format.h"
#include "base/sizes.h"

namespace tidegauge::analysis {
namespace {

using base::counted;
using base::humanBytes;
using base::withCommas;
using Unit = Evidence::Unit;

uint64_t largestFromDriver(const Adviser& c, const OomVerdict& v) {
  if (!v.driver_bytes) return 0;
  bool small = c.rules.isSmall(*v.request_bytes);
  uint64_t unit = c.rules.expandable ? c.rules.pageBytes(small) : 2 * kMiB;
  uint64_t bytes = *v.driver_bytes / unit * unit;
  if (c.rules.expandable) return bytes;
  return bytes >= c.rules.segmentBytes(bytes) ? bytes : 0;
}

constexpr std::string_view kOrRecompute =
    "Try a smaller batch, or free or recompute something before this point";

}  // namespace

void holdLess(Adviser& c, const OomVerdict& v, uint64_t lacking, std::string_view what) {
  std::vector<StackGroup> groups = groupByStack(c.trace, c.device.live.liveAt(v.step));
  std::string holder;
  auto first = std::find_if(groups.begin(), groups.end(),
                            [](const StackGroup& group) { return group.stack.valid(); });
  if (first != groups.end()) {
    holder = fmt::format(" The largest holder is {}: {} in {}.",
                         oneName(c.analysed.names.of(first->stack)), humanBytes(first->block_bytes),
                         counted(first->blocks, "block"));
  }
  std::string phase;
  if (v.last_phase && v.last_phase->live_bytes > 0) {
    phase = fmt::format(" The phase at this step, {}, allocated {} of the active memory.",
                        c.trace.strings.text(c.trace.annotations.name[v.last_phase->annotation]),
                        humanBytes(v.last_phase->live_bytes));
  }
  Advice& a =
      c.add(AdviceKind::kHoldLess, fmt::format("{}. The program must hold at least {} less.{}{}",
                                               what, humanBytes(lacking), holder, phase));
  a.step = v.step;
  rest(a, "lacking_bytes", lacking, Unit::kBytes, "request − free inside segments − driver");
  rest(a, "live_bytes", v.live_bytes, Unit::kBytes, atEvent(v));
  if (first != groups.end()) {
    rest(a, "largest_holder_bytes", first->block_bytes, Unit::kBytes,
         "live blocks by stack, " + atEvent(v));
    rest(a, "largest_holder_blocks", first->blocks, Unit::kCount,
         "live blocks by stack, " + atEvent(v));
  }
  if (!phase.empty()) {
    rest(a, "phase_bytes", v.last_phase->live_bytes, Unit::kBytes,
         fmt::format("live blocks born since step {}", withCommas(v.last_phase->begin_step)));
  }
}

void onCapacity(Adviser& c, const OomVerdict& v, uint64_t lacking) {
  Advice& a =
      c.add(AdviceKind::kNoSettingHelps,
            fmt::format("No allocator setting helps, because the memory is too small. Even if "
                        "all free memory were one range, {} would be missing.",
                        humanBytes(lacking)));
  rest(a, "lacking_bytes", lacking, Unit::kBytes, "request − free inside segments − driver");
  holdLess(c, v, lacking, kOrRecompute);
  smallerRequest(c, v);
}

void onWaste(Adviser& c, const OomVerdict& v) {
  bool roundup = std::any_of(c.settings.roundup_power2_divisions.begin(),
                             c.settings.roundup_power2_divisions.end(),
                             [](uint32_t divisions) { return divisions > 1; });
  auto restOnWaste = [&](Advice& a) {
    rest(a, "rounding_bytes", v.rounding_bytes, Unit::kBytes,
         "live blocks − their requests in whole 512 bytes");
    rest(a, "request_rounding_bytes", *v.request_bytes - v.least_request_bytes, Unit::kBytes,
         "most that the request was rounded up");
    rest(a, "lacking_bytes", v.lackingBytes(), Unit::kBytes,
         "request − free inside segments − driver");
  };
  if (roundup) {
    restOnWaste(c.add(AdviceKind::kNoRoundup,
                      "Try without roundup_power2_divisions, or with more divisions. This setting "
                      "makes blocks larger than their requests."));
  }
  if (c.splitLimitSet()) {
    restOnWaste(
        c.add(AdviceKind::kLargerSplitLimit,
              fmt::format("Try a larger max_split_size_mb, or none. The allocator does not split "
                          "blocks of {} and more.",
                          humanBytes(c.rules.max_split_bytes))));
  }
  if (c.canTryExpandable()) {
    restOnWaste(c.add(AdviceKind::kExpandable,
                      "Try expandable_segments:True. With it, the allocator splits off the unused "
                      "end of every block; otherwise it keeps ends that are too small for a block.",
                      "expandable_segments:True"));
  }
  holdLess(c, v, v.lackingBytes(), kOrRecompute);
  smallerRequest(c, v);
}

// What would have been served instead: the largest free block of its pool, or what the driver has
// free.
void smallerRequest(Adviser& c, const OomVerdict& v) {
  const FreeList* list = v.free.find(v.key);
  uint64_t from_cache = list == nullptr ? 0 : largestRequest(c.rules, *list);
  uint64_t from_driver = largestFromDriver(c, v);
  uint64_t most = std::max(from_cache, from_driver);
  if (most < *v.request_bytes / 8 || most < kMiB || most >= *v.request_bytes) return;
  uint64_t parts = *v.request_bytes / most + (*v.request_bytes % most != 0);
  std::string where = c.trace.events.stack[c.device.device.event_begin + v.step].valid()
                          ? " at " + c.analysed.labels.label(
                                         c.trace.events.stack[c.device.device.event_begin + v.step])
                          : std::string();
  std::vector<std::string> sizes = base::inOneUnit({*v.request_bytes, most});
  Advice& a = c.add(
      AdviceKind::kSmallerRequest,
      fmt::format("Try to split the request{} into smaller ones. {} did not fit; {} would have "
                  "fitted{}.",
                  where, sizes[0], sizes[1], parts == 2 ? ", more than half of it" : ""));
  a.step = v.step;
  rest(a, "request_bytes", *v.request_bytes, Unit::kBytes, "out-of-memory event");
  rest(a, "largest_servable_bytes", most, Unit::kBytes,
       from_cache >= from_driver ? "fit test on the free blocks of its pool and stream"
                                 : "free in the driver, in whole segments");
}

}  // namespace tidegauge::analysis
