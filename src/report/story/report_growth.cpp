// The sections "growth" and "never_freed".
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/growth/outstanding.h"
#include "analysis/growth/wall.h"
#include "base/format.h"
#include "base/sizes.h"
#include "report/story/report_parts.h"
#include "report/words/holder_names.h"
#include "report/words/sentence_json.h"

namespace tidegauge::report {
namespace {

using analysis::GrowingStack;
using analysis::Growth;
using analysis::SamplePoints;
using base::humanBytes;
using base::withCommas;
using nlohmann::json;

constexpr size_t kMaxJsonRows = 50;
constexpr size_t kMaxSentences = 3;

uint64_t wholeBytes(double bytes) {
  return static_cast<uint64_t>(std::max(0LL, std::llround(bytes)));
}

json idJson(analysis::StackId stack) { return stack.valid() ? json(stack.value) : json(); }

// No two rows of a list have the same text.
template <class Stacks, class GroupOf>
std::vector<HolderName> namesOf(const analysis::AnalysedTrace& analysed, const Stacks& stacks,
                                size_t limit, GroupOf&& group_of) {
  std::vector<analysis::StackGroup> groups;
  for (const auto& stack : stacks) {
    if (groups.size() == limit) break;
    groups.push_back(group_of(stack));
  }
  return holderNames(analysed, groups, limit);
}

// The unit of a growing stack's growth.
std::string eachOf(const SamplePoints& points) {
  return points.basis == SamplePoints::Basis::kEvents ? "every 1,000 events"
                                                      : "each " + points.name;
}

Sentence sentenceOf(const SectionContext& context, const GrowingStack& stack,
                    const HolderName& name) {
  const Growth& growth = context.summary.growth;
  int device = context.summary.device->device.ordinal;
  bool by_events = growth.points.basis == SamplePoints::Basis::kEvents;
  analysis::Step device_steps = context.summary.device->totals.steps();
  Sentence sentence{
      {code(oneName(name)), plain(" held "), strong(humanBytes(wholeBytes(stack.bytes_per_step))),
       plain(" more after " + eachOf(growth.points) +
             (stack.given_back_bytes > 0 ? ". It held " : ". At the end it held ")),
       strong(humanBytes(stack.retained_bytes)),
       plain(fmt::format(
           " in {}, after growth {} step {}", base::counted(stack.retained_blocks, "block"),
           stack.is_late ? "that began late, at" : "since", withCommas(stack.since_step))),
       plain(stack.is_late ? fmt::format(" of {}.", withCommas(device_steps)) : ".")},
      {},
      {}};
  if (stack.given_back_bytes > 0) {
    bool all = stack.given_back_bytes == stack.retained_bytes;
    sentence.parts.push_back(plain(" The program freed "));
    sentence.parts.push_back(all ? plain("it") : strong(humanBytes(stack.given_back_bytes)));
    sentence.parts.push_back(plain(all ? " only in the clean-up at its end."
                                       : " of it only in the clean-up at its end."));
  }
  if (stack.kind == GrowingStack::Kind::kReplaced) {
    sentence.parts.push_back(plain(" New blocks replace those that the program frees."));
  }
  std::string where = stack.stack.valid() ? fmt::format("= {}", stack.stack.value) : "IS NULL";
  sentence.sql = fmt::format(
      "SELECT {}per_step_bytes, retained_bytes, blocks, since_step, "
      "given_back_bytes{} FROM growth({}) WHERE stack_id {}",
      by_events ? "1000 AS events, " : "",
      stack.is_late
          ? fmt::format(", (SELECT events FROM devices WHERE device = {}) AS steps", device)
          : "",
      device, where);
  sentence.link = growthLink("growing");
  return sentence;
}

// With one digit, or with more if needed to show that it is below the bound: 4.95 is not 5.0.
std::string textBelow(double number, double bound) {
  for (int digits : {1, 3}) {
    double rounded = std::round(number * std::pow(10, digits)) / std::pow(10, digits);
    if (rounded < bound) return fmt::format("{:.{}f}", number, digits);
  }
  return fmt::format("{}", number);
}

constexpr const char* kMarks = "marked_steps, marked_name, 8 AS steps_needed";
static_assert(analysis::kMinGrowthPoints == 8);

// "3 steps are marked (snapshot), too few for growth: 8 are needed."
std::vector<Part> marksOf(const SamplePoints& points) {
  std::vector<Part> parts = {strong(withCommas(points.marked_steps)), plain(" steps are marked ("),
                             code(points.marked_name)};
  parts.push_back(
      plain(points.marked_steps < analysis::kMinGrowthPoints
                ? fmt::format("), too few for growth: {} are needed.", analysis::kMinGrowthPoints)
                : "), but they cover too little of the recording."));
  return parts;
}

std::vector<Sentence> sentencesOf(const SectionContext& context,
                                  const std::vector<HolderName>& names) {
  const Growth& growth = context.summary.growth;
  int device = context.summary.device->device.ordinal;
  auto basis = [&](std::string_view what) {
    return fmt::format("SELECT {} FROM growth_basis({})", what, device);
  };
  std::vector<Sentence> sentences;
  if (growth.verdict == Growth::Verdict::kTooFewPoints) {
    if (context.summary.only_state) return sentences;
    if (growth.points.marked_steps == 0) {
      sentences.push_back({{plain("The recording is too short to detect growth.")}, {}, {}});
    } else {
      sentences.push_back({marksOf(growth.points), {}, basis(kMarks)});
    }
    return sentences;
  }
  if (growth.verdict == Growth::Verdict::kTooLittleTurnover) {
    bool is_marked = growth.points.marked_steps > 0;
    Sentence sentence{{plain("Growth cannot be detected. ")},
                      {},
                      basis(std::string("turnover, 5 AS it_takes") +
                            (is_marked ? std::string(", ") + kMarks : ""))};
    if (is_marked) {
      std::vector<Part> marks = marksOf(growth.points);
      sentence.parts.insert(sentence.parts.end(), marks.begin(), marks.end());
    }
    std::vector<Part> reuse = {
        plain(is_marked ? " The program reused its memory only "
                        : "The recording marks no steps, and the program reused its memory only "),
        strong(textBelow(growth.turnover, analysis::kMinTurnover)),
        plain(is_marked ? " times. Without such steps, at least 5 times are needed, because memory "
                          "always grows within a step."
                        : " times. At least 5 times are needed, because memory always grows within "
                          "a step.")};
    sentence.parts.insert(sentence.parts.end(), reuse.begin(), reuse.end());
    sentences.push_back(std::move(sentence));
    return sentences;
  }
  size_t shown = std::min(kMaxSentences, names.size());
  for (size_t i = 0; i < shown; ++i) {
    sentences.push_back(sentenceOf(context, growth.stacks[i], names[i]));
  }
  if (!growth.stacks.empty()) {
    bool is_cleaned = std::any_of(growth.stacks.begin(), growth.stacks.end(),
                                  [](const GrowingStack& it) { return it.given_back_bytes > 0; });
    if (is_cleaned) {
      sentences.push_back({{plain("From step "), strong(withCommas(growth.points.end)),
                            plain(" on, the program only freed memory until it ended. These "
                                  "sentences describe the time before.")},
                           {},
                           basis("clean_up_step")});
    }
    return sentences;
  }
  bool by_events = growth.points.basis == SamplePoints::Basis::kEvents;
  std::string over =
      by_events
          ? fmt::format("{} slices with equal numbers of events", withCommas(growth.points.size()))
          : fmt::format("{} × {}", withCommas(wholeBytes(growth.points.program_steps)),
                        growth.points.name);
  // A leak that is rare, or shared by many stacks, shows in the sum and in no stack's own line.
  bool rises =
      analysis::wallOf(context.analysed, *context.summary.device, {}, &growth).active.grows();
  sentences.push_back({{plain(rises ? "No single stack grew steadily " : "No stack grew steadily "),
                        plain(by_events ? "over " : "while the program ran "), strong(over),
                        plain(rises ? ", but active memory grew over the recording. Either one "
                                      "stack grows rarely, or many stacks grow a "
                                      "little. “Never freed” lists what stayed, and since which "
                                      "step."
                                    : ".")},
                       {},
                       basis(by_events ? "points" : "program_steps, name")});
  return sentences;
}

json cleanUpJson(const SamplePoints& points, const analysis::DeviceAnalysis& device) {
  return points.end == device.device.steps() ? json() : json(points.end);
}

json rowJson(const SectionContext& context, const GrowingStack& stack) {
  json sparkline = json::array();
  for (uint64_t bytes : stack.outstanding_bytes) sparkline.push_back(bytes);
  return {{"stack_id", idJson(stack.stack)},
          {"label", clean(context.analysed.labels.label(stack.stack))},
          {"caller", clean(context.analysed.names.caller(stack.stack))},
          {"per_step_bytes", std::llround(stack.bytes_per_step)},
          {"least_per_step_bytes", std::llround(stack.low)},
          {"most_per_step_bytes", std::llround(stack.high)},
          {"grown_bytes", stack.grown_bytes},
          {"retained_bytes", stack.retained_bytes},
          {"blocks", stack.retained_blocks},
          {"given_back_bytes", stack.given_back_bytes},
          {"since_step", stack.since_step},
          {"p", stack.p},
          {"rises", stack.rises},
          {"kind", name(stack.kind)},
          {"is_late", stack.is_late},
          {"example_allocation_id", stack.example_row},
          {"outstanding_bytes", sparkline}};
}

Section growthSection(const SectionContext& context) {
  const Growth& growth = context.summary.growth;
  int device = context.summary.device->device.ordinal;
  Section section{.key = "growth", .title = "Growth", .json = {}};
  std::vector<HolderName> names =
      namesOf(context.analysed, growth.stacks, std::max(context.rows, kMaxSentences),
              [](const GrowingStack& stack) { return analysis::StackGroup{.stack = stack.stack}; });
  section.sentences = sentencesOf(context, names);
  std::string rows_sql = fmt::format("SELECT * FROM growth({})", device);
  if (growth.stacks.size() > kMaxSentences) {
    Grid grid{.heads = {"per step", "retained", "blocks", "since step", "stack"},
              .more = growth.stacks.size() - std::min(context.rows, names.size()),
              .sql = rows_sql,
              .link = growthLink("growing")};
    for (size_t i = 0; i < std::min(context.rows, names.size()); ++i) {
      const GrowingStack& stack = growth.stacks[i];
      grid.rows.push_back({humanBytes(wholeBytes(stack.bytes_per_step)),
                           humanBytes(stack.retained_bytes), withCommas(stack.retained_blocks),
                           withCommas(stack.since_step), oneName(names[i])});
    }
    section.grid = std::move(grid);
  }
  json rows = json::array();
  for (const GrowingStack& stack : growth.stacks) rows.push_back(rowJson(context, stack));
  bool by_events = growth.points.basis == SamplePoints::Basis::kEvents;
  section.json = {
      {"basis", by_events ? "events" : "steps"},
      {"name", by_events ? json() : json(clean(growth.points.name))},
      {"program_steps", growth.points.program_steps},
      {"points", growth.points.size()},
      {"verdict", name(growth.verdict)},
      {"turnover", growth.turnover},
      {"marked_steps", growth.points.marked_steps},
      {"marked_name",
       growth.points.marked_steps > 0 ? json(clean(growth.points.marked_name)) : json()},
      {"growing", growth.growing},
      {"clean_up_step", cleanUpJson(growth.points, *context.summary.device)},
      {"sql", fmt::format("SELECT * FROM growth_basis({})", device)},
      {"point_steps", growth.points.steps},
      {"rows", rows},
      {"rows_sql", rows_sql}};
  return section;
}

Section neverFreedSection(const SectionContext& context) {
  int device = context.summary.device->device.ordinal;
  // Without a history there is no recording, so nothing is older than it.
  bool has_steps = !context.summary.only_state;
  analysis::Outstanding found = analysis::neverFreed(context.analysed, *context.summary.device);
  Section section{.key = "never_freed", .title = "Never freed", .json = {}};
  std::string sums_sql = fmt::format(
      "SELECT ifnull(sum(bytes), 0) AS bytes, ifnull(sum(blocks), 0) AS blocks, "
      "ifnull(sum(older_bytes), 0) AS older_bytes, count(*) AS stacks FROM never_freed({})",
      device);
  std::string rows_sql = fmt::format("SELECT * FROM never_freed({})", device);
  std::vector<HolderName> names = namesOf(
      context.analysed, found.stacks, context.rows, [&](const analysis::OutstandingStack& stack) {
        return analysis::StackGroup{.stack = stack.stack,
                                    .block_bytes = stack.bytes,
                                    .older_bytes = has_steps ? stack.older_bytes : 0};
      });
  if (found.blocks > 0) {
    Sentence sentence{{plain("The program had not freed "), strong(humanBytes(found.bytes)),
                       plain(fmt::format(" in {} when the {}", base::counted(found.blocks, "block"),
                                         has_steps ? "recording ended" : "file was written"))},
                      growthLink("never_freed"),
                      fmt::format("SELECT sum(bytes), sum(blocks), sum(older_bytes) FROM "
                                  "never_freed({})",
                                  device)};
    if (found.older_bytes > 0 && has_steps) {
      sentence.parts.insert(sentence.parts.end(),
                            {plain("; "), strong(humanBytes(found.older_bytes)),
                             plain(" of it were allocated before the recording")});
    }
    sentence.parts.push_back(
        plain(". This is not necessarily a leak: the file does not show whether the program still "
              "used them."));
    section.sentences.push_back(std::move(sentence));
    Grid grid{.heads = has_steps ? std::vector<std::string>{"bytes", "blocks", "older", "from step",
                                                            "to step", "stack"}
                                 : std::vector<std::string>{"bytes", "blocks", "stack"},
              .more = found.stacks.size() - std::min(context.rows, found.stacks.size()),
              .sql = rows_sql,
              .link = growthLink("never_freed")};
    auto stepText = [](analysis::Step step) {
      return step == model::kNoStep ? std::string("–") : withCommas(step);
    };
    for (size_t i = 0; i < std::min(context.rows, names.size()); ++i) {
      const analysis::OutstandingStack& stack = found.stacks[i];
      std::vector<std::string> row = {humanBytes(stack.bytes), withCommas(stack.blocks)};
      if (has_steps) {
        row.insert(row.end(), {base::sizeOrZero(stack.older_bytes), stepText(stack.oldest_step),
                               stepText(stack.newest_step)});
      }
      row.push_back(oneName(names[i]));
      grid.rows.push_back(std::move(row));
    }
    section.grid = std::move(grid);
  }
  json rows = json::array();
  for (size_t i = 0; i < std::min(kMaxJsonRows, found.stacks.size()); ++i) {
    const analysis::OutstandingStack& stack = found.stacks[i];
    auto stepJson = [](analysis::Step step) {
      return step == model::kNoStep ? json() : json(step);
    };
    json row = {{"stack_id", idJson(stack.stack)},
                {"label", clean(context.analysed.labels.label(stack.stack))},
                {"caller", clean(context.analysed.names.caller(stack.stack))},
                {"bytes", stack.bytes},
                {"blocks", stack.blocks},
                {"older_bytes", stack.older_bytes},
                {"oldest_step", stepJson(stack.oldest_step)},
                {"newest_step", stepJson(stack.newest_step)},
                {"largest_allocation_id", stack.largest_row}};
    for (size_t q = 0; q < 4; ++q) {
      row[fmt::format("quarter{}_bytes", q + 1)] = stack.by_quarter_bytes[q];
    }
    rows.push_back(std::move(row));
  }
  section.json = {{"bytes", found.bytes},
                  {"blocks", found.blocks},
                  {"older_bytes", found.older_bytes},
                  {"stacks", found.stacks.size()},
                  {"sql", sums_sql},
                  {"rows", rows},
                  {"rows_sql", rows_sql + fmt::format(" LIMIT {}", kMaxJsonRows)}};
  return section;
}

}  // namespace

std::vector<Section> growthSections(const SectionContext& context) {
  std::vector<Section> sections;
  sections.push_back(growthSection(context));
  sections.push_back(neverFreedSection(context));
  return sections;
}

}  // namespace tidegauge::report
