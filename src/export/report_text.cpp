#include "export/report_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/text_layout.h"
#include "export/story.h"

namespace tidegauge::exporting {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceSummary;
using base::counted;
using base::humanBytes;
using base::padLeft;
using base::withCommas;

class Report {
 public:
  Report(const AnalysedTrace& analysed, const TextOptions& options)
      : analysed_(analysed), options_(options) {}

  std::string write() {
    header();
    for (const auto& device : analysed_.devices) deviceSection(summarise(analysed_, *device));
    if (analysed_.devices.empty()) {
      line("No device: the file holds no segments and no events.");
    }
    issues();
    settings();
    return out_;
  }

 private:
  void line(std::string_view text) {
    out_ += base::cutTo(base::printable(text), options_.columns) + '\n';
  }
  void paragraph(std::string_view text, size_t indent = 2, size_t hanging = 0) {
    out_ += base::wrapped(base::printable(text), options_.columns, indent, hanging);
  }
  void bullet(std::string_view text) { paragraph(fmt::format("- {}", text), 2, 2); }
  void blank() { out_ += '\n'; }
  void heading(std::string_view text) {
    std::string cut = base::cutTo(base::printable(text), options_.columns);
    out_ += (options_.colour ? "\033[1m" + cut + "\033[0m" : cut) + '\n';
  }

  void header() {
    const model::Source& source = analysed_.trace.source;
    std::string name = source.name.substr(source.name.find_last_of('/') + 1);
    heading(name);
    std::string format =
        source.container.empty() ? source.format : source.format + " in " + source.container;
    line(fmt::format("  {}, {}, {}, {}, {}", humanBytes(source.data_bytes), format,
                     counted(analysed_.trace.events.size(), "event"),
                     counted(analysed_.trace.allocations.size(), "allocation"),
                     counted(analysed_.trace.stacks.size(), "stack")));
  }

  void deviceSection(const DeviceSummary& summary) {
    Story story = tellStory(analysed_, summary);
    blank();
    std::string place;
    if (story.step && summary.device->totals.steps() > 0) {
      place = fmt::format(" at step {}", withCommas(*story.step));
      int64_t time = summary.device->time.timeOf(*story.step);
      if (time != model::kNoTime) {
        uint64_t since_us =
            static_cast<uint64_t>(time) - static_cast<uint64_t>(summary.device->time.firstUs());
        place += fmt::format(", {:.3f} s", static_cast<double>(since_us) / 1e6);
      }
    }
    heading(fmt::format("{}: {}{}", analysis::deviceLabel(summary.device->device), story.eyebrow,
                        place));
    paragraph(story.headline);
    for (const Sentence& sentence : story.sentences) bullet(plainText(sentence.parts));
    totals(summary);
    holders(summary.at_oom ? *summary.at_oom : summary.peak.holders,
            summary.at_oom                        ? "out of memory"
            : summary.device->totals.steps() == 0 ? "end"
                                                  : "peak");
    phases(summary);
    findings(story);
    identities(summary);
  }

  void totals(const DeviceSummary& summary) {
    blank();
    line(fmt::format("  {:<12}{:>14}{:>14}{:>14}   {}", "", "start", "end", "peak", "at step"));
    auto row = [&](const char* name, uint64_t start, uint64_t end, const analysis::Peak& peak) {
      line(fmt::format("  {:<12}{:>14}{:>14}{:>14}   {}", name, humanBytes(start), humanBytes(end),
                       humanBytes(peak.bytes),
                       summary.device->totals.steps() == 0 ? "–" : withCommas(peak.step)));
    };
    row("requested", summary.initial.requested_bytes, summary.final.requested_bytes,
        summary.peak.requested);
    row("allocated", summary.initial.allocated_bytes, summary.final.allocated_bytes,
        summary.peak.allocated);
    row("active", summary.initial.active_bytes, summary.final.active_bytes, summary.peak.active);
    row("reserved", summary.initial.reserved_bytes, summary.final.reserved_bytes,
        summary.peak.reserved);
    if (summary.peak.uncertain_bytes > 0) {
      line(fmt::format("  Active and allocated peaks may be higher by at most {}.",
                       humanBytes(summary.peak.uncertain_bytes)));
    }
  }

  void holders(const analysis::Holders& holders, const char* at) {
    if (holders.groups.empty()) return;
    blank();
    heading(fmt::format("  Who holds {} at the {}: {}, {}", humanBytes(holders.block_bytes), at,
                        counted(holders.blocks, "block"), counted(holders.groups.size(), "stack")));
    size_t shown = std::min(options_.holders, holders.groups.size());
    uint64_t rest = holders.block_bytes;
    for (size_t i = 0; i < shown; ++i) {
      const analysis::StackGroup& group = holders.groups[i];
      rest -= group.block_bytes;
      std::string label = analysed_.labels.label(group.stack);
      if (!group.stack.valid() && group.older_bytes == group.block_bytes) {
        label = "older than the recording, no stack";
      }
      std::string caller = analysed_.labels.caller(group.stack);
      if (!caller.empty()) label += " ‹ " + caller;
      line(fmt::format("  {:>11}  {:>5.1f} %  {:>7} ×  {}", humanBytes(group.block_bytes),
                       percent(group.block_bytes, holders.block_bytes), withCommas(group.blocks),
                       label));
    }
    if (shown < holders.groups.size()) {
      line(fmt::format("  {:>11}  {:>5.1f} %  in {}", humanBytes(rest),
                       percent(rest, holders.block_bytes),
                       counted(holders.groups.size() - shown, "more stack")));
    }
  }

  static double percent(uint64_t part, uint64_t whole) {
    return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  }

  void phases(const DeviceSummary& summary) {
    if (summary.phases.empty()) return;
    blank();
    heading(fmt::format("  Phases: {} with events", counted(summary.phases_total, "annotation")));
    line(fmt::format("  {:>12}{:>13}  {:<23}  {}", "peak active", "grew by", "steps", "name"));
    size_t shown = std::min<size_t>(options_.holders, summary.phases.size());
    for (size_t i = 0; i < shown; ++i) {
      const analysis::PhaseSummary& phase = summary.phases[i];
      std::string steps =
          fmt::format("{} – {}", withCommas(phase.begin_step), withCommas(phase.end_step - 1));
      line(fmt::format(
          "  {:>12}{}  {}  {}{}", humanBytes(phase.peak_active_bytes),
          padLeft(base::humanDelta(phase.grew_bytes), 13), base::padRight(steps, 23),
          std::string(phase.depth * 2, ' '),
          analysed_.trace.strings.text(analysed_.trace.annotations.name[phase.annotation])));
    }
    if (shown < summary.phases_total) {
      line(fmt::format("  {} more: SELECT * FROM annotations",
                       withCommas(summary.phases_total - shown)));
    }
  }

  void findings(const Story& story) {
    if (story.findings.empty()) return;
    blank();
    heading("  Findings");
    for (const Finding& finding : story.findings) {
      std::string text = plainText(finding.parts);
      if (finding.bytes) text += ": " + humanBytes(*finding.bytes);
      bullet(text);
    }
  }

  void identities(const DeviceSummary& summary) {
    blank();
    heading("  Checks");
    for (const analysis::Identity& identity : summary.identities) {
      bullet((identity.holds ? "holds: " : "DIFFERS: ") + identity.text);
    }
  }

  void issues() {
    const auto& all = analysed_.trace.issues.all();
    if (all.empty()) return;
    blank();
    heading("Issues met while reading");
    for (const model::Issue& issue : all) {
      std::string head = fmt::format("{} × {}", withCommas(issue.count), model::name(issue.kind));
      if (issue.device != model::Issue::kNoDevice)
        head += fmt::format(" on device {}", issue.device);
      if (!issue.detail.empty()) head += " (" + issue.detail + ")";
      if (issue.bytes > 0) head += ", " + humanBytes(issue.bytes);
      if (issue.first_step != model::Issue::kNone) {
        head += fmt::format(", first at step {}", withCommas(issue.first_step));
      } else if (issue.first_offset != model::Issue::kNone) {
        head += fmt::format(", first at byte {}", withCommas(issue.first_offset));
      }
      paragraph(head);
      paragraph(model::meaning(issue.kind), 4);
    }
  }

  void settings() {
    const model::AllocatorSettings& settings = analysed_.trace.settings;
    if (!settings.present) return;
    blank();
    paragraph(
        "Allocator settings: " + (settings.conf.empty() ? std::string("default") : settings.conf),
        0);
  }

  const AnalysedTrace& analysed_;
  const TextOptions& options_;
  std::string out_;
};

}  // namespace

std::string reportText(const AnalysedTrace& analysed, const TextOptions& options) {
  return Report(analysed, options).write();
}

}  // namespace tidegauge::exporting
