// The bytes are in pieces: settings that split segments differently, or grow and release them by
// the page.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/oom/advice_rules.h"
#include "base/format.h"
#include "replay/verify.h"

namespace tidegauge::analysis {
namespace {

using base::withCommas;
using Unit = Evidence::Unit;

void restOnPieces(Advice& a, const OomVerdict& v) {
  if (v.missingBytes()) {
    rest(a, "missing_bytes", *v.missingBytes(), Unit::kBytes, "wanted segment − driver");
  }
  std::string source = "free inside segments, " + atEvent(v);
  if (v.pieces.count < v.free.count) source += ", less what other pools and streams could serve";
  rest(a, "free_bytes", v.pieces.bytes, Unit::kBytes, source);
  rest(a, "pieces", v.pieces.count, Unit::kCount, source);
  rest(a, "largest_piece_bytes", v.pieces.largest_bytes, Unit::kBytes, source);
}

void largerSplitLimit(Adviser& c, const OomVerdict& v) {
  const FreeList* list = v.free.find(v.key);
  if (list == nullptr) return;
  uint64_t forbidden = 0;
  for (const FreeBlock& block : list->blocks) {
    if (block.size_bytes >= *v.request_bytes && !c.rules.allows(*v.request_bytes, block.size_bytes))
      forbidden += block.size_bytes;
  }
  if (forbidden == 0) return;
  Advice& a = c.add(AdviceKind::kLargerSplitLimit);
  rest(a, "forbidden_bytes", forbidden, Unit::kBytes, "free blocks of its pool and stream");
  rest(a, "max_split_bytes", c.rules.max_split_bytes, Unit::kBytes, "allocator settings");
}

}  // namespace

// Without free memory in pieces, there is nothing to join or release: its pages are not smaller
// than the requested segment.
void tryExpandable(Adviser& c, const OomVerdict& v) {
  // A pool with an allocator of its own does not use them.
  bool has_own_allocator = mayHaveOwnAllocator(c.trace, v.key.pool);
  if (!c.canTryExpandable() || v.pieces.count == 0 || has_own_allocator) return;
  Advice& a = c.add(AdviceKind::kExpandable, "expandable_segments:True");
  restOnPieces(a, v);
}

void dropSplitLimit(Adviser& c) {
  Advice& a = c.add(AdviceKind::kNoSplitLimit, "expandable_segments:True");
  rest(a, "max_split_bytes", c.rules.max_split_bytes, Unit::kBytes, "allocator settings");
}

// Segments that are large enough for the request, but were split by smaller ones.
void splitLimit(Adviser& c, const OomVerdict& v) {
  uint64_t request = *v.request_bytes;
  if (c.splitLimitSet()) {
    largerSplitLimit(c, v);
    return;
  }
  // The limit must be above a large segment (20 MiB), and not above the request, so that segments
  // for such requests are not split for smaller ones.
  uint64_t limit_mib = request / kMiB;
  if (limit_mib <= replay::settingsOf(c.trace).large_segment_bytes / kMiB) return;
  SegmentedLayout layout(blocksAt(c.trace, c.device.device, c.device.live, v.step));
  uint64_t cut = 0, cut_free = 0;
  for (const SegmentContents& contents : layout.segments()) {
    if (!contents.segment.valid() || isExpandable(c.trace, contents.segment)) continue;
    uint64_t bytes = 0, free = 0, largest_live = 0;
    for (size_t i = 0; i < contents.blocks.size(); ++i) {
      uint64_t part = contents.bytesOf(i);
      bytes += part;
      if (isLive(contents.blocks[i])) {
        largest_live = std::max(largest_live, part);
      } else {
        free += part;
      }
    }
    if (bytes < request || free == 0 || largest_live >= limit_mib * kMiB) continue;
    ++cut;
    cut_free += free;
  }
  if (cut == 0) return;
  Advice& a = c.add(AdviceKind::kSplitLimit, fmt::format("max_split_size_mb:{}", limit_mib));
  rest(a, "cut_segments", cut, Unit::kCount, "segments of at least the request, " + atEvent(v));
  rest(a, "cut_free_bytes", cut_free, Unit::kBytes, "free in them");
}

void onReservedPeak(Adviser& c) {
  Peak peak = c.device.totals.peakReserved();
  if (peak.at_start) return;  // no setting changes what is older than the recording
  Totals then = c.device.totals.at(peak.step);
  uint64_t unused = then.reserved_bytes - std::min(then.reserved_bytes, then.active_bytes);
  if (unused < kWorthBytes || unused < then.reserved_bytes / 4) return;
  Pinned pinned = pinnedBy(
      c.trace, SegmentedLayout(blocksAt(c.trace, c.device.device, c.device.live, peak.step)));
  if (!c.canTryExpandable() || pinned.pinned_bytes < kWorthBytes) return;
  Advice& a = c.add(AdviceKind::kExpandable, "expandable_segments:True");
  a.step = peak.step;
  std::string source = fmt::format("state at step {}", withCommas(peak.step));
  rest(a, "unused_bytes", unused, Unit::kBytes, source);
  rest(a, "reserved_bytes", then.reserved_bytes, Unit::kBytes, source);
  rest(a, "pinned_bytes", pinned.pinned_bytes, Unit::kBytes, source);
}

}  // namespace tidegauge::analysis
