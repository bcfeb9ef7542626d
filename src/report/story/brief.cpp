#include "report/story/brief.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "analysis/summary.h"
#include "base/format.h"
#include "base/sizes.h"
#include "base/text_layout.h"
#include "report/oom/advice_words.h"
#include "report/oom/oom_story.h"
#include "report/recording/lack_words.h"
#include "report/recording/recording_report.h"
#include "report/story/finding_words.h"
#include "report/story/labelled_page.h"
#include "report/story/level_chart.h"
#include "report/story/report_parts.h"
#include "report/story/story.h"
#include "report/words/file_names.h"
#include "report/words/holder_names.h"
#include "report/words/incomplete_words.h"
#include "report/words/text_page.h"

namespace tidegauge::report {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceSummary;
using base::counted;
using base::humanBytes;
using base::withCommas;

// How much of each kind fits; the first that is short enough is taken.
struct Share {
  size_t why, holders, odd, others;
};
constexpr std::array<Share, 7> kShares = {{{5, 4, 4, 4},
                                           {4, 4, 3, 3},
                                           {3, 3, 2, 2},
                                           {3, 3, 1, 1},
                                           {2, 2, 1, 1},
                                           {1, 2, 1, 1},
                                           {1, 1, 0, 1}}};

// The worst shortage first, then the highest peak.
size_t mostImportant(const std::vector<DeviceSummary>& all) {
  auto badness = [](const DeviceSummary& it) {
    bool is_oom = !it.ooms.empty();
    bool is_gpu = it.device->device.kind == model::DeviceKind::kGpu;
    return std::tuple(is_oom, is_oom ? it.ooms[it.explained_oom].overBytes() : 0, is_gpu,
                      it.peak.active.bytes, it.final.active_bytes);
  };
  size_t first = 0;
  for (size_t i = 1; i < all.size(); ++i)
    if (badness(all[i]) > badness(all[first])) first = i;
  return first;
}

class Brief {
 public:
  Brief(const AnalysedTrace& analysed, const std::vector<Chosen>& devices,
        const TextOptions& options)
      : analysed_(analysed), options_(options) {
    for (const Chosen& chosen : devices)
      all_.push_back(analysis::summarise(analysed, *chosen.device, chosen.oom));
    recording_ = recordingSections(analysed, 1);
    if (all_.empty()) return;
    shown_ = mostImportant(all_);
    judgement_.emplace(
        analysis::judge(analysed, all_[shown_], options.capacity_bytes, options.replays));
    story_ = makeStory(analysed, all_[shown_], *judgement_);
  }

  std::string write() const {
    std::string text;
    for (const Share& share : kShares) {
      text = page(share);
      auto lines = static_cast<size_t>(std::ranges::count(text, '\n'));
      if (lines <= options_.lines || options_.evidence) break;
    }
    return text;
  }

 private:
  std::string page(const Share& share) const {
    LabelledPage out(options_.columns, options_.colour, options_.evidence);
    title(out);
    if (all_.empty()) {
      out.page().paragraph(nothingWords(analysed_.trace));
      model::Incomplete incomplete = incompleteOf(analysed_);
      if (incomplete.any())
        out.page().paragraph("Incomplete: " + whyIncomplete(incomplete, incomplete.figures()) +
                             ".");
      return out.take();
    }
    heading(out);
    what(out);
    why(out, share.why);
    helps(out);
    who(out, share.holders);
    odd(out, share.odd);
    others(out, share.others);
    more(out);
    return out.take();
  }

  const DeviceSummary& summary() const { return all_[shown_]; }
  int ordinal() const { return summary().device->device.ordinal; }
  bool hasHistory() const { return !summary().only_state; }

  void title(LabelledPage& out) const {
    const model::Source& source = analysed_.trace.source;
    std::string name = options_.name.empty() ? lastParts(source.name, 1) : options_.name;
    out.page().heading(fmt::format("{}: {}, {}", name, humanBytes(source.data_bytes),
                                   counted(analysed_.trace.events.size(), "event")));
    out.evidence("SELECT data_bytes, events FROM file", {});
  }

  void heading(LabelledPage& out) const {
    out.page().heading(fmt::format("{}: {}{}", analysis::deviceLabel(summary().device->device),
                                   story_.eyebrow, hasHistory() ? story_.placeText() : ""));
    LevelChartOptions chart{
        .columns = std::min(options_.columns, TextPage::kMaxProse),
        .colour = options_.colour,
        .capacity_bytes = capacity(),
        .capacity_at_most = !knowsDevice() && summary().unmapped_bytes > 0,
        .active_at_least = summary().peak.is_at_least,
        .reserved_at_least = summary().peak.bounds.reserved == model::Bound::kAtLeast};
    for (const analysis::OomReport& oom : summary().ooms) chart.oom_steps.push_back(oom.step);
    if (!out.page().isNarrow() && hasHistory())
      for (const std::string& line : levelChart(*summary().device, chart))
        out.page().raw(line + '\n');
    out.evidence(chartSql(), {});
  }

  // The labels of the chart, and the step of the heading.
  std::string chartSql() const {
    int device = ordinal();
    std::string numbers = fmt::format(
        "0 AS first_step, events - 1 AS last_step, max(peak_active_bytes, peak_reserved_bytes) AS "
        "peak_bytes, nullif(peak_active_step, -1) AS peak_active_step, (SELECT max(ceiling_bytes) "
        "FROM ooms({})) AS ceiling_bytes",
        device);
    if (capacity()) numbers += fmt::format(", {} AS capacity_bytes", *capacity());
    if (story_.kind == Story::Kind::kOom)
      numbers += fmt::format(
          ", (SELECT step FROM ooms({0}) WHERE step = {1}) AS oom_step, (SELECT "
          "sum(ifnull(refusals, 1)) FROM ooms({0})) AS failed_requests",
          device, *story_.step);
    return fmt::format("SELECT {} FROM devices WHERE device = {}", numbers, device);
  }

  bool knowsDevice() const {
    return options_.capacity_bytes || summary().device->device.total_bytes != model::kUnknownBytes;
  }

  // Of the device, if it is known; else the most that this process could have had.
  std::optional<uint64_t> capacity() const {
    if (options_.capacity_bytes) return options_.capacity_bytes;
    uint64_t total = summary().device->device.total_bytes;
    return total != model::kUnknownBytes ? std::optional(total) : summary().ceiling_bytes;
  }

  void what(LabelledPage& out) const {
    out.page().blank();
    out.label("What happened");
    out.paragraph(story_.headline);
    out.evidence(story_.headline_sql, {});
    if (story_.kind == Story::Kind::kOom)
      for (const Sentence& sentence : story_.of(Topic::kWhat)) out.sentence(sentence);
    for (const Sentence& sentence : story_.of(Topic::kLacks)) out.sentence(sentence);
    if (const Sentence* ended = firstOf("process")) out.sentence(*ended);
  }

  // The first sentence of a section about the recording; null: there is none.
  const Sentence* firstOf(std::string_view key) const {
    auto found = std::ranges::find(recording_, key, &Section::key);
    return found == recording_.end() || found->sentences.empty() ? nullptr
                                                                 : &found->sentences.front();
  }

  void why(LabelledPage& out, size_t most) const {
    std::vector<Sentence> sentences = story_.of(Topic::kWhy);
    if (sentences.empty()) return;
    out.page().blank();
    out.label("Why");
    for (size_t i = 0; i < std::min(most, sentences.size()); ++i) out.sentence(sentences[i]);
  }

  // First what a replay proved, with its line to copy; else the first two rules of thumb.
  void helps(LabelledPage& out) const {
    const std::vector<analysis::Advice>& all = judgement_->advice;
    if (std::ranges::all_of(all, isOdd)) return;
    out.page().blank();
    out.label("What helps");
    bool is_proven = all[0].effect && all[0].effect->helps;
    size_t told = 0;
    for (size_t i = 0; i < all.size() && told < (is_proven ? 1U : 2U); ++i) {
      if (all[i].isDisproved()) break;
      if (isOdd(all[i])) continue;
      advice(out, i, is_proven);
      ++told;
    }
    // A smaller batch has a size.
    bool is_unmapped = judgement_->verdict && judgement_->verdict->not_on_device_bytes > 0;
    if (!is_proven && judgement_->proof && !is_unmapped) {
      SectionContext context{analysed_, summary(), 1, options_.capacity_bytes, &*judgement_->proof};
      if (auto fit = fitSentence(context)) out.sentence(*fit);
    }
    std::string disproved = disprovedWords(
        analysed_, all, told == 0 ? "Nothing that was tried helps" : "Does not help");
    if (disproved.empty()) return;
    out.paragraph(disproved);
    out.evidence(fmt::format("SELECT DISTINCT setting, step FROM {} WHERE helps = 0",
                             adviceTable(ordinal(), options_.capacity_bytes)),
                 {});
  }

  void advice(LabelledPage& out, size_t index, bool is_proven) const {
    const analysis::Advice& one = judgement_->advice[index];
    std::string table = adviceTable(ordinal(), options_.capacity_bytes);
    std::string copy = copyLine(analysed_, one);
    if (is_proven && !copy.empty()) {
      bool is_call = one.setting.empty() && one.effect->conf.empty();
      out.copyable(is_call && one.step
                       ? fmt::format("{}  before step {}", copy, withCommas(*one.step + 1))
                       : copy);
    } else {
      out.paragraph(adviceText(analysed_, one));
      out.evidence(fmt::format("SELECT name, value, step, setting FROM {} WHERE place = {}", table,
                               index + 1),
                   {});
      if (!copy.empty() && !one.setting.empty()) out.copyable(copy);
    }
    if (auto effect = effectSentence(one, index + 1, table)) out.sentence(*effect);
  }

  // Names a fact, and nothing to try.
  static bool isOdd(const analysis::Advice& advice) {
    return advice.kind == analysis::AdviceKind::kNotInEffect;
  }

  void who(LabelledPage& out, size_t most) const {
    const analysis::Holders& holders =
        summary().at_oom ? *summary().at_oom : summary().peak.holders;
    if (holders.groups.empty() || holders.block_bytes == 0) return;
    out.page().blank();
    out.label("Who holds it");
    std::vector<analysis::StackGroup> groups = holders.groups;
    if (!hasHistory())  // without a recording, nothing is older than it
      for (analysis::StackGroup& group : groups) group.older_bytes = 0;
    most = options_.brief_holders.value_or(most);
    std::vector<HolderName> names = holderNames(analysed_, groups, most);
    struct Row {
      uint64_t bytes;
      std::string blocks, name;
    };
    std::vector<Row> rows;
    uint64_t rest = holders.block_bytes;
    for (size_t i = 0; i < names.size(); ++i) {
      rest -= groups[i].block_bytes;
      rows.push_back(
          {groups[i].block_bytes, withCommas(groups[i].blocks) + " ×",
           oneName(names[i]) + poolMark(analysed_.trace, judgement_->verdict, groups[i])});
    }
    if (names.size() < groups.size())
      rows.push_back({rest, "", "in " + counted(groups.size() - names.size(), "more stack")});
    size_t width = 0;
    for (const Row& row : rows) width = std::max(width, base::displayWidth(row.blocks));
    for (const Row& row : rows) {
      double share =
          100.0 * static_cast<double>(row.bytes) / static_cast<double>(holders.block_bytes);
      out.row(fmt::format("{:>9} {:>5.1f} % {}", humanBytes(row.bytes), share,
                          base::padLeft(row.blocks, width)),
              row.name);
    }
    out.evidence(fmt::format("SELECT * FROM holders({}, {})", ordinal(), holders.place()), {});
    SectionContext context{analysed_, summary(), 1, options_.capacity_bytes, nullptr};
    for (const Sentence& sentence : tensorsSection(context).sentences) out.sentence(sentence);
  }

  void odd(LabelledPage& out, size_t most) const {
    std::vector<Sentence> all;
    SectionContext context{analysed_, summary(), 1, options_.capacity_bytes, nullptr};
    for (const analysis::Advice& one : judgement_->advice)
      if (isOdd(one)) all.push_back({{plain(adviceText(analysed_, one))}, {}});
    if (const Sentence* refused = firstOf("refused")) all.push_back(*refused);
    if (!summary().growth.stacks.empty() && !summary().peak.active_bounds) {
      std::vector<Section> growth = growthSections(context);
      all.push_back(growth.front().sentences.front());
    }
    for (const analysis::Finding& finding : story_.findings) {
      if (finding.in_story) continue;
      Sentence sentence = findingSentence(analysed_, summary(), finding);
      sentence.parts.push_back(plain("."));
      all.push_back(std::move(sentence));
    }
    for (const Sentence& sentence : story_.of(Topic::kRest)) all.push_back(sentence);
    if (all.empty() || most == 0) return;
    out.page().blank();
    out.label("What is odd");
    for (size_t i = 0; i < std::min(most, all.size()); ++i) out.sentence(all[i], true);
  }

  void others(LabelledPage& out, size_t most) const {
    if (all_.size() < 2) return;
    out.page().blank();
    out.label("Other devices");
    size_t told = 0;
    for (size_t i = 0; i < all_.size() && told < most; ++i) {
      if (i == shown_) continue;
      const DeviceSummary& it = all_[i];
      if (it.only_state) {
        out.paragraph(fmt::format("{}: final state only; {} active.",
                                  analysis::deviceLabel(it.device->device),
                                  humanBytes(it.final.active_bytes)));
        out.evidence(fmt::format("SELECT final_active_bytes FROM devices WHERE device = {}",
                                 it.device->device.ordinal),
                     {});
        ++told;
        continue;
      }
      std::string ooms =
          it.ooms.empty() ? "no request failed" : counted(it.ooms.size(), "out-of-memory event");
      out.paragraph(fmt::format("{}: peak active {}, peak reserved {}; {}.",
                                analysis::deviceLabel(it.device->device), boundedActive(it.peak),
                                boundedReserved(it.peak, it.peak.reserved.bytes), ooms));
      out.evidence(
          fmt::format("SELECT peak_active_bytes, peak_reserved_bytes{1}, (SELECT count(*) FROM "
                      "ooms({0})) AS ooms FROM devices WHERE device = {0}",
                      it.device->device.ordinal, boundColumns(it.peak)),
          {});
      ++told;
    }
    if (told + 1 < all_.size())
      out.paragraph(
          fmt::format("{} more; --device N selects one.", withCommas(all_.size() - 1 - told)));
  }

  void more(LabelledPage& out) const {
    out.page().blank();
    out.label("More");
    out.paragraph(options_.evidence
                      ? "report --full FILE prints every section; tidegauge view FILE shows them."
                      : "report --full FILE prints every section, --sql the query of each number; "
                        "tidegauge view FILE shows them.");
  }

  const AnalysedTrace& analysed_;
  const TextOptions& options_;
  std::vector<DeviceSummary> all_;
  std::vector<Section> recording_;  // empty: a snapshot
  size_t shown_ = 0;
  std::optional<analysis::Judgement> judgement_;  // absent: the file has no device
  Story story_;
};

}  // namespace

std::string briefText(const AnalysedTrace& analysed, const std::vector<Chosen>& devices,
                      const TextOptions& options) {
  return Brief(analysed, devices, options).write();
}

}  // namespace tidegauge::report
