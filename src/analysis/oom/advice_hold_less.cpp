// The bytes do not exist: hold less, request less, waste less.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/oom/advice_rules.h"
#include "base/format.h"

namespace tidegauge::analysis {
namespace {

using base::withCommas;
using Unit = Evidence::Unit;

// How many blocks of `bytes` the driver's free memory would serve.
uint64_t partsFromDriver(const Adviser& c, const OomVerdict& v, uint64_t bytes) {
  uint64_t driver = v.driver_bytes.value_or(0);
  if (c.rules.expandable) {  // they grow by the page, and share pages
    uint64_t page = c.rules.pageBytes(c.rules.isSmall(bytes));
    return driver / page * page / bytes;
  }
  uint64_t segment = c.rules.segmentBytes(bytes);
  return driver / segment * (segment / bytes);
}

// How many blocks of `bytes` fit at the same time: in the free blocks of the request's pool and
// stream, and in new memory of the driver.
uint64_t partsThatFit(const Adviser& c, const OomVerdict& v, uint64_t bytes) {
  uint64_t parts = partsFromDriver(c, v, bytes);
  const FreeList* list = v.free.find(v.key);
  if (list == nullptr) return parts;
  for (const FreeBlock& block : list->blocks) {
    if (!c.rules.allows(bytes, block.size_bytes)) continue;
    bool is_split = block.size_bytes < c.rules.max_split_bytes;
    parts += is_split ? block.size_bytes / bytes : 1;
  }
  return parts;
}

// Splitting a request below this size moves too little to change an outcome.
constexpr uint64_t kMinSplitBytes = 64 * kMiB;
constexpr uint64_t kMaxParts = 8;

// In a pool whose allocator may have unmapped it, so freeing it may return nothing.
bool mayBeUnmapped(const OomVerdict& v, const model::Trace& trace, const StackGroup& group) {
  return bytesInOwnAllocators(trace, v.pools, group.stack) >= group.block_bytes;
}

}  // namespace

void holdLess(Adviser& c, const OomVerdict& v, std::optional<uint64_t> lacking) {
  std::vector<StackGroup> groups = groupByStack(c.trace, c.device.live.liveAt(v.step));
  auto first = std::find_if(groups.begin(), groups.end(), [&](const StackGroup& group) {
    return group.stack.valid() && !mayBeUnmapped(v, c.trace, group);
  });
  Advice& a = c.add(AdviceKind::kHoldLess);
  a.step = v.step;
  if (lacking)
    rest(a, "lacking_bytes", *lacking, Unit::kBytes, "request − free inside segments − driver");
  rest(a, "live_bytes", v.live_bytes, Unit::kBytes, atEvent(v));
  if (first != groups.end()) {
    a.stack = first->stack;
    rest(a, "largest_holder_bytes", first->block_bytes, Unit::kBytes,
         "live blocks by stack, " + atEvent(v));
    rest(a, "largest_holder_blocks", first->blocks, Unit::kCount,
         "live blocks by stack, " + atEvent(v));
  }
  if (v.last_phase && v.last_phase->live_bytes > 0) {
    a.annotation = v.last_phase->annotation;
    rest(a, "phase_bytes", v.last_phase->live_bytes, Unit::kBytes,
         fmt::format("live blocks born since step {}", withCommas(v.last_phase->begin_step)));
  }
}

// The request is the suspect: freeing more than is held is not possible.
void onNeverFits(Adviser& c, const OomVerdict& v, uint64_t too_many) {
  Advice& a = c.add(AdviceKind::kCheckRequest);
  a.step = v.step;
  a.stack = c.trace.events.stack[c.device.device.event_begin + v.step];
  rest(a, "request_bytes", *v.request_bytes, Unit::kBytes, "out-of-memory event");
  rest(a, "too_many_bytes", too_many, Unit::kBytes,
       v.total_bytes ? "request − size of the device"
                     : "request − the most that this process could have had");
}

void onCapacity(Adviser& c, const OomVerdict& v, uint64_t lacking) {
  Advice& a = c.add(AdviceKind::kNoSettingHelps);
  rest(a, "lacking_bytes", lacking, Unit::kBytes, "request − free inside segments − driver");
  holdLess(c, v, lacking);
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
  if (roundup) restOnWaste(c.add(AdviceKind::kNoRoundup));
  if (c.splitLimitSet()) {
    Advice& a = c.add(AdviceKind::kLargerSplitLimit);
    restOnWaste(a);
    rest(a, "max_split_bytes", c.rules.max_split_bytes, Unit::kBytes, "allocator settings");
  }
  if (c.canTryExpandable()) {
    restOnWaste(c.add(AdviceKind::kExpandable, "expandable_segments:True"));
  }
  holdLess(c, v, v.lackingBytes());
}

// The fewest equal parts that would all have fitted. Only where the bytes exist.
void smallerRequest(Adviser& c, const OomVerdict& v) {
  uint64_t request = *v.request_bytes;
  if (request < kMinSplitBytes) return;
  for (uint64_t parts = 2; parts <= kMaxParts; ++parts) {
    uint64_t part_bytes = c.rules.roundedBytes((request + parts - 1) / parts);
    if (partsThatFit(c, v, part_bytes) < parts) continue;
    Advice& a = c.add(AdviceKind::kSmallerRequest);
    a.stack = c.trace.events.stack[c.device.device.event_begin + v.step];
    a.step = v.step;
    rest(a, "request_bytes", request, Unit::kBytes, "out-of-memory event");
    std::string source = "fit test on the free blocks of its pool and stream, and the driver";
    rest(a, "parts", parts, Unit::kCount, source);
    rest(a, "part_bytes", part_bytes, Unit::kBytes, source);
    return;
  }
}

}  // namespace tidegauge::analysis
