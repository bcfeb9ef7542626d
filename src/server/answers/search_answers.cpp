// Search, its hits one by one, and the legend.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/format.h"
#include "server/session/questions.h"
#include "server/wire/allocation_json.h"
#include "server/wire/stack_names.h"
#include "view/filter/search.h"
#include "view/timeline/legend.h"

namespace tidegauge::server {
namespace {

constexpr size_t kMaxQueryBytes = 1000;
constexpr int64_t kMaxStacks = 1000;
constexpr size_t kMaxAnnotations = 200;

json stackHitJson(const analysis::AnalysedTrace& analysed, const view::StackHit& hit,
                  const report::HolderName& name, const std::vector<std::string>& words) {
  std::string label = shownText(name.label);
  auto [begin, end] = view::matchIn(label, words);
  return {{"stack_id", hit.stack.value},
          {"label", std::move(label)},
          {"caller", shownText(name.caller)},
          {"slot", analysed.labels.colourSlot(hit.stack)},
          {"match", {begin, end}},
          {"count", hit.count},
          {"bytes", hit.bytes},
          {"first_id", hit.first_row}};
}

json stackHitsJson(const analysis::AnalysedTrace& analysed, const view::SearchResult& found,
                   size_t limit) {
  std::vector<model::StackId> stacks;
  for (size_t i = 0; i < std::min(limit, found.stacks.size()); ++i) {
    stacks.push_back(found.stacks[i].stack);
  }
  std::vector<report::HolderName> names = stackNames(analysed, stacks);
  json rows = json::array();
  for (size_t i = 0; i < stacks.size(); ++i) {
    rows.push_back(stackHitJson(analysed, found.stacks[i], names[i], found.words));
  }
  return rows;
}

// For the rows of a legend by stack.
void nameStacks(const analysis::AnalysedTrace& analysed, std::vector<view::LegendRow>& rows) {
  std::vector<model::StackId> stacks;
  std::vector<view::LegendRow*> named;
  for (view::LegendRow& row : rows) {
    uint32_t stack = 0;
    const char* end = row.key.data() + row.key.size();
    if (std::from_chars(row.key.data(), end, stack).ptr != end) continue;
    stacks.emplace_back(stack);
    named.push_back(&row);
  }
  std::vector<report::HolderName> names = stackNames(analysed, stacks);
  for (size_t i = 0; i < names.size(); ++i) named[i]->caller = std::move(names[i].caller);
}

json annotationHitsJson(const Place& place, const std::vector<uint32_t>& annotations) {
  const model::Trace& trace = place.file->analysed->trace;
  std::vector<const analysis::Phase*> phase_of(trace.annotations.size(), nullptr);
  for (const analysis::Phase& phase : place.device->phases) phase_of[phase.annotation] = &phase;
  json rows = json::array();
  for (uint32_t row : annotations) {
    if (rows.size() == kMaxAnnotations) break;
    if (phase_of[row] == nullptr) continue;
    rows.push_back({{"id", row},
                    {"name", shownText(trace.strings.text(trace.annotations.name[row]))},
                    {"begin_step", phase_of[row]->begin_step},
                    {"end_step", phase_of[row]->end_step}});
  }
  return rows;
}

}  // namespace

base::Result<Response> answerSearch(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  TG_ASSIGN_OR_RETURN(int64_t limit, question.params.integer("limit", 0, kMaxStacks, 50));
  std::string query = question.params.text("q");
  if (query.find_first_not_of(' ') == std::string::npos) {
    return notUsable("q is empty");
  }
  if (query.size() > kMaxQueryBytes) {
    return notUsable(fmt::format("q is longer than {} bytes", kMaxQueryBytes));
  }
  const analysis::AnalysedTrace& analysed = *place.file->analysed;
  view::SearchResult found = view::search(analysed, place.device->device, query);
  json stacks = stackHitsJson(analysed, found, static_cast<size_t>(limit));
  size_t count = found.rows.size();
  auto mark = std::make_shared<const view::MarkSet>(std::move(found.rows),
                                                    analysed.trace.allocations.size());
  json answer = {{"mark", place.file->marks.add(std::move(mark))},
                 {"count", count},
                 {"bytes", found.bytes},
                 {"stacks_total", found.stacks.size()},
                 {"stacks", std::move(stacks)},
                 {"annotations_total", found.annotations.size()},
                 {"annotations", annotationHitsJson(place, found.annotations)},
                 {"address", found.address ? json(base::hexAddress(*found.address)) : json()}};
  return jsonResponse(answer);
}

base::Result<Response> answerHit(const Question& question) {
  TG_ASSIGN_OR_RETURN(OpenFile * file, fileOf(question));
  TG_ASSIGN_OR_RETURN(int64_t number, question.params.integer("mark", 0, UINT32_MAX));
  std::shared_ptr<const view::MarkSet> mark = file->marks.find(number);
  if (mark == nullptr) return notUsable("This mark is no longer available", "Search again");
  const std::vector<uint32_t>& rows = mark->rows();
  if (rows.empty()) return notUsable("This mark has no members");
  TG_ASSIGN_OR_RETURN(int64_t index,
                      question.params.integer("index", 0, static_cast<int64_t>(rows.size()) - 1));
  return jsonResponse({{"index", index},
                       {"count", rows.size()},
                       {"allocation", allocationJson(*file, rows[static_cast<size_t>(index)])}});
}

base::Result<Response> answerLegend(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  TG_ASSIGN_OR_RETURN(int64_t step, question.params.integer("step", 0, model::kNoStep - 1));
  std::optional<view::LegendBy> by = view::legendByName(question.params.text("by", "stack"));
  if (!by) {
    return notUsable("by must be stack, category, stream, pool, size, age or provenance");
  }
  view::Legend legend =
      view::legendAt(*place.file->analysed, *place.device, static_cast<view::Step>(step), *by);
  if (*by == view::LegendBy::kStack) nameStacks(*place.file->analysed, legend.rows);
  json rows = json::array();
  for (const view::LegendRow& row : legend.rows) {
    rows.push_back({{"key", row.key},
                    {"slot", row.slot},
                    {"label", shownText(row.label)},
                    {"caller", shownText(row.caller)},
                    {"bytes", row.bytes},
                    {"blocks", row.blocks}});
  }
  return jsonResponse(
      {{"step", step}, {"total_bytes", legend.total_bytes}, {"rows", std::move(rows)}});
}

}  // namespace tidegauge::server
