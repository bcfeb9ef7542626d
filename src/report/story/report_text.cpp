#include "report/story/report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/sizes.h"
#include "model/recorded_work.h"
#include "report/oom/advice_words.h"
#include "report/oom/oom_story.h"
#include "report/recording/lack_words.h"
#include "report/recording/recording_report.h"
#include "report/recording/settings_words.h"
#include "report/story/brief.h"
#include "report/story/finding_words.h"
#include "report/story/report_parts.h"
#include "report/story/story.h"
#include "report/words/file_names.h"
#include "report/words/holder_names.h"
#include "report/words/incomplete_words.h"
#include "report/words/section_text.h"
#include "report/words/text_page.h"

namespace tidegauge::report {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceSummary;
using base::counted;
using base::humanBytes;
using base::padLeft;
using base::sizeOrZero;
using base::withCommas;
using model::Bound;

double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

class Report {
 public:
  Report(const AnalysedTrace& analysed, const TextOptions& options)
      : analysed_(analysed),
        options_(options),
        incomplete_(incompleteOf(analysed)),
        page_(options.columns, options.colour) {}

  std::string write(const std::vector<Chosen>& devices) {
    header();
    for (const Section& each : recordingSections(analysed_, options_.holders)) section(each);
    for (const Chosen& chosen : devices) {
      page_.blank();
      chosen.range ? rangeSection(*chosen.device, *chosen.range)
                   : deviceSection(summarise(analysed_, *chosen.device, chosen.oom));
    }
    if (devices.empty()) page_.paragraph(nothingWords(analysed_.trace));
    issues();
    settings();
    return page_.take();
  }

 private:
  void header() {
    const model::Source& source = analysed_.trace.source;
    page_.heading(options_.name.empty() ? lastParts(source.name, 1) : options_.name);
    std::string format =
        source.container.empty() ? source.format : source.format + " in " + source.container;
    const std::vector<model::Provenance>& all = analysed_.trace.allocations.provenance;
    // Without events there is no recording, so nothing is older than it.
    uint64_t older = analysed_.trace.events.size() == 0
                         ? 0
                         : static_cast<uint64_t>(std::count_if(
                               all.begin(), all.end(),
                               [](model::Provenance each) { return model::isOlder(each); }));
    std::string blocks = counted(all.size() - older, "allocation");
    if (older > 0) blocks += " and " + counted(older, "older block");
    page_.paragraph(fmt::format("{}, {}, {}, {}, {}", humanBytes(source.data_bytes), format,
                                counted(analysed_.trace.events.size(), "event"), blocks,
                                counted(analysed_.trace.stacks.size(), "stack")));
    if (!options_.evidence) return;
    evidence(older == 0 ? "SELECT data_bytes, format, events, allocations, stacks FROM file"
                        : "SELECT data_bytes, format, events, (SELECT count(*) FROM allocations "
                          "WHERE provenance NOT IN ('before_recording', 'ghost')) AS allocated, "
                          "(SELECT count(*) FROM allocations WHERE provenance IN "
                          "('before_recording', 'ghost')) AS older, stacks FROM file",
             {});
    page_.faint(
        "A line with › names the view that shows the numbers above it, and the SQL query that "
        "gives them: tidegauge query FILE \"SQL\"",
        2, 2);
  }

  void evidence(const std::string& sql, const std::optional<Link>& link, size_t indent = 2) {
    SectionText(page_, options_.evidence).evidence(sql, link, indent);
  }
  static int ordinalOf(const analysis::DeviceAnalysis& device) { return device.device.ordinal; }
  static std::string placeText(const analysis::Peak& peak, analysis::Step first) {
    if (peak.at_start) return "the start of the recording";
    return peak.step < first ? "the state before them" : "step " + withCommas(peak.step);
  }

  void deviceSection(const DeviceSummary& summary) {
    analysis::Judgement judgement =
        analysis::judge(analysed_, summary, options_.capacity_bytes, options_.replays);
    Story story = makeStory(analysed_, summary, judgement);
    std::string place;
    if (story.at_start || (story.step && summary.device->totals.steps() > 0)) {
      place = story.placeText();
      if (!story.at_start && summary.device->time.timeOf(*story.step) != model::kNoTime)
        place += fmt::format(", {} s", secondsAt(*summary.device, *story.step));
    }
    page_.heading(fmt::format("{}: {}{}", analysis::deviceLabel(summary.device->device),
                              story.eyebrow, place));
    page_.paragraph(story.headline);
    evidence(story.headline_sql, {});
    sentences(story.all());
    bool has_steps = !summary.only_state;
    int device = ordinalOf(*summary.device);
    totals(summary.initial, summary.final, summary.peak, "start", has_steps,
           model::isAtLeast(analysed_.trace, device), summary.device->device.knows_requests);
    evidence(fmt::format("SELECT * FROM devices WHERE device = {}", device), {});
    holders(summary.at_oom ? *summary.at_oom : summary.peak.holders,
            summary.at_oom ? "out-of-memory event"
            : has_steps    ? "peak"
                           : "end",
            device, has_steps, {}, judgement.verdict);
    SectionContext context{analysed_, summary, options_.holders, options_.capacity_bytes,
                           judgement.proof ? &*judgement.proof : nullptr};
    for (const Section& each : sectionsOf(context)) section(each);
    phases(summary);
    findings(summary, story);
    advice(judgement.advice, ordinalOf(*summary.device));
    identities(summary);
  }

  void sentences(const std::vector<Sentence>& all) {
    SectionText(page_, options_.evidence).sentences(all);
  }

  void section(const Section& section) {
    SectionText(page_, options_.evidence).section(section, markOf(incomplete_, kOfHolders));
  }

  void rangeSection(const analysis::DeviceAnalysis& device, const analysis::StepRange& range) {
    RangeSummary summary = summariseRange(analysed_, device, range);
    std::string times;
    if (device.time.present()) {
      times =
          fmt::format(", {} – {} s", secondsAt(device, range.first), secondsAt(device, range.last));
    }
    page_.heading(fmt::format("{}: steps {} – {} of {}{}", analysis::deviceLabel(device.device),
                              withCommas(range.first), withCommas(range.last),
                              withCommas(device.totals.steps()), times));
    evidence(fmt::format("SELECT first_step, last_step, events, first_seconds, last_seconds FROM "
                         "range_totals({}, {}, {})",
                         ordinalOf(device), range.first, range.last),
             {});
    for (const analysis::OomReport& oom : summary.ooms) {
      if (&oom - summary.ooms.data() == static_cast<ptrdiff_t>(options_.holders)) {
        page_.bullet(fmt::format("There are {} in total.",
                                 counted(summary.ooms.size(), "out-of-memory event")));
        evidence(fmt::format("SELECT count(*) FROM ooms({}) WHERE step BETWEEN {} AND {}",
                             ordinalOf(device), range.first, range.last),
                 {}, 4);
        break;
      }
      std::string asked =
          oom.requested_bytes ? humanBytes(*oom.requested_bytes) : "an unknown size";
      std::string left =
          oom.device_free_bytes ? humanBytes(*oom.device_free_bytes) : "an unknown amount";
      page_.bullet(
          fmt::format("Out of memory at step {}: the program requested {}; the driver had {} free.",
                      withCommas(oom.step), asked, left));
      evidence(fmt::format("SELECT step, requested_bytes, device_free_bytes "
                           "FROM ooms({}) WHERE step = {}",
                           ordinalOf(device), oom.step),
               {}, 4);
    }
    for (const std::string& note : range.notes) page_.bullet(note);
    totals(summary.before, summary.after, summary.peak, "before", true,
           model::isAtLeast(analysed_.trace, ordinalOf(device)), device.device.knows_requests,
           range.first);
    evidence(fmt::format("SELECT * FROM range_totals({}, {}, {})", ordinalOf(device), range.first,
                         range.last),
             {});
    holders(summary.peak.holders,
            fmt::format("peak of these steps, {}", placeText(summary.peak.active, range.first)),
            ordinalOf(device), true,
            fmt::format("SELECT peak_step, h.* FROM range_totals({0}, {1}, {2}), "
                        "holders({0}, peak_step) AS h WHERE what = 'active'",
                        ordinalOf(device), range.first, range.last));
  }

  // Seconds since the device's first event; unsigned: times in a hostile file may overflow.
  static std::string secondsAt(const analysis::DeviceAnalysis& device, analysis::Step step) {
    uint64_t since_us = static_cast<uint64_t>(device.time.timeOf(step)) -
                        static_cast<uint64_t>(device.time.firstUs());
    return fmt::format("{:.3f}", static_cast<double>(since_us) / 1e6);
  }

  // The state before the first step may be the peak. Without a history, no peak is known.
  void totals(const analysis::Totals& start, const analysis::Totals& end,
              const analysis::PeakReport& peaks, const char* before, bool has_steps, bool at_least,
              bool knows_requests, analysis::Step first_step = 0) {
    auto size = [&](uint64_t bytes, model::Bound bound = model::Bound::kExact) {
      bool at_most = bound == model::Bound::kAtMost && bytes > 0;
      const char* mark = at_least || bound == model::Bound::kAtLeast ? "≥ " : at_most ? "≤ " : "";
      return mark + sizeOrZero(bytes);
    };
    // The end of the recording comes from the final state; that of a range does not.
    bool is_range = std::string_view(before) != "start";
    auto end_bound = [&](model::Bound bound) { return is_range ? bound : model::Bound::kExact; };
    page_.blank();
    if (!page_.isNarrow()) {
      page_.line(
          fmt::format("  {:<12}{:>14}{:>14}{:>14}   {}", "", before, "end", "peak", "at step"));
    }
    auto row = [&](const char* name, uint64_t at_start, uint64_t at_end, const analysis::Peak& peak,
                   model::Bound bound) {
      std::string mark = markOf(incomplete_, kOfMemory);
      bool is_before = peak.at_start || peak.step < first_step;
      std::string step = !has_steps ? "–" : is_before ? before : withCommas(peak.step);
      std::string most = has_steps ? size(peak.bytes, bound) : "–";
      std::string first = has_steps ? size(at_start, bound) : "–";
      std::string last = size(at_end, end_bound(bound));
      step += mark;
      if (page_.isNarrow()) {
        std::string at = (peak.at_start ? " at the start"
                          : is_before   ? " before the first step"
                                        : " at step " + withCommas(peak.step)) +
                         mark;
        page_.paragraph(has_steps ? fmt::format("{}: peak {}{}", name, most, at)
                                  : fmt::format("{}{}", name, mark),
                        2, 2);
        page_.paragraph(fmt::format("{} {}, end {}", before, first, last), 4);
        return;
      }
      page_.line(fmt::format("  {:<12}{:>14}{:>14}{:>14}   {}", name, first, last, most, step));
    };
    // With the longest lives, larger blocks than the requests show only add to the upper bound.
    analysis::Peak active = peaks.active, allocated = peaks.allocated;
    uint64_t active_start = start.active_bytes, allocated_start = start.allocated_bytes;
    model::Bound active_bound = peaks.bounds.active, allocated_bound = peaks.bounds.allocated;
    if (peaks.active_bounds && peaks.active_bounds->at_most_bytes == model::kUnknownBytes) {
      active_bound = allocated_bound = model::Bound::kAtLeast;
    } else if (peaks.active_bounds && active_bound == model::Bound::kAtMost) {
      active.bytes = allocated.bytes = peaks.active_bounds->at_most_bytes;
      active_start = allocated_start = peaks.active_bounds->initial_at_most_bytes;
    }
    model::Bound requested_bound = active_bound;  // requests are in the events, not inferred
    if (peaks.is_at_least && active_bound == model::Bound::kExact) active_bound = Bound::kAtLeast;
    if (peaks.is_at_least && allocated_bound == model::Bound::kExact)
      allocated_bound = Bound::kAtLeast;
    if (knows_requests) {
      bool unseen = peaks.active_bounds && peaks.active_bounds->blocks_unseen;
      row("requested", unseen ? active_start : start.requested_bytes, end.requested_bytes,
          unseen ? active : peaks.requested, requested_bound);
    } else {
      page_.line(
          fmt::format("  {:<12}{:>14}{:>14}{:>14}", "requested", "unknown", "unknown", "unknown"));
    }
    row("allocated", allocated_start, end.allocated_bytes, allocated, allocated_bound);
    row("active", active_start, end.active_bytes, active, active_bound);
    row("reserved", start.reserved_bytes, end.reserved_bytes, peaks.reserved,
        peaks.bounds.reserved);
    if (!std::exchange(explained_totals_, true)) {
      page_.faint(
          seesOnlySegments(analysed_.trace)
              ? "requested, allocated, active: PyTorch's segments, because the recording "
                "does not contain its blocks; reserved: memory held from the driver"
              : "requested: bytes that the program requested; allocated: the blocks that "
                "serve them; active: these blocks, and freed ones that another stream still "
                "uses; reserved: segments held from the driver",
          2, 2);
    }
    if (at_least) {
      page_.faint(
          "≥: lower bound, because the recording shows only part of the memory allocated before it",
          2, 2);
    }
    for (const std::string& words : lackWords(peaks, knows_requests)) page_.faint(words, 2, 2);
    if (incomplete_.touches(kOfMemory)) {
      page_.paragraph(howIncomplete(incomplete_, kOfMemory));
      evidence(analysis::kIncompleteSql, {});
    }
    if (peaks.uncertain_bytes > 0 && peaks.is_order_uncertain) {
      page_.paragraph(fmt::format(
          "Calls of several threads ran at the same time, so their order is not known. Active, "
          "allocated and requested peaks may be higher or lower by at most {}.",
          humanBytes(peaks.uncertain_bytes)));
    } else if (peaks.uncertain_bytes > 0 && !peaks.active_bounds && has_steps) {
      page_.paragraph(fmt::format("Active and allocated peaks may be higher by at most {}.",
                                  humanBytes(peaks.uncertain_bytes)));
    }
    if (peaks.reserved_uncertain_bytes > 0) {
      page_.paragraph(
          fmt::format("The reserved peak may be higher or lower by at most {}, because "
                      "calls of several threads ran at the same time.",
                      humanBytes(peaks.reserved_uncertain_bytes)));
    }
  }

  void holders(const analysis::Holders& holders, const std::string& at, int device, bool has_steps,
               const std::string& sql = {},
               const std::optional<analysis::OomVerdict>& verdict = {}) {
    if (holders.groups.empty()) return;
    page_.blank();
    page_.heading(
        fmt::format("Holders of {} at the {}: {}, {}{}", humanBytes(holders.block_bytes), at,
                    counted(holders.blocks, "block"), counted(holders.groups.size(), "stack"),
                    markOf(incomplete_, kOfHolders)),
        2);
    std::vector<analysis::StackGroup> groups = holders.groups;
    if (!has_steps) {  // without a recording, nothing is older than it
      for (analysis::StackGroup& group : groups) group.older_bytes = 0;
    }
    std::vector<HolderName> names = holderNames(analysed_, groups, options_.holders);
    uint64_t rest = holders.block_bytes;
    for (size_t i = 0; i < names.size(); ++i) {
      const analysis::StackGroup& group = holders.groups[i];
      rest -= group.block_bytes;
      holderRow(group.block_bytes, holders.block_bytes,
                fmt::format("{:>7} ×", withCommas(group.blocks)),
                oneName(names[i]) + poolMark(analysed_.trace, verdict, group));
    }
    if (names.size() < holders.groups.size()) {
      holderRow(rest, holders.block_bytes, "",
                "in " + counted(holders.groups.size() - names.size(), "more stack"));
    }
    evidence(
        sql.empty() ? fmt::format("SELECT * FROM holders({}, {})", device, holders.place()) : sql,
        {});
  }

  void holderRow(uint64_t bytes, uint64_t all_bytes, const std::string& blocks,
                 const std::string& name) {
    std::string numbers =
        fmt::format("  {:>11}  {:>5.1f} %  ", humanBytes(bytes), percent(bytes, all_bytes));
    page_.row(
        blocks.empty() ? numbers.substr(0, numbers.find_last_not_of(' ') + 1) : numbers + blocks,
        name);
  }

  void phases(const DeviceSummary& summary) {
    if (summary.phases.empty()) return;
    page_.blank();
    page_.heading(fmt::format("Phases (annotations): {} with events on this device",
                              withCommas(summary.phases_total)),
                  2);
    if (!page_.isNarrow()) {
      page_.line(
          fmt::format("  {:>12}{:>13}  {:<23}  {}", "peak active", "change", "steps", "name"));
    }
    size_t shown = std::min<size_t>(options_.holders, summary.phases.size());
    for (size_t i = 0; i < shown; ++i) phaseRow(summary.phases[i], summary.peak.is_at_least);
    if (shown < summary.phases_total) {
      page_.line(fmt::format("  {} more", withCommas(summary.phases_total - shown)));
    }
    evidence(fmt::format("SELECT * FROM phases({})", ordinalOf(*summary.device)), {});
  }

  void phaseRow(const analysis::PhaseSummary& phase, bool is_at_least) {
    std::string_view name =
        analysed_.trace.strings.text(analysed_.trace.annotations.name[phase.annotation]);
    std::string indent(size_t{phase.depth} * 2, ' ');
    std::string steps =
        fmt::format("{} – {}", withCommas(phase.begin_step), withCommas(phase.end_step - 1));
    std::string peak = (is_at_least ? "≥ " : "") + humanBytes(phase.peak_active_bytes);
    std::string grew = base::humanDelta(phase.grew_bytes);
    if (page_.isNarrow()) {
      page_.line(fmt::format("  {}{}", indent, name));
      return page_.paragraph(fmt::format("peak {}, change {}, steps {}", peak, grew, steps), 4);
    }
    page_.row(fmt::format("  {:>12}{}  {}", peak, padLeft(grew, 13), base::padRight(steps, 23)),
              fmt::format("{}{}", indent, name));
  }

  void findings(const DeviceSummary& summary, const Story& story) {
    if (story.findings.empty()) return;
    page_.blank();
    page_.heading("Findings", 2);
    for (const analysis::Finding& finding : story.findings) {
      Sentence sentence = findingSentence(analysed_, summary, finding);
      page_.bullet(plainText(sentence.parts));
      evidence(sentence.sql, sentence.link, 4);
    }
  }

  void advice(const std::vector<analysis::Advice>& all, int device) {
    auto of = [&](bool disproved, const char* title) {
      bool has_title = false;
      for (size_t i = 0; i < all.size(); ++i) {
        if (all[i].isDisproved() != disproved) continue;
        if (!std::exchange(has_title, true)) {
          page_.blank();
          page_.heading(title, 2);
        }
        oneAdvice(all[i], i + 1, adviceTable(device, options_.capacity_bytes));
      }
    };
    of(false, "What to try");
    of(true, "What does not help");
  }

  void oneAdvice(const analysis::Advice& advice, size_t place, const std::string& table) {
    page_.bullet(adviceText(analysed_, advice));
    evidence(
        fmt::format("SELECT name, value, step, setting FROM {} WHERE place = {}", table, place), {},
        4);
    if (auto effect = effectSentence(advice, place, table)) {
      page_.paragraph(plainText(effect->parts), 4);
      evidence(effect->sql, effect->link, 4);
    }
  }

  void identities(const DeviceSummary& summary) {
    page_.blank();
    page_.heading("Checks: sums that must agree", 2);
    if (!std::exchange(explained_checks_, true)) {
      page_.faint(
          "active: the sum of all blocks that Tidegauge shows; lost: the alloc or free event is "
          "missing, although it happened during the recording",
          2, 2);
    }
    for (const analysis::Identity& identity : summary.identities) {
      page_.bullet((identity.holds ? "ok: " : "DIFFERS: ") + identity.text);
    }
    evidence(fmt::format("SELECT * FROM identities({})", ordinalOf(*summary.device)), {});
  }

  void issues() {
    const auto& all = analysed_.trace.issues.all();
    if (all.empty()) return;
    page_.blank();
    page_.heading("Issues found while reading the file");
    for (const model::Issue& issue : all) {
      std::string head = fmt::format("{} × {}", withCommas(issue.count), model::name(issue.kind));
      if (issue.device != model::Issue::kNoDevice)
        head += fmt::format(" on device {}", issue.device);
      if (!issue.detail.empty()) head += " (" + issue.detail + ")";
      if (issue.bytes > 0) head += ", " + humanBytes(issue.bytes);
      if (std::optional<uint64_t> step = firstStep(analysed_, issue)) {
        head += fmt::format(", first at step {}", withCommas(*step));
      } else if (issue.first_offset != model::Issue::kNone) {
        head += fmt::format(", first at byte {}", withCommas(issue.first_offset));
      }
      page_.paragraph(head);
      page_.paragraph(model::meaning(issue.kind), 4);
    }
    evidence("SELECT * FROM issues", {});
  }

  void settings() {
    const model::AllocatorSettings& settings = analysed_.trace.settings;
    if (!settings.present) return;
    page_.blank();
    page_.paragraph("Allocator settings: " + settingsWords(settings), 0);
    evidence("SELECT * FROM settings", {});
  }

  const AnalysedTrace& analysed_;
  const TextOptions& options_;
  model::Incomplete incomplete_;
  TextPage page_;
  bool explained_totals_ = false;  // terms are explained once
  bool explained_checks_ = false;
};

}  // namespace

std::string reportText(const AnalysedTrace& analysed, const std::vector<Chosen>& devices,
                       const TextOptions& options) {
  bool has_range =
      std::ranges::any_of(devices, [](const Chosen& it) { return it.range.has_value(); });
  if (!options.full && !has_range) return briefText(analysed, devices, options);
  return Report(analysed, options).write(devices);
}

std::string reportText(const AnalysedTrace& analysed, const TextOptions& options) {
  std::vector<Chosen> all;
  for (const auto& device : analysed.devices) all.push_back({device.get(), std::nullopt});
  return reportText(analysed, all, options);
}

}  // namespace tidegauge::report
