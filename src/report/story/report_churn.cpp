// The section "churn".
#include <fmt/format.h>

#include "analysis/growth/churn.h"
#include "base/format.h"
#include "base/sizes.h"
#include "report/story/report_parts.h"
#include "report/words/holder_names.h"
#include "report/words/sentence_json.h"

namespace tidegauge::report {

using analysis::ChurnStack;
using base::humanBytes;
using base::withCommas;
using nlohmann::json;

Section churnSection(const SectionContext& context) {
  constexpr size_t kMaxJsonRows = 50;
  int device = context.summary.device->device.ordinal;
  const analysis::SamplePoints& points = context.summary.growth.points;
  analysis::Churn churn = analysis::churnOf(context.analysed, *context.summary.device, points);
  Section section{
      .key = "churn", .title = "Churn: memory freed soon after its allocation", .json = {}};
  std::string rows_sql = fmt::format("SELECT * FROM churn({})", device);
  std::string sums_sql = fmt::format("SELECT * FROM churn_sums({})", device);
  bool by_events = points.basis == analysis::SamplePoints::Basis::kEvents;
  if (churn.blocks[2] > 0) {
    Sentence sentence;
    sentence.parts = {plain("Of "),
                      strong(base::counted(churn.allocations, "allocation")),
                      plain(", the program freed "),
                      strong(withCommas(churn.blocks[0])),
                      plain(" within 1 later allocation, "),
                      strong(withCommas(churn.blocks[1])),
                      plain(" within 10 and "),
                      strong(withCommas(churn.blocks[2])),
                      plain(" within 100. The last group has "),
                      strong(humanBytes(churn.bytes[2])),
                      plain(", or "),
                      strong(humanBytes(churn.perStepBytes())),
                      plain(by_events ? " per 1,000 events" : " per " + points.name),
                      plain("; "),
                      strong(churn.peak_bytes == 0 ? "none" : humanBytes(churn.peak_bytes)),
                      plain(churn.peak_bytes == 0 ? " of it was active at the peak."
                                                  : " of it were active at the peak.")};
    sentence.sql = fmt::format("SELECT 1, 10, 100, 1000, * FROM churn_sums({})", device);
    sentence.link = growthLink("churn");
    section.sentences.push_back(std::move(sentence));
    std::vector<analysis::StackGroup> groups;
    for (const ChurnStack& stack : churn.stacks) {
      if (groups.size() == context.rows) break;
      groups.push_back({.stack = stack.stack});
    }
    std::vector<HolderName> names = holderNames(context.analysed, groups, context.rows);
    Grid grid{.heads = {"bytes freed", "allocations", "at the peak", "stack"},
              .more = churn.stacks.size() - names.size(),
              .sql = rows_sql,
              .link = growthLink("churn")};
    for (size_t i = 0; i < names.size(); ++i) {
      const ChurnStack& stack = churn.stacks[i];
      grid.rows.push_back({humanBytes(stack.bytes[2]), withCommas(stack.blocks[2]),
                           base::sizeOrZero(stack.peak_bytes), oneName(names[i])});
    }
    section.grid = std::move(grid);
  }
  auto sums = [](const auto& of, json& into) {
    for (size_t w = 0; w < analysis::kChurnWindows.size(); ++w) {
      into[fmt::format("blocks_{}", analysis::kChurnWindows[w])] = of.blocks[w];
      into[fmt::format("within_{}_bytes", analysis::kChurnWindows[w])] = of.bytes[w];
    }
    into["peak_bytes"] = of.peak_bytes;
  };
  json rows = json::array();
  for (const ChurnStack& stack : churn.stacks) {
    if (rows.size() == kMaxJsonRows) break;
    json row = {{"stack_id", stack.stack.valid() ? json(stack.stack.value) : json()},
                {"label", clean(context.analysed.labels.label(stack.stack))},
                {"caller", clean(context.analysed.names.caller(stack.stack))},
                {"largest_allocation_id", stack.largest_row},
                {"slice_bytes", stack.slice_bytes}};
    sums(stack, row);
    rows.push_back(std::move(row));
  }
  section.json = {{"allocations", churn.allocations},
                  {"allocated_bytes", churn.allocated_bytes},
                  {"program_steps", churn.program_steps},
                  {"per_step_bytes", churn.perStepBytes()},
                  {"stacks", churn.stacks.size()},
                  {"sql", sums_sql},
                  {"rows", rows},
                  {"rows_sql", rows_sql + fmt::format(" LIMIT {}", kMaxJsonRows)}};
  sums(churn, section.json);
  return section;
}

}  // namespace tidegauge::report
