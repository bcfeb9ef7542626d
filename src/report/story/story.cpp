#include "report/story/story.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/sizes.h"
#include "model/recorded_work.h"
#include "report/oom/oom_story.h"
#include "report/recording/lack_words.h"
#include "report/story/report_parts.h"
#include "report/words/holder_names.h"
#include "report/words/incomplete_words.h"

namespace tidegauge::report {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceSummary;
using analysis::OomReport;
using analysis::Step;
using base::blocks;
using base::counted;
using base::humanBytes;
using base::inOneUnit;
using base::inUnit;
using base::sharedUnit;
using base::withCommas;
using Severity = Finding::Severity;

void addUnseenBlocks(const AnalysedTrace& analysed, Story& story) {
  if (!seesOnlySegments(analysed.trace)) return;
  story.add(
      Topic::kRest,
      {{plain("The recording does not contain PyTorch's blocks (--preload and --no-framework omit "
              "them). All "),
        strong("segments"), plain(" that PyTorch holds therefore count as active.")},
       {},
       {}});
}

void addLowerBound(const AnalysedTrace& analysed, const DeviceSummary& summary, Story& story) {
  if (!model::isAtLeast(analysed.trace, summary.device->device.ordinal)) return;
  story.add(
      Topic::kRest,
      {{plain("The program held memory before the recording began. The recording shows only part "
              "of it, so these figures are "),
        strong("lower bounds"), plain(".")},
       {},
       fmt::format("SELECT at_least FROM devices WHERE device = {}",
                   summary.device->device.ordinal)});
}

// A window of the timeline around a step: the last twentieth before it, a little after.
Link timelineAround(const DeviceSummary& summary, Step step) {
  Step steps = summary.device->totals.steps();
  Step width = std::max<Step>(20, steps / 20);
  Step begin = step > width ? step - width : 0;
  Step end = std::min<Step>(steps, step + width / 10 + 2);
  return {"timeline", "Timeline", {{"x0", std::to_string(begin)}, {"x1", std::to_string(end)}}};
}

Link timeline() { return {"timeline", "Timeline", {}}; }

int ordinalOf(const DeviceSummary& summary) { return summary.device->device.ordinal; }
Step lastStep(const DeviceSummary& summary) {
  Step steps = summary.device->totals.steps();
  return steps == 0 ? 0 : steps - 1;
}
std::string oomSql(const DeviceSummary& summary, std::string_view what) {
  return fmt::format("SELECT {} FROM ooms({}) WHERE step = {}", what, ordinalOf(summary),
                     summary.ooms[summary.worst_oom].step);
}

std::string leftUnknown(const analysis::OomVerdict& verdict) {
  std::string words = "How much the driver had free is unknown";
  if (!verdict.most_driver_bytes) return words;
  return words + fmt::format(" ({} at most)", base::sizeOrZero(*verdict.most_driver_bytes));
}

std::string whichOom(const DeviceSummary& summary) {
  const OomReport& oom = summary.ooms[summary.worst_oom];
  std::string at = " at step " + withCommas(oom.step);
  if (summary.ooms.size() == 1) return "Out of memory" + at;
  return fmt::format("Out of memory: {} failed. Size of the {},{}",
                     counted(analysis::refusedRequests(summary.ooms), "request"),
                     oom.overBytes() > 0 ? "one with the largest shortage" : "largest", at);
}

void addOom(const AnalysedTrace& analysed, const DeviceSummary& summary,
            const analysis::OomVerdict& verdict, Story& story) {
  const OomReport& oom = summary.ooms[summary.worst_oom];
  story.kind = Story::Kind::kOom;
  story.eyebrow = "Out of memory";
  story.step = oom.step;
  const analysis::FreeSums& free = *oom.free;  // computed for the worst in any case
  std::initializer_list<uint64_t> compared = {oom.requested_bytes.value_or(0),
                                              oom.device_free_bytes.value_or(0), free.bytes};
  std::optional<base::ByteUnit> unit = sharedUnit(compared);
  std::vector<std::string> sizes = inOneUnit(compared);
  story.headline = fmt::format(
      "The program requested {}. {}", oom.requested_bytes ? sizes[0] : "an unknown size",
      !oom.device_free_bytes        ? leftUnknown(verdict)
      : *oom.device_free_bytes == 0 ? "The driver had nothing free"
                                    : fmt::format("The driver had {} free", sizes[1]));
  if (free.bytes > 0) {
    story.headline += fmt::format(", and {} were free inside segments", sizes[2]);
  }
  story.headline += ".";
  story.headline_sql =
      oomSql(summary, "step, seconds, requested_bytes, device_free_bytes, free_in_segments_bytes");

  auto addAll = [&](Topic topic, std::vector<Sentence> sentences) {
    for (Sentence& sentence : sentences) story.add(topic, std::move(sentence));
  };
  addAll(Topic::kWhy, verdictSentences(verdict));
  addAll(Topic::kWhy, poolSentences(analysed, verdict, 3));
  story.add(Topic::kWhy, sumSentence(verdict));
  // If free bytes are missing, or other pools keep them, releasing pinned memory would not help.
  if (verdict.lackingBytes() == 0 && !verdict.find(analysis::Verdict::kHeldInPool)) {
    addAll(Topic::kWhy, pinSentences(analysed, ordinalOf(summary), verdict.pinned, oom.step, 2));
  }

  addAll(Topic::kWhat, refusalSentences(*summary.device, summary.ooms, summary.worst_oom));
  if (oom.given_back_segments > 0) {
    story.add(
        Topic::kWhat,
        {{plain("Just before, the allocator returned "),
          strong(withCommas(oom.given_back_segments)),
          plain(oom.given_back_segments == 1 ? " cached segment (" : " cached segments ("),
          strong(humanBytes(oom.given_back_bytes)), plain(") to the driver. That was not enough.")},
         timelineAround(summary, oom.step),
         oomSql(summary, "given_back_segments, given_back_bytes")});
  }
  if (oom.stack.valid()) {
    Sentence from{{plain("The request came from "), code(oneName(analysed, oom.stack))}, {}};
    if (!oom.phases.empty()) {
      std::string phase(
          analysed.trace.strings.text(analysed.trace.annotations.name[oom.phases.back()]));
      from.parts.insert(from.parts.end(), {plain(", in phase "), strong(phase)});
    }
    from.parts.push_back(plain("."));
    from.link = timelineAround(summary, oom.step);
    from.sql = oomSql(summary, "stack_id, label");
    story.add(Topic::kWhat, std::move(from));
  }
  story.findings.push_back(
      {Severity::kHigh,
       {plain(whichOom(summary))},
       oom.requested_bytes,
       timelineAround(summary, oom.step),
       unit,
       oomSql(
           summary,
           fmt::format("step, requested_bytes, (SELECT sum(ifnull(refusals, 1)) FROM ooms({})) AS "
                       "refused_requests",
                       ordinalOf(summary))),
       true});
  if (oom.given_back_segments > 0) {
    story.findings.push_back({Severity::kMedium,
                              {plain(fmt::format("Cached memory that the allocator returned to the "
                                                 "driver before the request failed, in {}",
                                                 counted(oom.given_back_segments, "segment")))},
                              oom.given_back_bytes,
                              timelineAround(summary, oom.step),
                              {},
                              oomSql(summary, "given_back_segments, given_back_bytes"),
                              true});
  }
}

void addPeak(const AnalysedTrace& analysed, const DeviceSummary& summary, Story& story) {
  const analysis::PeakReport& peak = summary.peak;
  story.step = peak.active.step;
  story.at_start = peak.active.at_start;
  story.eyebrow = "Peak memory";
  uint64_t reserved_then = summary.device->totals.at(peak.active).reserved_bytes;
  // As in the tables: nothing is summed here.
  std::vector<std::string> sizes = {boundedActive(peak), boundedReserved(peak, peak.reserved.bytes),
                                    boundedReserved(peak, reserved_then)};
  bool at_least = model::isAtLeast(analysed.trace, ordinalOf(summary));
  story.headline = fmt::format("Peak active memory was {0}{1}; peak reserved memory was {0}{2}.",
                               at_least ? "at least " : "", sizes[0], sizes[1]);
  Sentence sentence{
      {plain(at_least ? "The program held at least " : "The program held "), strong(sizes[0]),
       plain(story.at_start ? " of active memory " : " of active memory at step "),
       strong(story.at_start ? "at the start of the recording" : withCommas(peak.active.step)),
       plain(at_least ? ", when at least " : ", when "), strong(sizes[2]),
       plain(" were reserved.")},
      timelineAround(summary, peak.active.step),
      story.at_start
          ? fmt::format("SELECT initial_active_bytes, initial_reserved_bytes FROM devices WHERE "
                        "device = {}",
                        ordinalOf(summary))
          : fmt::format("SELECT step, active_bytes, reserved_bytes FROM totals WHERE device "
                        "= {} AND step = {}",
                        ordinalOf(summary), peak.active.step)};
  story.headline_sql = fmt::format(
      "SELECT peak_active_step, peak_active_seconds, peak_active_bytes, "
      "peak_reserved_bytes{} FROM devices WHERE device = {}",
      boundColumns(peak), ordinalOf(summary));
  // What is drawn at a step of bounds is no fact.
  if (!peak.active_bounds) story.add(Topic::kWhat, std::move(sentence));
}

void addHolders(const AnalysedTrace& analysed, const DeviceSummary& summary, Story& story) {
  const analysis::Holders& holders = summary.at_oom ? *summary.at_oom : summary.peak.holders;
  if (holders.groups.empty() || holders.block_bytes == 0) return;
  std::vector<analysis::StackGroup> largest;
  for (const analysis::StackGroup& group : holders.groups) {
    if (group.stack.valid()) largest.push_back(group);
    if (largest.size() == 2) break;
  }
  std::vector<HolderName> names = holderNames(analysed, largest, largest.size());
  for (size_t i = 0; i < largest.size(); ++i) {
    const analysis::StackGroup& group = largest[i];
    double share =
        100.0 * static_cast<double>(group.block_bytes) / static_cast<double>(holders.block_bytes);
    Sentence sentence;
    if (const analysis::StackGroup& first = holders.groups.front();
        i == 0 && !first.stack.valid()) {
      sentence.parts = {
          strong(humanBytes(first.block_bytes)),
          plain(!summary.only_state && first.older_bytes == first.block_bytes
                    ? " were allocated before the recording and have no stack. The largest "
                      "holder of the rest is "
                    : " have no stack. The largest holder of the rest is ")};
    } else {
      sentence.parts = {plain(i == 0 ? "The largest holder is " : "The next is ")};
    }
    sentence.parts.push_back(code(oneName(names[i])));
    sentence.parts.insert(
        sentence.parts.end(),
        {plain(": "), strong(humanBytes(group.block_bytes)),
         plain(fmt::format(" in {}, {:.1f} % of active bytes.", blocks(group.blocks), share))});
    sentence.link = sqlLink(fmt::format(
        "SELECT id, address_id(address, version) AS address, requested_bytes, alloc_step,\n"
        "       free_completed_step\nFROM live_at({}, {})\nWHERE stack_id = {}\n"
        "ORDER BY requested_bytes DESC",
        summary.device->device.ordinal, holders.place(), group.stack.value));
    bool names_others = i == 0 && !holders.groups.front().stack.valid();
    sentence.sql = fmt::format(
        "SELECT stack_id, bytes, blocks, share FROM holders({}, {}) WHERE stack_id = {}{}",
        ordinalOf(summary), holders.place(), group.stack.value,
        names_others ? " OR stack_id IS NULL" : "");
    story.add(Topic::kWho, std::move(sentence));
  }
}

void addUnused(const DeviceSummary& summary, Story& story) {
  uint64_t reserved = summary.final.reserved_bytes;
  uint64_t active = summary.final.active_bytes;
  if (reserved <= active) return;
  uint64_t unused = reserved - active;
  auto sql_of_free = [&](std::string_view what) {
    return fmt::format("SELECT {} FROM free_parts({}, {})", what, ordinalOf(summary),
                       lastStep(summary));
  };
  if (!summary.at_oom) {
    std::vector<std::string> sizes = {humanBytes(unused), humanBytes(reserved),
                                      humanBytes(summary.final_free.pinned_bytes)};
    Sentence sentence{{plain("At the end, "), strong(sizes[0]), plain(" of "), strong(sizes[1]),
                       plain(" reserved are free")},
                      timeline()};
    if (summary.final_free.pinned_bytes > 0) {
      sentence.parts.insert(sentence.parts.end(),
                            {plain("; "), strong(sizes[2]),
                             plain(" of them cannot return to the driver, because active blocks "
                                   "are in the same segments or pages")});
    }
    sentence.parts.push_back(plain("."));
    sentence.sql = sql_of_free("not_live_bytes, reserved_bytes, pinned_bytes");
    story.add(Topic::kRest, std::move(sentence));
  }
  if (summary.final_free.pinned_bytes > 0) {
    story.findings.push_back(
        {Severity::kMedium,
         {plain(fmt::format("Free memory at the end that active blocks keep from the driver, in {}",
                            counted(summary.final_free.pinned_segments, "segment")))},
         summary.final_free.pinned_bytes,
         timeline(),
         {},
         sql_of_free("pinned_segments, pinned_bytes"),
         true});
  }
}

void addOlder(const DeviceSummary& summary, Story& story) {
  if (summary.only_state) return;  // no peak is known, and everything is older than the recording
  uint64_t older = summary.at_peak.older_bytes;
  auto countOf = [&](model::Provenance provenance) {
    return summary.allocations_by_provenance[static_cast<size_t>(provenance)];
  };
  // Bytes at the peak, and all blocks.
  auto both = [&](std::string_view provenances) {
    return fmt::format(
        "SELECT (SELECT ifnull(sum(block_bytes), 0) FROM live_at({0}, {1}) WHERE "
        "provenance IN ({2})) AS peak_bytes, count(*) AS blocks FROM "
        "allocations WHERE device = {0} AND provenance IN ({2})",
        ordinalOf(summary), summary.peak.active.place(), provenances);
  };
  uint64_t count =
      countOf(model::Provenance::kBeforeRecording) + countOf(model::Provenance::kGhost);
  if (older > 0) {
    story.findings.push_back(
        {Severity::kMedium,
         {plain(fmt::format("Memory at the peak that was allocated before the recording "
                            "({} in the whole recording)",
                            blocks(count)))},
         older,
         sqlLink("SELECT id, address_id(address, version) AS address, block_bytes, "
                 "provenance, free_completed_step\nFROM allocations\nWHERE provenance IN "
                 "('before_recording', 'ghost')\nORDER BY block_bytes DESC"),
         {},
         both("'before_recording', 'ghost'")});
  }
  if (uint64_t lost = countOf(model::Provenance::kLost); lost > 0) {
    story.findings.push_back(
        {Severity::kMedium,
         {plain(fmt::format("Memory at the peak without a recorded alloc or free event "
                            "({} in the whole recording)",
                            blocks(lost)))},
         summary.at_peak.lost_bytes,
         sqlLink("SELECT * FROM allocations WHERE provenance = 'lost' ORDER BY "
                 "block_bytes DESC"),
         {},
         both("'lost'")});
  }
  if (summary.peak.uncertain_bytes > 0 && !summary.peak.active_bounds) {
    story.findings.push_back(
        {Severity::kLow,
         {plain("Some block sizes are inferred from their requests, so the true active peak may be "
                "higher; by at most")},
         summary.peak.uncertain_bytes,
         {},
         {},
         fmt::format("SELECT peak_uncertain_bytes FROM devices WHERE device = {}",
                     ordinalOf(summary))});
  }
}

// Settings with which a refused request leaves no event. Source: CUDACachingAllocator, PyTorch
// 2.15.
void addSilentRefusals(const AnalysedTrace& analysed, Story& story) {
  const model::AllocatorSettings& settings = analysed.trace.settings;
  // Only PyTorch 2.15 and later write this setting.
  bool is_new = std::ranges::any_of(settings.items,
                                    [](const auto& it) { return it.first == "max_cached_size"; });
  const char* why = nullptr;
  if (analysis::confValue(settings.conf, "throw_on_cudamalloc_oom") == "True")
    why = "throw_on_cudamalloc_oom is set, and with it";
  else if (settings.expandable_segments && is_new)
    why = "expandable segments are in use, and with them this version of PyTorch lets";
  if (why == nullptr) return;
  bool lets = std::string_view(why).ends_with("lets");
  story.findings.push_back(
      {Severity::kLow,
       {plain(fmt::format("Refused requests may be missing: {} a request {} without an "
                          "out-of-memory event",
                          why, lets ? "fail" : "fails"))},
       {},
       {}});
}

void addChecks(const AnalysedTrace& analysed, const DeviceSummary& summary, Story& story) {
  for (const analysis::Identity& identity : summary.identities) {
    if (identity.holds) continue;
    // High: the other numbers cannot be trusted more than these. The text gives the difference.
    story.findings.push_back({Severity::kHigh,
                              {plain("The file contradicts itself: "), plain(identity.text)},
                              std::nullopt,
                              sqlLink("SELECT * FROM issues"),
                              {},
                              fmt::format("SELECT * FROM identities({}) WHERE name = '{}'",
                                          ordinalOf(summary), identity.name)});
  }
  bool has_step = summary.device->totals.steps() > 0;
  if (summary.only_state && story.kind != Story::Kind::kOom) {
    story.kind = Story::Kind::kState;
    story.eyebrow = "Final state only";
    story.step.reset();
    story.at_start = false;
    story.findings.push_back(
        {Severity::kMedium,
         {plain(has_step ? "Only one event was recorded, as with enabled=\"state\"; so no peak is "
                           "known"
                         : "No events were recorded on this device")},
         {},
         {}});
  }
  const std::vector<model::Issue>& issues = analysed.trace.issues.all();
  bool overflow = std::any_of(issues.begin(), issues.end(), [&](const model::Issue& issue) {
    return issue.kind == model::IssueKind::kRingOverflow &&
           (issue.device == model::Issue::kNoDevice ||
            issue.device == summary.device->device.ordinal);
  });
  if (overflow) {
    story.findings.push_back(
        {Severity::kMedium,
         {plain("The ring buffer was probably full, so the oldest events are missing")},
         {},
         sqlLink("SELECT * FROM issues")});
  }
}

}  // namespace

std::vector<Sentence> Story::of(Topic topic) const {
  std::vector<Sentence> found;
  for (const StorySentence& sentence : sentences)
    if (sentence.topic == topic) found.push_back(sentence);
  return found;
}

bool seesOnlySegments(const model::Trace& trace) {
  if (!trace.work || trace.work->has_blocks) return false;
  const std::vector<base::StringId>& modules = trace.work->frame_modules;
  return std::any_of(modules.begin(), modules.end(), [&](base::StringId module) {
    if (!module.valid()) return false;
    std::string_view path = trace.strings.text(module);
    return path.substr(path.find_last_of('/') + 1).starts_with("libc10_cuda.");
  });
}

std::optional<uint64_t> firstStep(const AnalysedTrace& analysed, const model::Issue& issue) {
  bool has_steps = analysed.trace.events.size() > 0;
  if (issue.device != model::Issue::kNoDevice) {
    const analysis::DeviceAnalysis* device = analysed.findDevice(issue.device);
    has_steps = device != nullptr && device->totals.steps() > 0;
  }
  bool known = has_steps && issue.first_step != model::Issue::kNone;
  return known ? std::optional(issue.first_step) : std::nullopt;
}

Story makeStory(const AnalysedTrace& analysed, const DeviceSummary& summary,
                const analysis::Judgement& judgement) {
  Story story;
  if (judgement.verdict) {
    addOom(analysed, summary, *judgement.verdict, story);
  } else {
    addPeak(analysed, summary, story);
  }
  for (Sentence& lack : lackSentences(analysed, summary)) story.add(Topic::kLacks, std::move(lack));
  addLowerBound(analysed, summary, story);
  addUnseenBlocks(analysed, story);
  addHolders(analysed, summary, story);
  addUnused(summary, story);
  addOlder(summary, story);
  addChecks(analysed, summary, story);
  addSilentRefusals(analysed, story);
  if (story.kind == Story::Kind::kState) {
    story.headline = fmt::format("{} were active and {} were reserved when the file was written.",
                                 humanBytes(summary.final.active_bytes),
                                 humanBytes(summary.final.reserved_bytes));
    story.headline_sql = fmt::format(
        "SELECT final_active_bytes, final_reserved_bytes FROM devices WHERE device = {}",
        ordinalOf(summary));
    story.sentences.clear();
    addHolders(analysed, summary, story);
    story.add(Topic::kRest, whyNoEvents(analysed, summary.device->device));
  }
  model::Incomplete incomplete = incompleteOf(analysed);
  if (incomplete.any())
    story.findings.insert(story.findings.begin(), incompleteFinding(incomplete));
  // A request that ran out of memory is a fact of one call.
  if (story.kind != Story::Kind::kOom && incomplete.touches(kOfMemory) &&
      story.headline.ends_with('.')) {
    story.headline.pop_back();
    story.headline += markOf(incomplete, kOfMemory) + ".";
  }
  std::stable_sort(story.findings.begin(), story.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
  return story;
}

}  // namespace tidegauge::report
