#include "report/recording/lack_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/sizes.h"

namespace tidegauge::report {
namespace {

using analysis::PeakReport;
using base::humanBytes;
using model::Action;
using model::Bound;

constexpr const char* kSkipActions = "skip_actions";

// "alloc", "free_requested and free_completed"
std::string kindsOf(model::ActionSet actions) {
  std::string names = model::namesOf(actions);
  size_t comma = names.rfind(", ");
  if (comma != std::string::npos) names.replace(comma, 2, " and ");
  return names;
}

bool hasIssue(const analysis::AnalysedTrace& analysed, model::IssueKind kind, int32_t device) {
  const std::vector<model::Issue>& issues = analysed.trace.issues.all();
  return std::any_of(issues.begin(), issues.end(), [&](const model::Issue& issue) {
    return issue.kind == kind && issue.device == device;
  });
}

std::string whatFollows(const model::Device& device, const PeakReport& peak) {
  std::string words;
  if (peak.bounds.active == Bound::kAtMost) {
    words +=
        " The life of a block is known at one end only, so it is drawn as long as it can have "
        "been.";
  } else if (peak.bounds.active == Bound::kAtLeast) {
    words += " A block counts as active until its free was requested.";
  } else if (peak.bounds.allocated == Bound::kAtMost) {
    words += " A block counts as allocated until its free was completed.";
  }
  if (peak.bounds.reserved == Bound::kAtLeast) {
    words += " Only memory that blocks prove is drawn as reserved.";
    if (peak.bounds.active == Bound::kExact)
      words += " The sizes of blocks follow from their requests, so they may be larger.";
  } else if (device.missing.touches(model::kSegmentDeaths)) {
    words += " A segment is drawn until another takes its place.";
  }
  return words + " The end comes from the final state.";
}

}  // namespace

std::vector<std::string> lackWords(const PeakReport& peak, bool knows_requests) {
  std::vector<std::string> words;
  const model::Bounds& bounds = peak.bounds;
  auto any = [&](Bound bound) {
    return bounds.active == bound || bounds.allocated == bound || bounds.reserved == bound;
  };
  if (any(Bound::kAtMost)) words.emplace_back("≤: at most, because kinds of events are missing");
  if (any(Bound::kAtLeast)) {
    words.emplace_back("≥: at least, because kinds of events are missing");
  } else if (peak.is_at_least) {
    words.emplace_back(
        peak.uncertain_bytes > 0 && !peak.is_order_uncertain
            ? "≥: at least, because some block sizes are inferred from their requests"
            : "≥: at least, because block sizes are inferred, or events are missing");
  }
  if (!knows_requests) {
    words.emplace_back(
        "requested: unknown, because PyTorch rounds pinned memory up to a power of two and records "
        "only the result; the program requested more than half of each such block");
  }
  return words;
}

std::vector<Sentence> lackSentences(const analysis::AnalysedTrace& analysed,
                                    const analysis::DeviceSummary& summary) {
  std::vector<Sentence> sentences;
  const model::Device& device = summary.device->device;
  if (!device.missing.empty()) {
    sentences.push_back(
        {{plain("The recording lacks "), strong(kindsOf(device.missing)),
          plain(" events, although they happened, probably because of "), code(kSkipActions),
          plain("." + whatFollows(device, summary.peak))},
         {},
         fmt::format("SELECT missing_actions, peak_active_bound, peak_allocated_bound, "
                     "peak_reserved_bound FROM devices WHERE device = {}",
                     device.ordinal)});
  }
  if (!device.gaps.empty()) {
    std::string where = fmt::format("{}", base::withCommas(device.gaps.front()));
    if (device.gaps.size() > 1) where += fmt::format(" and {} more", device.gaps.size() - 1);
    sentences.push_back(
        {{plain("Events are missing before step "), strong(where),
          plain(
              ", where the ring buffer was made smaller. Memory may have been higher in the gap.")},
         {},
         fmt::format("SELECT first_step, count - 1 AS more FROM issues WHERE kind = "
                     "'recording_gap' AND device = {}",
                     device.ordinal)});
  }
  if (device.steps() > 0 &&
      hasIssue(analysed, model::IssueKind::kNoStacks, model::Issue::kNoDevice)) {
    sentences.push_back(
        {{plain("No event has a stack, as with "), code("context=None"),
          plain(". Memory is grouped by compiled region where the file names one.")},
         {},
         "SELECT kind, meaning FROM issues WHERE kind = 'no_stacks'"});
  }
  return sentences;
}

std::optional<Sentence> drawnLives(const analysis::DeviceSummary& summary) {
  if (!summary.peak.active_bounds) return std::nullopt;
  const model::Device& device = summary.device->device;
  return Sentence{
      {plain("The recording lacks "), strong(kindsOf(device.missing)),
       plain(" events. These figures follow from lives that are drawn, not recorded.")},
      {},
      fmt::format("SELECT missing_actions FROM devices WHERE device = {}", device.ordinal)};
}

std::string boundedActive(const PeakReport& peak) {
  if (!peak.active_bounds)
    return (peak.is_at_least ? "at least " : "") + humanBytes(peak.active.bytes);
  bool no_most = peak.active_bounds->at_most_bytes == model::kUnknownBytes;
  if (peak.bounds.active == Bound::kAtLeast || no_most) {
    return "at least " + humanBytes(peak.active_bounds->at_least_bytes);
  }
  return fmt::format("at most {} and at least {}", humanBytes(peak.active_bounds->at_most_bytes),
                     humanBytes(peak.active_bounds->at_least_bytes));
}

std::string boundedReserved(const PeakReport& peak, uint64_t reserved_bytes) {
  const char* bound = peak.bounds.reserved == Bound::kAtLeast  ? "at least "
                      : peak.bounds.reserved == Bound::kAtMost ? "at most "
                                                               : "";
  return bound + humanBytes(reserved_bytes);
}

const char* boundColumns(const PeakReport& peak) {
  return peak.active_bounds ? ", peak_active_at_least_bytes, peak_active_at_most_bytes" : "";
}

Sentence whyNoEvents(const analysis::AnalysedTrace& analysed, const model::Device& device) {
  const char* only_final =
      device.steps() == 0
          ? "This device has no events, so only its final state is known. "
          : "This device has one event, as with enabled=\"state\", so only its final state is "
            "known. ";
  std::string sql = fmt::format(
      "SELECT kind, meaning FROM issues WHERE kind IN ('only_state', 'no_device_history', "
      "'no_trace', 'no_event_list') AND ifnull(device, {0}) = {0}",
      device.ordinal);
  if (hasIssue(analysed, model::IssueKind::kNoEventList, model::Issue::kNoDevice)) {
    return {
        {plain("The file has segments and no list of events, as "),
         code("torch.cuda.memory_snapshot()"),
         plain(" returns them, so only the final state is known. Memory history may have been on: "
               "write the file with "),
         code("torch.cuda.memory._dump_snapshot()"), plain(" to keep its events.")},
        {},
        sql};
  }
  if (hasIssue(analysed, model::IssueKind::kNoDeviceHistory, device.ordinal)) {
    return {{plain(only_final), plain("Only pinned host memory was recorded, as with "),
             code("record_cuda=False"), plain(".")},
            {},
            sql};
  }
  if (hasIssue(analysed, model::IssueKind::kOnlyState, device.ordinal)) {
    return {{plain(only_final),
             plain("Memory history was on, because blocks have stacks: it kept "
                   "the state alone. Record with "),
             code("enabled=\"all\""), plain(" and without "), code(kSkipActions),
             plain(" to see what led to it.")},
            {},
            sql};
  }
  return {{plain(only_final), plain(device.steps() == 0 ? "Call " : "For a history, call "),
           code("torch.cuda.memory._record_memory_history()"),
           plain(" before the part you want to see.")},
          {}};
}

}  // namespace tidegauge::report
