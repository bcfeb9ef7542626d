#include "report/story/story.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/sizes.h"
#include "model/recorded_work.h"
#include "report/oom/oom_story.h"
#include "report/recording/lack_words.h"
#include "report/story/finding_words.h"
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
using base::humanBytes;
using base::inUnit;
using base::withCommas;

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
      {{plain(
            "The recording began after the program. It shows only part of the memory from before, "
            "so these figures are "),
        strong("lower bounds"), plain(".")},
       {},
       fmt::format("SELECT at_least FROM devices WHERE device = {}",
                   summary.device->device.ordinal)});
}

int ordinalOf(const DeviceSummary& summary) { return summary.device->device.ordinal; }
Step lastStep(const DeviceSummary& summary) {
  Step steps = summary.device->totals.steps();
  return steps == 0 ? 0 : steps - 1;
}
std::string oomSql(const DeviceSummary& summary, std::string_view what) {
  return fmt::format("SELECT {} FROM ooms({}) WHERE step = {}", what, ordinalOf(summary),
                     summary.ooms[summary.explained_oom].step);
}

std::string leftUnknown(const analysis::OomVerdict& verdict) {
  std::string words = "How much the driver had free is unknown";
  if (!verdict.most_driver_bytes) return words;
  return words + fmt::format(" ({} at most)", base::sizeOrZero(*verdict.most_driver_bytes));
}

// The other requests that failed: how many, and the largest.
std::optional<Sentence> otherFailures(const DeviceSummary& summary) {
  const OomReport* largest = nullptr;
  for (const OomReport& oom : summary.ooms) {
    if (&oom == &summary.ooms[summary.explained_oom]) continue;
    if (largest == nullptr || oom.requested_bytes > largest->requested_bytes) largest = &oom;
  }
  if (largest == nullptr) return std::nullopt;
  uint64_t others = summary.failedRequests() - summary.ooms[summary.explained_oom].requests();
  Sentence sentence{
      {strong(base::counted(others, "other request")), plain(" failed")},
      timelineAround(summary, largest->step),
      fmt::format("SELECT (SELECT sum(ifnull(refusals, 1)) FROM ooms({0}) WHERE step <> {1}) AS "
                  "others, step, requested_bytes FROM ooms({0}) WHERE step <> {1} "
                  "ORDER BY requested_bytes DESC NULLS LAST, step LIMIT 1",
                  ordinalOf(summary), summary.ooms[summary.explained_oom].step)};
  sentence.parts.push_back(plain(others == 1 ? ": " : ", the largest for "));
  sentence.parts.push_back(
      strong(largest->requested_bytes ? humanBytes(*largest->requested_bytes) : "an unknown size"));
  sentence.parts.push_back(plain(" at step "));
  sentence.parts.push_back(strong(withCommas(largest->step)));
  sentence.parts.push_back(plain("."));
  return sentence;
}

void addOom(const AnalysedTrace& analysed, const DeviceSummary& summary,
            const analysis::OomVerdict& verdict, Story& story) {
  const OomReport& oom = summary.ooms[summary.explained_oom];
  story.kind = Story::Kind::kOom;
  story.eyebrow = "Out of memory";
  if (summary.ooms.size() > 1) {
    story.is_one_of_several = true;
    story.eyebrow +=
        fmt::format(", the {} of {} failed requests",
                    summary.oom_choice == analysis::OomChoice::kLast ? "last" : "worst",
                    withCommas(summary.failedRequests()));
  }
  story.step = oom.step;
  const analysis::FreeSums& free = *oom.free;  // computed for the explained one in any case
  std::optional<base::ByteUnit> unit = headlineUnit(oom);
  story.headline = fmt::format(
      "The program requested {}. {}",
      oom.requested_bytes ? inUnit(*oom.requested_bytes, unit) : "an unknown size",
      !oom.device_free_bytes ? leftUnknown(verdict)
      : *oom.device_free_bytes == 0
          ? "The driver had nothing free"
          : fmt::format("The driver had {} free", inUnit(*oom.device_free_bytes, unit)));
  if (free.bytes > 0) {
    story.headline += fmt::format(", and {} were free inside segments", inUnit(free.bytes, unit));
  }
  story.headline += ".";
  std::string all_failed;  // the heading names their number
  if (story.is_one_of_several)
    all_failed = fmt::format(", (SELECT sum(ifnull(refusals, 1)) FROM ooms({})) AS failed_requests",
                             ordinalOf(summary));
  story.headline_sql =
      oom.device_free_bytes || !verdict.most_driver_bytes
          ? oomSql(summary,
                   "step, seconds, requested_bytes, device_free_bytes, free_in_segments_bytes" +
                       all_failed)
          : fmt::format(
                "SELECT step, request_bytes, total_bytes - reserved_bytes AS "
                "most_driver_bytes, free_bytes{} FROM {} WHERE step = {} LIMIT 1",
                all_failed, verdictTable(verdict), oom.step);

  auto addAll = [&](Topic topic, std::vector<Sentence> sentences) {
    for (Sentence& sentence : sentences) story.add(topic, std::move(sentence));
  };
  addAll(Topic::kWhy, verdictSentences(verdict));
  addAll(Topic::kWhy, poolSentences(analysed, verdict, 3));
  story.add(Topic::kWhy, sumSentence(verdict, verdict.unmappedBytes(analysed.trace)));
  // If free bytes are missing, or other pools keep them, releasing pinned memory would not help.
  if (verdict.lackingBytes() == 0 && !verdict.find(analysis::Verdict::kHeldInPool)) {
    addAll(Topic::kWhy, pinSentences(analysed, ordinalOf(summary), verdict.pinned, oom.step, 2));
  }

  if (auto others = otherFailures(summary)) story.add(Topic::kWhat, std::move(*others));
  addAll(Topic::kWhat, refusalSentences(*summary.device, summary.ooms, summary.explained_oom));
  if (oom.given_back_segments > 0) {
    story.add(Topic::kWhat, {{plain("Just before, the allocator returned "),
                              strong(withCommas(oom.given_back_segments)),
                              plain(oom.has_unmapped               ? " ranges of cached pages ("
                                    : oom.given_back_segments == 1 ? " cached segment ("
                                                                   : " cached segments ("),
                              strong(humanBytes(oom.given_back_bytes)),
                              plain(") to the driver. That was not enough.")},
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
}

std::string whenText(const analysis::Peak& peak) {
  return peak.at_start ? " at the start of the recording" : " at step " + withCommas(peak.step);
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
  constexpr std::string_view kAtLeast = "at least ";
  bool at_least = model::isAtLeast(analysed.trace, ordinalOf(summary));
  for (std::string& size : sizes)
    if (at_least && !size.starts_with(kAtLeast)) size.insert(0, kAtLeast);
  // Peaks of two states have each their step. What is drawn at a step of bounds is no fact.
  bool is_one_state = peak.active_bounds || reserved_then == peak.reserved.bytes;
  story.headline = fmt::format("Peak active memory was {}{}; peak reserved memory was {}{}.",
                               sizes[0], is_one_state ? "" : whenText(peak.active), sizes[1],
                               is_one_state ? "" : whenText(peak.reserved));
  Sentence sentence{
      {plain("The program held "), strong(sizes[0]),
       plain(story.at_start ? " of active memory " : " of active memory at step "),
       strong(story.at_start ? "at the start of the recording" : withCommas(peak.active.step)),
       plain(", when "), strong(sizes[2]), plain(" were reserved.")},
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
      "peak_reserved_bytes{}{} FROM devices WHERE device = {}",
      is_one_state ? "" : ", peak_reserved_step", boundColumns(peak), ordinalOf(summary));
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
}

// Instead of the story of a peak.
void tellState(const AnalysedTrace& analysed, const DeviceSummary& summary, Story& story) {
  story.kind = Story::Kind::kState;
  story.eyebrow = "Final state only";
  story.headline =
      fmt::format("{} were active and {} were reserved when the file was written.",
                  humanBytes(summary.final.active_bytes), humanBytes(summary.final.reserved_bytes));
  story.headline_sql =
      fmt::format("SELECT final_active_bytes, final_reserved_bytes FROM devices WHERE device = {}",
                  ordinalOf(summary));
  addHolders(analysed, summary, story);
  story.add(Topic::kRest, whyNoEvents(analysed, summary.device->device));
}

}  // namespace

std::string Story::placeText() const {
  if (at_start) return " at the start of the recording";
  if (!step) return {};
  return (is_one_of_several ? ", at step " : " at step ") + withCommas(*step);
}

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
  model::Incomplete incomplete = incompleteOf(analysed);
  story.findings =
      analysis::findingsOf(analysed, summary, incomplete, judgement.verdict.has_value());
  if (summary.only_state && !judgement.verdict) {
    tellState(analysed, summary, story);
  } else {
    if (judgement.verdict)
      addOom(analysed, summary, *judgement.verdict, story);
    else
      addPeak(analysed, summary, story);
    for (Sentence& lack : lackSentences(analysed, summary))
      story.add(Topic::kLacks, std::move(lack));
    addLowerBound(analysed, summary, story);
    addUnseenBlocks(analysed, story);
    addHolders(analysed, summary, story);
    addUnused(summary, story);
  }
  // A request that ran out of memory is a fact of one call.
  bool says_so =
      incomplete.isAtLeast(kOfMemory) && story.headline.find("at least") < std::string::npos;
  if (story.kind != Story::Kind::kOom && incomplete.touches(kOfMemory) && !says_so &&
      story.headline.ends_with('.')) {
    story.headline.pop_back();
    story.headline += markOf(incomplete, kOfMemory) + ".";
  }
  return story;
}

}  // namespace tidegauge::report
