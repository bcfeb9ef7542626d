#include "view/filter/filter.h"

#include <algorithm>

namespace tidegauge::view {
namespace {

using analysis::Step;

// Steps [begin, end) in which a phase of that name is open, joined and sorted.
class OpenPhases {
 public:
  OpenPhases(const model::Trace& trace, const std::vector<analysis::Phase>& phases,
             const analysis::TextPattern& pattern) {
    for (const analysis::Phase& phase : phases) {  // by begin_step
      if (phase.begin_step >= phase.end_step) continue;
      if (!pattern.matches(trace.strings.text(trace.annotations.name[phase.annotation]))) continue;
      if (!ranges_.empty() && phase.begin_step <= ranges_.back().end) {
        ranges_.back().end = std::max(ranges_.back().end, phase.end_step);
      } else {
        ranges_.push_back({phase.begin_step, phase.end_step});
      }
    }
  }
  bool at(Step step) const {
    auto range = std::partition_point(ranges_.begin(), ranges_.end(),
                                      [&](const Range& r) { return r.end <= step; });
    return range != ranges_.end() && range->begin <= step;
  }

 private:
  struct Range {
    Step begin;
    Step end;
  };
  std::vector<Range> ranges_;
};

// One term, applied to the rows of one device.
class TermMatch {
 public:
  TermMatch(const analysis::AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
            const FilterTerm& term)
      : analysed_(analysed),
        a_(analysed.trace.allocations),
        term_(term),
        ordinal_(device.device.ordinal),
        steps_(device.device.steps()) {
    const model::Trace& trace = analysed.trace;
    if (term.key == FilterKey::kStack) {
      stacks_ = analysis::stacksWith(trace, analysis::matchingFrames(trace, *term.text));
    } else if (term.key == FilterKey::kFrame) {
      std::vector<bool> frames(trace.frames.size());
      for (int64_t frame : term.values) {
        if (frame >= 0 && static_cast<uint64_t>(frame) < frames.size()) {
          frames[static_cast<size_t>(frame)] = true;
        }
      }
      stacks_ = analysis::stacksWith(trace, frames);
    } else if (term.key == FilterKey::kPhase) {
      phases_.emplace(trace, device.phases, *term.text);
    }
  }

  bool has(uint32_t row) const { return holds(row) != term_.negated; }

 private:
  bool listed(int64_t value) const {
    return std::find(term_.values.begin(), term_.values.end(), value) != term_.values.end();
  }
  bool inRange(uint64_t value) const { return term_.least <= value && value <= term_.most; }

  bool holds(uint32_t row) const {
    switch (term_.key) {
      case FilterKey::kDevice:
        return listed(ordinal_);
      case FilterKey::kStream:
        return listed(a_.stream[row].value);
      case FilterKey::kPool:
        return a_.pool[row].valid() && listed(a_.pool[row].value);
      case FilterKey::kProvenance:
        return listed(static_cast<int64_t>(a_.provenance[row]));
      case FilterKey::kCategory:
        return listed(static_cast<int64_t>(analysed_.categories->of(row)));
      case FilterKey::kSize:
        return inRange(a_.block_bytes[row]);
      case FilterKey::kRequested:
        return inRange(a_.requested_bytes[row]);
      case FilterKey::kLife:
        return inRange(a_.last_step[row] - std::min(a_.first_step[row], a_.last_step[row]));
      case FilterKey::kBorn:
        return a_.has(row, model::kAllocSeen) && inRange(a_.first_step[row]);
      case FilterKey::kFreed:
        return a_.last_step[row] < steps_ && inRange(a_.last_step[row]);
      case FilterKey::kLive:
        return isLiveAtOne(row);
      case FilterKey::kStack:
      case FilterKey::kFrame:
        return a_.stack[row].valid() && stacks_[a_.stack[row].index()];
      case FilterKey::kPhase:
        return a_.has(row, model::kAllocSeen) && phases_->at(a_.first_step[row]);
      case FilterKey::kStackId:
        return a_.stack[row].valid() && listed(a_.stack[row].value);
      case FilterKey::kSegment:
        return a_.segment[row].valid() && listed(a_.segment[row].value);
      case FilterKey::kId:
        return listed(row);
    }
    return false;
  }

  // A step beyond the end is the last state; a device without events has only that.
  bool isLiveAtOne(uint32_t row) const {
    if (steps_ == 0) return true;
    return std::any_of(term_.values.begin(), term_.values.end(), [&](int64_t value) {
      if (value < 0) return false;
      auto step = static_cast<Step>(std::min<int64_t>(value, steps_ - 1));
      return analysis::liveAfter(analysed_.trace, row, step);
    });
  }

  const analysis::AnalysedTrace& analysed_;
  const model::Allocations& a_;
  const FilterTerm& term_;
  int64_t ordinal_;
  Step steps_;
  std::vector<bool> stacks_;
  std::optional<OpenPhases> phases_;
};

}  // namespace

FilterSet applyFilter(const analysis::AnalysedTrace& analysed, const Filter& filter) {
  const model::Allocations& a = analysed.trace.allocations;
  FilterSet set(a.size());
  for (const auto& device : analysed.devices) {
    std::vector<TermMatch> terms;
    for (const FilterTerm& term : filter.terms) terms.emplace_back(analysed, *device, term);
    for (uint64_t row = device->device.allocation_begin; row < device->device.allocation_end;
         ++row) {
      auto has = [&](const TermMatch& term) { return term.has(static_cast<uint32_t>(row)); };
      if (std::all_of(terms.begin(), terms.end(), has)) set.add(row, a.block_bytes[row]);
    }
  }
  return set;
}

}  // namespace tidegauge::view
