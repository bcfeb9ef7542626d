#include "report/story/finding_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/sizes.h"
#include "report/words/incomplete_words.h"

namespace tidegauge::report {
namespace {

using analysis::DeviceSummary;
using analysis::Finding;
using analysis::FindingKind;
using analysis::Step;
using base::blocks;
using base::counted;
using base::withCommas;

std::string whichOom(const DeviceSummary& summary, const Finding& finding) {
  std::string at = " at step " + withCommas(finding.value("step"));
  if (summary.ooms.size() == 1) return "Out of memory" + at;
  bool is_over = summary.ooms[summary.explained_oom].overBytes() > 0;
  return fmt::format("Out of memory: {} failed. Size of the {},{}",
                     counted(finding.value("refused_requests"), "request"),
                     is_over ? "one with the largest shortage" : "largest", at);
}

std::string silentRefusals(const Finding& finding) {
  if (finding.setting == "expandable_segments")
    return "Refused requests may be missing: expandable segments are in use, and with them this "
           "version of PyTorch lets a request fail without an out-of-memory event";
  return fmt::format(
      "Refused requests may be missing: {} is set, and with it a request fails without an "
      "out-of-memory event",
      finding.setting);
}

// The words, the figure that follows them, and the view.
FindingWords wordsWithoutUnit(const analysis::AnalysedTrace& analysed, const DeviceSummary& summary,
                              const Finding& finding) {
  auto say = [](std::string text, std::optional<uint64_t> bytes = {},
                std::optional<Link> link = {}) {
    return FindingWords{{plain(std::move(text))}, bytes, {}, std::move(link)};
  };
  switch (finding.kind) {
    case FindingKind::kIncomplete:
      return {incompleteSentence(incompleteOf(analysed)).parts, {}, {}, sqlLink(finding.sql)};
    case FindingKind::kOutOfMemory:
      return say(whichOom(summary, finding), finding.find("requested_bytes"),
                 timelineAround(summary, summary.ooms[summary.explained_oom].step));
    case FindingKind::kGivenBack:
      return say(fmt::format("Cached memory that the allocator returned to the driver before the "
                             "request failed, in {}",
                             counted(finding.value("given_back_segments"),
                                     summary.ooms[summary.explained_oom].has_unmapped ? "range"
                                                                                      : "segment")),
                 finding.find("given_back_bytes"),
                 timelineAround(summary, summary.ooms[summary.explained_oom].step));
    case FindingKind::kPinnedAtEnd:
      return say(
          fmt::format("Free memory at the end that active blocks keep from the driver, in {}",
                      counted(finding.value("pinned_segments"), "segment")),
          finding.find("pinned_bytes"), timeline());
    case FindingKind::kOlder:
      return say(fmt::format("Memory at the peak that was allocated before the recording ({} in "
                             "the whole recording)",
                             blocks(finding.value("blocks"))),
                 finding.find("peak_bytes"),
                 sqlLink("SELECT id, address_id(address, version) AS address, block_bytes, "
                         "provenance, free_completed_step\nFROM allocations\nWHERE provenance IN "
                         "('before_recording', 'ghost')\nORDER BY block_bytes DESC"));
    case FindingKind::kLost:
      return say(fmt::format("Memory at the peak without a recorded alloc or free event ({} in the "
                             "whole recording)",
                             blocks(finding.value("blocks"))),
                 finding.find("peak_bytes"),
                 sqlLink("SELECT * FROM allocations WHERE provenance = 'lost' ORDER BY "
                         "block_bytes DESC"));
    case FindingKind::kUncertainPeak:
      if (summary.peak.is_order_uncertain)
        return say(
            "Calls of several threads ran at the same time, so their order is not known, and the "
            "true active peak may be higher or lower; by at most",
            finding.find("peak_uncertain_bytes"));
      return say(
          "Some block sizes are inferred from their requests, so the true active peak may "
          "be higher; by at most",
          finding.find("peak_uncertain_bytes"));
    case FindingKind::kContradiction:  // its text gives the difference
      return say("The file contradicts itself: " + finding.contradicted->text, {},
                 sqlLink("SELECT * FROM issues"));
    case FindingKind::kOnlyState:
      return say(summary.device->totals.steps() > 0
                     ? "Only one event was recorded, as with enabled=\"state\"; so no peak is known"
                 : analysed.trace.issues.count(model::IssueKind::kNoEventList) > 0
                     ? "The file has no list of events, so no peak is known"
                     : "No events were recorded on this device");
    case FindingKind::kRingOverflow:
      return say("The ring buffer was probably full, so the oldest events are missing", {},
                 sqlLink("SELECT * FROM issues"));
    case FindingKind::kSilentRefusals:
      return say(silentRefusals(finding));
  }
  return {};
}

}  // namespace

FindingWords findingWords(const analysis::AnalysedTrace& analysed, const DeviceSummary& summary,
                          const Finding& finding) {
  FindingWords words = wordsWithoutUnit(analysed, summary, finding);
  if (finding.kind == FindingKind::kOutOfMemory)
    words.unit = headlineUnit(summary.ooms[summary.explained_oom]);
  return words;
}

Sentence findingSentence(const analysis::AnalysedTrace& analysed, const DeviceSummary& summary,
                         const Finding& finding) {
  FindingWords words = findingWords(analysed, summary, finding);
  Sentence sentence{std::move(words.parts), std::move(words.link), finding.sql};
  if (words.bytes)
    sentence.parts.push_back(plain(
        ": " + base::humanBytes(*words.bytes, words.unit.value_or(base::unitFor(*words.bytes)))));
  return sentence;
}

std::optional<base::ByteUnit> headlineUnit(const analysis::OomReport& oom) {
  // The free sums of the explained event are computed in any case.
  return base::sharedUnit(
      {oom.requested_bytes.value_or(0), oom.device_free_bytes.value_or(0), oom.free->bytes});
}

Link timeline() { return {"timeline", "Timeline", {}}; }

Link timelineAround(const DeviceSummary& summary, Step step) {
  Step steps = summary.device->totals.steps();
  Step width = std::max<Step>(20, steps / 20);
  Step begin = step > width ? step - width : 0;
  Step end = std::min<Step>(steps, step + width / 10 + 2);
  return {"timeline", "Timeline", {{"x0", std::to_string(begin)}, {"x1", std::to_string(end)}}};
}

}  // namespace tidegauge::report
