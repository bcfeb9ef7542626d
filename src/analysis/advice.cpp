#include "analysis/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/format.h"
#include "base/sizes.h"

namespace tidegauge::analysis {
namespace {

using base::counted;
using base::humanBytes;
using base::withCommas;
using Unit = Evidence::Unit;

constexpr uint64_t kMiB = uint64_t{1} << 20;
// Without an out-of-memory event less than this is not worth a word.
constexpr uint64_t kWorthBytes = 256 * kMiB;

class Adviser {
 public:
  Adviser(const AnalysedTrace& analysed, const DeviceAnalysis& device)
      : analysed_(analysed),
        trace_(analysed.trace),
        device_(device),
        settings_(trace_.settings),
        rules_(rulesOf(analysed.trace)) {}

  std::vector<Advice> onOom(const OomVerdict& v) {
    for (const VerdictRow& row : v.rows) {
      switch (row.verdict) {
        case Verdict::kCapacity:
          onCapacity(v, row.bytes);
          break;
        case Verdict::kWaste:
          onWaste(v);
          break;
        case Verdict::kFragmentation:
          onFragmentation(v);
          break;
        case Verdict::kOtherPool:
          onOtherPool(v);
          break;
        case Verdict::kOthers:
          onOthers(v, row.bytes);
          break;
        case Verdict::kCap:
          onCap(v);
          break;
        case Verdict::kFlaw:
          onFlaw(v, row.bytes);
          break;
      }
    }
    onSettings();
    return std::move(advice_);
  }

  std::vector<Advice> onUnused() {
    if (device_.device.kind == model::DeviceKind::kGpu) {
      onReservedPeak();
      onReleasableAtTheEnd();
      onSettings();
    }
    return std::move(advice_);
  }

 private:
  Advice& add(AdviceKind kind, std::string text, std::string setting = {}) {
    advice_.push_back({.kind = kind, .text = std::move(text), .setting = std::move(setting)});
    return advice_.back();
  }

  static void rest(Advice& advice, std::string name, uint64_t value, Unit unit,
                   std::string source) {
    advice.evidence.push_back({std::move(name), value, unit, std::move(source)});
  }

  static std::string atEvent(const OomVerdict& v) {
    return fmt::format("state at step {}", withCommas(v.step));
  }

  // Whether the allocator that wrote the file has the setting. Absent: nobody knows.
  std::optional<bool> has(std::string_view setting) const {
    if (!settings_.present) return std::nullopt;
    return std::any_of(settings_.items.begin(), settings_.items.end(),
                       [&](const auto& item) { return item.first == setting; });
  }

  bool splitLimitSet() const { return rules_.max_split_bytes != model::kUnknownBytes; }

  void onCapacity(const OomVerdict& v, uint64_t lacking) {
    Advice& a = add(AdviceKind::kNoSettingHelps,
                    fmt::format("No allocator setting helps: capacity. Even with every free byte "
                                "in one piece {} would be missing.",
                                humanBytes(lacking)));
    rest(a, "lacking_bytes", lacking, Unit::kBytes, "request − free inside segments − driver");
    holdLess(v, lacking);
    smallerRequest(v);
  }

  void onWaste(const OomVerdict& v) {
    bool roundup = std::any_of(settings_.roundup_power2_divisions.begin(),
                               settings_.roundup_power2_divisions.end(),
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
      restOnWaste(add(AdviceKind::kNoRoundup,
                      "Try without roundup_power2_divisions, or with more divisions: it makes "
                      "blocks larger than their requests."));
    }
    if (splitLimitSet()) {
      restOnWaste(add(AdviceKind::kLargerSplitLimit,
                      fmt::format("Try a larger max_split_size_mb, or none: blocks of {} and more "
                                  "are handed out whole.",
                                  humanBytes(rules_.max_split_bytes))));
    }
    if (canTryExpandable()) {
      restOnWaste(add(AdviceKind::kExpandable,
                      "Try expandable_segments:True: its blocks are cut to what was asked for, "
                      "others keep an end that is too small to be a block of its own.",
                      "expandable_segments:True"));
    }
    holdLess(v, v.lackingBytes());
    smallerRequest(v);
  }

  void holdLess(const OomVerdict& v, uint64_t lacking) {
    std::vector<StackGroup> groups = groupByStack(trace_, device_.live.liveAt(v.step));
    std::string holder;
    auto first = std::find_if(groups.begin(), groups.end(),
                              [](const StackGroup& group) { return group.stack.valid(); });
    if (first != groups.end()) {
      holder = fmt::format(" Most is held by {}: {} in {}.", analysed_.labels.label(first->stack),
                           humanBytes(first->block_bytes), counted(first->blocks, "block"));
    }
    std::string phase;
    if (v.last_phase && v.last_phase->live_bytes > 0) {
      phase = fmt::format(" {} of what is live was allocated in the phase at hand, {}.",
                          humanBytes(v.last_phase->live_bytes),
                          trace_.strings.text(trace_.annotations.name[v.last_phase->annotation]));
    }
    Advice& a = add(AdviceKind::kHoldLess,
                    fmt::format("Try a smaller batch, or free or recompute something before this "
                                "point: at least {} must go.{}{}",
                                humanBytes(lacking), holder, phase));
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

  // What would have been served instead: the largest piece that its pool has, or what the driver
  // gives.
  void smallerRequest(const OomVerdict& v) {
    const FreeList* list = v.free.find(v.key);
    uint64_t from_cache = list == nullptr ? 0 : largestRequest(rules_, *list);
    uint64_t from_driver = largestFromDriver(v);
    uint64_t most = std::max(from_cache, from_driver);
    if (most < *v.request_bytes / 8 || most < kMiB || most >= *v.request_bytes) return;
    uint64_t parts = *v.request_bytes / most + (*v.request_bytes % most != 0);
    std::string where = trace_.events.stack[device_.device.event_begin + v.step].valid()
                            ? " at " + analysed_.labels.label(
                                           trace_.events.stack[device_.device.event_begin + v.step])
                            : std::string();
    std::vector<std::string> sizes = base::inOneUnit({*v.request_bytes, most});
    Advice& a =
        add(AdviceKind::kSmallerRequest,
            fmt::format("Try to split the request{}: {} in one piece did not fit, {} "
                        "would have{}.",
                        where, sizes[0], sizes[1], parts == 2 ? ", more than a half of it" : ""));
    a.step = v.step;
    rest(a, "request_bytes", *v.request_bytes, Unit::kBytes, "out-of-memory event");
    rest(a, "largest_servable_bytes", most, Unit::kBytes,
         from_cache >= from_driver ? "fit test on the free blocks of its pool and stream"
                                   : "free in the driver, in whole segments");
  }

  uint64_t largestFromDriver(const OomVerdict& v) const {
    if (!v.driver_bytes) return 0;
    bool small = rules_.isSmall(*v.request_bytes);
    uint64_t unit = rules_.expandable ? rules_.pageBytes(small) : 2 * kMiB;
    uint64_t bytes = *v.driver_bytes / unit * unit;
    if (rules_.expandable) return bytes;
    return bytes >= rules_.segmentBytes(bytes) ? bytes : 0;
  }

  bool canTryExpandable() const {
    return !rules_.expandable && has("expandable_segments").value_or(true);
  }

  void onFragmentation(const OomVerdict& v) {
    tryExpandable(v);
    if (rules_.expandable && splitLimitSet()) dropSplitLimit();
    if (!rules_.expandable) splitLimit(v);
    flushAtTheTrough(v);
    smallerRequest(v);
  }

  void restOnPieces(Advice& a, const OomVerdict& v) const {
    if (v.missingBytes()) {
      rest(a, "missing_bytes", *v.missingBytes(), Unit::kBytes, "wanted segment − driver");
    }
    std::string source = "free inside segments, " + atEvent(v);
    if (v.pieces.count < v.free.count) source += ", less what other pools and streams could serve";
    rest(a, "free_bytes", v.pieces.bytes, Unit::kBytes, source);
    rest(a, "pieces", v.pieces.count, Unit::kCount, source);
    rest(a, "largest_piece_bytes", v.pieces.largest_bytes, Unit::kBytes, source);
  }

  // Where nothing lies free in pieces, there is nothing to join or to return: its pages are no
  // smaller than the segment that was wanted.
  void tryExpandable(const OomVerdict& v) {
    if (!canTryExpandable() || v.pieces.count == 0) return;
    std::string version = settings_.present ? "" : " It needs PyTorch 2.1 or newer.";
    Advice& a =
        add(AdviceKind::kExpandable,
            fmt::format("Try expandable_segments:True: {} lay free in {}, and its segments "
                        "grow in place and are returned page by page.{}",
                        humanBytes(v.pieces.bytes), counted(v.pieces.count, "piece"), version),
            "expandable_segments:True");
    restOnPieces(a, v);
  }

  void dropSplitLimit() {
    Advice& a = add(AdviceKind::kNoSplitLimit,
                    fmt::format("Try expandable_segments without max_split_size_mb: requests below "
                                "{} may not use free stretches of that size or more, and map new "
                                "pages instead.",
                                humanBytes(rules_.max_split_bytes)),
                    "expandable_segments:True");
    rest(a, "max_split_bytes", rules_.max_split_bytes, Unit::kBytes, "allocator settings");
  }

  // Segments that are large enough for the request, but were cut up by smaller ones.
  void splitLimit(const OomVerdict& v) {
    uint64_t request = *v.request_bytes;
    if (splitLimitSet()) {
      largerSplitLimit(v);
      return;
    }
    // The limit must lie above 20 MiB, and not above the request, so that the segments that hold
    // such requests are not split for smaller ones.
    uint64_t limit_mib = request / kMiB;
    if (limit_mib <= 20) return;
    SegmentedLayout layout(blocksAt(trace_, device_.device, device_.live, v.step));
    uint64_t cut = 0, cut_free = 0;
    for (const SegmentContents& contents : layout.segments()) {
      if (!contents.segment.valid() || isExpandable(trace_, contents.segment)) continue;
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
    Advice& a = add(AdviceKind::kSplitLimit,
                    fmt::format("Try max_split_size_mb:{}: {} large enough for the request {} cut "
                                "up by smaller blocks, {} in them are free. It can also raise what "
                                "is reserved.",
                                limit_mib, counted(cut, "segment"), cut == 1 ? "is" : "are",
                                humanBytes(cut_free)),
                    fmt::format("max_split_size_mb:{}", limit_mib));
    rest(a, "cut_segments", cut, Unit::kCount, "segments of at least the request, " + atEvent(v));
    rest(a, "cut_free_bytes", cut_free, Unit::kBytes, "free in them");
  }

  void largerSplitLimit(const OomVerdict& v) {
    const FreeList* list = v.free.find(v.key);
    if (list == nullptr) return;
    uint64_t forbidden = 0;
    for (const FreeBlock& block : list->blocks) {
      if (block.size_bytes >= *v.request_bytes &&
          !rules_.allows(*v.request_bytes, block.size_bytes))
        forbidden += block.size_bytes;
    }
    if (forbidden == 0) return;
    Advice& a = add(AdviceKind::kLargerSplitLimit,
                    fmt::format("Try a larger max_split_size_mb, or none: {} of free blocks were "
                                "large enough, but the limit of {} forbids them for this request.",
                                humanBytes(forbidden), humanBytes(rules_.max_split_bytes)));
    rest(a, "forbidden_bytes", forbidden, Unit::kBytes, "free blocks of its pool and stream");
    rest(a, "max_split_bytes", rules_.max_split_bytes, Unit::kBytes, "allocator settings");
  }

  // Where little was live, much of the cache could have gone back, to be cut anew.
  void flushAtTheTrough(const OomVerdict& v) {
    std::optional<Step> trough = troughBefore(v);
    if (!trough) return;
    Totals then = device_.totals.at(*trough);
    SegmentedLayout layout(blocksAt(trace_, device_.device, device_.live, *trough));
    uint64_t releasable = pinnedBy(trace_, layout).releasable_bytes;
    if (releasable < std::max(v.missingBytes().value_or(0), v.reserved_bytes / 20)) return;
    std::string phase;
    std::vector<uint32_t> around = phasesAt(device_.phases, *trough);
    if (!around.empty()) {
      phase =
          fmt::format(", in phase {}", trace_.strings.text(trace_.annotations.name[around.back()]));
    }
    Advice& a = add(AdviceKind::kEmptyCache,
                    fmt::format("Try torch.cuda.empty_cache() where least is live (step {}{}): {} "
                                "were live there, and {} of the cache could have gone back.",
                                withCommas(*trough), phase, humanBytes(then.active_bytes),
                                humanBytes(releasable)));
    a.step = trough;
    rest(a, "releasable_bytes", releasable, Unit::kBytes,
         fmt::format("whole free segments and pages at step {}", withCommas(*trough)));
    rest(a, "active_bytes", then.active_bytes, Unit::kBytes,
         fmt::format("totals at step {}", withCommas(*trough)));
  }

  // The least live state since the cache was last flushed and the program held half of what it
  // held at the event.
  std::optional<Step> troughBefore(const OomVerdict& v) const {
    uint64_t high = v.live_bytes;
    Step end = v.before_step ? *v.before_step + 1 : v.step;
    Step begin = end;
    for (; begin > 0; --begin) {
      model::Action action = trace_.events.action[device_.device.event_begin + begin - 1];
      if (action == model::Action::kSegmentFree || action == model::Action::kSegmentUnmap) break;
    }
    bool warm = false;
    uint64_t least = UINT64_MAX;
    Step at = 0;
    device_.totals.forEach(begin, end, [&](Step step, const Totals& totals) {
      warm |= totals.active_bytes >= high / 2;
      if (!warm || totals.active_bytes >= least) return;
      least = totals.active_bytes;
      at = step;
    });
    if (least > high / 5 * 4) return std::nullopt;
    return at;
  }

  void onOtherPool(const OomVerdict& v) {
    uint64_t in_pools = 0, on_streams = 0;
    for (const FreeList& list : v.free.lists) {
      for (const FreeBlock& block : list.blocks) {
        if (!v.isElsewhere(list, block)) continue;
        (list.key.pool != v.key.pool ? in_pools : on_streams) += block.size_bytes;
      }
    }
    if (in_pools > 0) {
      Advice& a = add(AdviceKind::kPool,
                      fmt::format("Try to share or to release memory pools: {} in free blocks that "
                                  "are large enough lie in other pools (CUDA graphs, MemPool) than "
                                  "the request's.",
                                  humanBytes(in_pools)));
      rest(a, "other_pool_bytes", in_pools, Unit::kBytes, "free blocks, " + atEvent(v));
    }
    if (on_streams > 0) {
      Advice& a = add(AdviceKind::kStream,
                      fmt::format("Try to allocate on one stream, with record_stream() where "
                                  "another uses the tensor: {} in free blocks that are large "
                                  "enough belong to other streams than the request's.",
                                  humanBytes(on_streams)));
      rest(a, "other_stream_bytes", on_streams, Unit::kBytes, "free blocks, " + atEvent(v));
    }
  }

  void onOthers(const OomVerdict& v, uint64_t bytes) {
    Advice& a =
        add(AdviceKind::kOtherProcesses,
            fmt::format("Look for what else is on the device (nvidia-smi): {}{} lie outside this "
                        "allocator.",
                        v.total_bytes ? "" : "at least ", humanBytes(bytes)));
    rest(a, "other_bytes", bytes, Unit::kBytes,
         v.total_bytes
             ? "device total − reserved − driver"
             : "most that this process could have had at another step − reserved − driver");
  }

  void onCap(const OomVerdict& v) {
    Advice& a = add(AdviceKind::kMemoryFraction,
                    fmt::format("Try a larger memory fraction (set_per_process_memory_fraction): "
                                "the driver had {} and {} were wanted.",
                                humanBytes(*v.driver_bytes), humanBytes(*v.wanted_bytes)));
    rest(a, "driver_bytes", *v.driver_bytes, Unit::kBytes, "out-of-memory event");
    rest(a, "wanted_bytes", *v.wanted_bytes, Unit::kBytes, "segment for the request");
    if (v.cap->would_fit != true) return;
    tryExpandable(v);
    flushAtTheTrough(v);
  }

  void onFlaw(const OomVerdict& v, uint64_t bytes) {
    Advice& a = add(AdviceKind::kTryAgain,
                    fmt::format("Try the same request again: a free block of {} fits, but the "
                                "allocator does not search again after its flush.",
                                humanBytes(bytes)));
    a.step = v.step;
    rest(a, "fitting_bytes", bytes, Unit::kBytes, "fit test, " + atEvent(v));
  }

  void onReservedPeak() {
    Peak peak = device_.totals.peakReserved();
    Totals then = device_.totals.at(peak.step);
    uint64_t unused = then.reserved_bytes - std::min(then.reserved_bytes, then.active_bytes);
    if (unused < kWorthBytes || unused < then.reserved_bytes / 4) return;
    Pinned pinned = pinnedBy(
        trace_, SegmentedLayout(blocksAt(trace_, device_.device, device_.live, peak.step)));
    if (!canTryExpandable() || pinned.pinned_bytes < kWorthBytes) return;
    Advice& a = add(AdviceKind::kExpandable,
                    fmt::format("Try expandable_segments:True: at the reserved peak {} of {} were "
                                "not live, {} of them pinned by live blocks.{}",
                                humanBytes(unused), humanBytes(then.reserved_bytes),
                                humanBytes(pinned.pinned_bytes),
                                settings_.present ? "" : " It needs PyTorch 2.1 or newer."),
                    "expandable_segments:True");
    a.step = peak.step;
    std::string source = fmt::format("state at step {}", withCommas(peak.step));
    rest(a, "unused_bytes", unused, Unit::kBytes, source);
    rest(a, "reserved_bytes", then.reserved_bytes, Unit::kBytes, source);
    rest(a, "pinned_bytes", pinned.pinned_bytes, Unit::kBytes, source);
  }

  void onReleasableAtTheEnd() {
    Totals last = device_.totals.last();
    Pinned pinned = pinnedBy(
        trace_, SegmentedLayout(blocksAt(trace_, device_.device, device_.live, model::kNoStep)));
    uint64_t releasable = pinned.releasable_bytes;
    if (releasable < kWorthBytes || releasable < last.reserved_bytes / 4) return;
    Advice& a = add(AdviceKind::kEmptyCache,
                    fmt::format("If others need the memory, try torch.cuda.empty_cache(): at the "
                                "end {} of {} reserved are whole free segments or pages.",
                                humanBytes(releasable), humanBytes(last.reserved_bytes)));
    if (device_.totals.steps() > 0) a.step = device_.totals.steps() - 1;
    rest(a, "releasable_bytes", releasable, Unit::kBytes, "whole free segments and pages, the end");
    rest(a, "reserved_bytes", last.reserved_bytes, Unit::kBytes, "totals at the end");
  }

  // Settings that do not do what one may think.
  void onSettings() {
    bool gc = rules_.gc_threshold && *rules_.gc_threshold > 0 && *rules_.gc_threshold < 1;
    if (gc && !rules_.memory_fraction) {
      Advice& a = add(AdviceKind::kGcNeedsFraction,
                      fmt::format("garbage_collection_threshold:{} does nothing unless a memory "
                                  "fraction below 1 is set too; the file does not say whether one "
                                  "is.",
                                  *rules_.gc_threshold));
      rest(a, "gc_threshold_percent", static_cast<uint64_t>(*rules_.gc_threshold * 100 + 0.5),
           Unit::kPercent, "PYTORCH_CUDA_ALLOC_CONF");
    }
    bool said = std::any_of(advice_.begin(), advice_.end(),
                            [](const Advice& a) { return a.kind == AdviceKind::kNoSplitLimit; });
    if (rules_.expandable && splitLimitSet() && !said) dropSplitLimit();
  }

  const AnalysedTrace& analysed_;
  const model::Trace& trace_;
  const DeviceAnalysis& device_;
  const model::AllocatorSettings& settings_;
  AllocatorRules rules_;
  std::vector<Advice> advice_;
};

}  // namespace

std::string_view name(AdviceKind kind) {
  constexpr std::array<std::string_view, 15> kNames = {"no_setting_helps",
                                                       "hold_less",
                                                       "smaller_request",
                                                       "expandable_segments",
                                                       "max_split_size",
                                                       "larger_max_split_size",
                                                       "no_max_split_size",
                                                       "no_roundup",
                                                       "empty_cache",
                                                       "pool",
                                                       "stream",
                                                       "memory_fraction",
                                                       "gc_needs_fraction",
                                                       "try_again",
                                                       "other_processes"};
  return kNames[static_cast<size_t>(kind)];
}

std::vector<Advice> adviceOn(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                             const OomVerdict& verdict) {
  return Adviser(analysed, device).onOom(verdict);
}

std::vector<Advice> adviceOn(const AnalysedTrace& analysed, const DeviceAnalysis& device) {
  return Adviser(analysed, device).onUnused();
}

}  // namespace tidegauge::analysis
