#include "analysis/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/layout/allocator_rules.h"

namespace tidegauge::analysis {
namespace {

using Severity = Finding::Severity;

Evidence bytes(std::string name, uint64_t value) {
  return {std::move(name), value, Evidence::Unit::kBytes, {}};
}
Evidence count(std::string name, uint64_t value) {
  return {std::move(name), value, Evidence::Unit::kCount, {}};
}

class Finder {
 public:
  Finder(const AnalysedTrace& analysed, const DeviceSummary& summary)
      : analysed_(analysed), summary_(summary), ordinal_(summary.device->device.ordinal) {}

  void onIncomplete(const model::Incomplete& incomplete) {
    if (!incomplete.any()) return;
    add({.kind = FindingKind::kIncomplete, .severity = Severity::kHigh, .sql = kIncompleteSql});
  }

  void onExplainedOom() {
    const OomReport& oom = summary_.ooms[summary_.explained_oom];
    Finding refused{.kind = FindingKind::kOutOfMemory,
                    .severity = Severity::kHigh,
                    .figures = {count("step", oom.step),
                                count("refused_requests", refusedRequests(summary_.ooms))},
                    .sql = oomSql(fmt::format(
                        "step, requested_bytes, (SELECT sum(ifnull(refusals, 1)) FROM ooms({})) AS "
                        "refused_requests",
                        ordinal_)),
                    .in_story = true};
    if (oom.requested_bytes)
      refused.figures.push_back(bytes("requested_bytes", *oom.requested_bytes));
    add(std::move(refused));
    if (oom.given_back_segments == 0) return;
    add({.kind = FindingKind::kGivenBack,
         .severity = Severity::kMedium,
         .figures = {count("given_back_segments", oom.given_back_segments),
                     bytes("given_back_bytes", oom.given_back_bytes)},
         .sql = oomSql("given_back_segments, given_back_bytes"),
         .in_story = true});
  }

  void onTheEnd() {
    const FreeSums& free = summary_.final_free;
    if (summary_.final.reserved_bytes <= summary_.final.active_bytes || free.pinned_bytes == 0)
      return;
    Step steps = summary_.device->totals.steps();
    add({.kind = FindingKind::kPinnedAtEnd,
         .severity = Severity::kMedium,
         .figures = {count("pinned_segments", free.pinned_segments),
                     bytes("pinned_bytes", free.pinned_bytes)},
         .sql = fmt::format("SELECT pinned_segments, pinned_bytes FROM free_parts({}, {})",
                            ordinal_, steps == 0 ? 0 : steps - 1),
         .in_story = true});
  }

  void onThePeak() {
    if (summary_.only_state) return;  // no peak is known, and everything is older
    uint64_t older =
        countOf(model::Provenance::kBeforeRecording) + countOf(model::Provenance::kGhost);
    if (summary_.at_peak.older_bytes > 0)
      atPeak(FindingKind::kOlder, older, summary_.at_peak.older_bytes,
             "'before_recording', 'ghost'");
    if (summary_.at_peak.lost_bytes > 0)
      atPeak(FindingKind::kLost, countOf(model::Provenance::kLost), summary_.at_peak.lost_bytes,
             "'lost'");
    if (summary_.peak.uncertain_bytes > 0 && !summary_.peak.active_bounds)
      add({.kind = FindingKind::kUncertainPeak,
           .figures = {bytes("peak_uncertain_bytes", summary_.peak.uncertain_bytes)},
           .sql = fmt::format("SELECT peak_uncertain_bytes FROM devices WHERE device = {}",
                              ordinal_)});
  }

  void onContradictions() {
    for (const Identity& identity : summary_.identities) {
      if (identity.holds) continue;
      // High: the other numbers cannot be trusted more than these.
      add({.kind = FindingKind::kContradiction,
           .severity = Severity::kHigh,
           .figures = {bytes("difference_bytes", identity.difference_bytes)},
           .sql = fmt::format("SELECT * FROM identities({}) WHERE name = '{}'", ordinal_,
                              identity.name),
           .contradicted = &identity});
    }
  }

  void onMissingEvents(bool has_verdict) {
    if (summary_.only_state && !has_verdict)
      add({.kind = FindingKind::kOnlyState, .severity = Severity::kMedium});
    bool overflow =
        std::ranges::any_of(analysed_.trace.issues.all(), [this](const model::Issue& issue) {
          return issue.kind == model::IssueKind::kRingOverflow &&
                 (issue.device == model::Issue::kNoDevice || issue.device == ordinal_);
        });
    if (overflow) add({.kind = FindingKind::kRingOverflow, .severity = Severity::kMedium});
  }

  // Source: CUDACachingAllocator, PyTorch 2.15.
  void onSettings() {
    if (allocatorOf(summary_.device->device) != AllocatorKind::kCaching) return;
    const model::AllocatorSettings& settings = analysed_.trace.settings;
    // Only PyTorch 2.15 and later write this setting.
    bool is_new = std::ranges::any_of(settings.items,
                                      [](const auto& it) { return it.first == "max_cached_size"; });
    if (confValue(settings.conf, "throw_on_cudamalloc_oom") == "True")
      add({.kind = FindingKind::kSilentRefusals, .setting = "throw_on_cudamalloc_oom"});
    else if (settings.expandable_segments && is_new)
      add({.kind = FindingKind::kSilentRefusals, .setting = "expandable_segments"});
  }

  std::vector<Finding> take() {
    std::ranges::stable_sort(findings_, {}, &Finding::severity);
    return std::move(findings_);
  }

 private:
  void add(Finding finding) { findings_.push_back(std::move(finding)); }

  uint64_t countOf(model::Provenance provenance) const {
    return summary_.allocations_by_provenance[static_cast<size_t>(provenance)];
  }

  std::string oomSql(std::string_view what) const {
    return fmt::format("SELECT {} FROM ooms({}) WHERE step = {}", what, ordinal_,
                       summary_.ooms[summary_.explained_oom].step);
  }

  void atPeak(FindingKind kind, uint64_t blocks, uint64_t peak_bytes,
              std::string_view provenances) {
    add({.kind = kind,
         .severity = Severity::kMedium,
         .figures = {bytes("peak_bytes", peak_bytes), count("blocks", blocks)},
         .sql =
             fmt::format("SELECT (SELECT ifnull(sum(block_bytes), 0) FROM live_at({0}, {1}) WHERE "
                         "provenance IN ({2})) AS peak_bytes, count(*) AS blocks FROM "
                         "allocations WHERE device = {0} AND provenance IN ({2})",
                         ordinal_, summary_.peak.active.place(), provenances)});
  }

  const AnalysedTrace& analysed_;
  const DeviceSummary& summary_;
  int32_t ordinal_;
  std::vector<Finding> findings_;
};

}  // namespace

std::string_view name(FindingKind kind) {
  constexpr std::array<std::string_view, 11> kNames = {
      "incomplete",     "out_of_memory", "given_back", "pinned_at_end", "before_recording", "lost",
      "uncertain_peak", "contradiction", "only_state", "ring_overflow", "silent_refusals"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view name(Finding::Severity severity) {
  constexpr std::array<std::string_view, 3> kNames = {"high", "medium", "low"};
  return kNames[static_cast<size_t>(severity)];
}

std::optional<uint64_t> Finding::find(std::string_view figure) const {
  auto found = std::ranges::find(figures, figure, &Evidence::name);
  return found == figures.end() ? std::nullopt : std::optional(found->value);
}

std::vector<Finding> findingsOf(const AnalysedTrace& analysed, const DeviceSummary& summary,
                                const model::Incomplete& incomplete, bool has_verdict) {
  Finder finder(analysed, summary);
  finder.onIncomplete(incomplete);
  if (has_verdict) finder.onExplainedOom();
  finder.onTheEnd();
  finder.onThePeak();
  finder.onContradictions();
  finder.onMissingEvents(has_verdict);
  finder.onSettings();
  return finder.take();
}

}  // namespace tidegauge::analysis
