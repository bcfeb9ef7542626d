#include "report/diff/diff_json.h"

#include "analysis/summary.h"
#include "report/diff/diff_words.h"
#include "report/diff/ranks_text.h"
#include "report/words/holder_names.h"
#include "report/words/incomplete_words.h"

namespace tidegauge::report {
namespace {

using analysis::Change;
using analysis::Diff;
using analysis::DiffSide;
using nlohmann::json;

template <class T>
json orNull(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

json sideJson(const DiffSide& side, const std::string& name) {
  json devices = json::array();
  for (const analysis::DiffPoint& point : side.points) {
    int64_t time = point.device->time.timeOf(point.step);
    bool events = point.device->totals.steps() > 0;
    devices.push_back({{"device", point.device->device.ordinal},
                       {"label", analysis::deviceLabel(point.device->device)},
                       {"events", point.device->totals.steps()},
                       {"step", events ? json(point.place().place()) : json()},
                       {"time_us", time == model::kNoTime ? json() : json(time)}});
  }
  return {{"file", side.analysed->trace.source.name},
          {"name", name},
          {"at", side.at},
          {"devices", std::move(devices)},
          {"requested_bytes", side.totals.requested_bytes},
          {"allocated_bytes", side.totals.allocated_bytes},
          {"active_bytes", side.totals.active_bytes},
          {"reserved_bytes", side.totals.reserved_bytes},
          {"blocks", side.rows.size()},
          {"incomplete", incompleteList(incompleteOf(*side.analysed), kOfHolders)}};
}

json idsJson(const std::vector<analysis::StackId>& stacks) {
  json ids = json::array();
  for (analysis::StackId stack : stacks) ids.push_back(stack.value);
  return ids;
}

json rowJson(const ShownRow& shown, DiffBy by) {
  json row = {{"label", shown.label},
              {"change", analysis::name(shown.row.change())},
              {"change_bytes", shown.row.changeBytes()},
              {"a_bytes", shown.row.a.bytes},
              {"b_bytes", shown.row.b.bytes},
              {"a_blocks", shown.row.a.blocks},
              {"b_blocks", shown.row.b.blocks}};
  if (by != DiffBy::kStack) {
    row["key"] = shown.key;
    return row;
  }
  row["caller"] = shown.caller;
  row["match"] =
      shown.row.a.blocks > 0 && shown.row.b.blocks > 0 ? json(analysis::name(shown.match)) : json();
  row["a_line"] = orNull(shown.line_a);
  row["b_line"] = orNull(shown.line_b);
  row["a_stack_ids"] = idsJson(shown.stacks_a);
  row["b_stack_ids"] = idsJson(shown.stacks_b);
  return row;
}

json sumsJson(const DiffTable& table) {
  const analysis::DiffSums& sums = table.sums;
  json rows = json::object();
  for (size_t i = 0; i < analysis::kChanges; ++i) {
    rows[std::string(analysis::name(static_cast<Change>(i)))] = sums.rows[i];
  }
  return {{"a_bytes", table.total_a_bytes},
          {"b_bytes", table.total_b_bytes},
          {"change_bytes", sums.change_bytes},
          {"more_bytes", sums.moreBytes()},
          {"less_bytes", sums.lessBytes()},
          {"adds_up", table.adds_up},
          {"rows", std::move(rows)}};
}

json eventsJson(const std::optional<analysis::DiffEvents>& events) {
  if (!events) return nullptr;
  json pause;
  if (events->pause) {
    pause = {{"step", events->pause->step},
             {"a_us", events->pause->us_a},
             {"b_us", events->pause->us_b}};
  }
  return {{"a", events->events_a},
          {"b", events->events_b},
          {"same_from_start", events->same},
          {"a_length_us", orNull(events->length_us_a)},
          {"b_length_us", orNull(events->length_us_b)},
          {"longest_pause", std::move(pause)}};
}

}  // namespace

json diffJson(const Diff& diff, const DiffTable& table, const std::string& name_a,
              const std::string& name_b) {
  json rows = json::array();
  for (const ShownRow& shown : table.rows) rows.push_back(rowJson(shown, table.by));
  return {{"kind", "pair"},
          {"a", sideJson(diff.a, name_a)},
          {"b", sideJson(diff.b, name_b)},
          {"alike", diff.isAlike()},
          {"verdict", diffVerdict(diff)},
          {"particulars", diffParticulars(diff)},
          {"events", eventsJson(diff.events)},
          {"by", name(table.by)},
          {"total", sumsJson(table)},
          {"rows", std::move(rows)}};
}

json ranksJson(const std::vector<DiffSide>& sides, const analysis::RankTable& table,
               const std::vector<std::string>& names) {
  json ranks = json::array();
  for (size_t i = 0; i < sides.size(); ++i) {
    json rank = sideJson(sides[i], names[i]);
    rank["distance_bytes"] = table.ranks[i].distance_bytes;
    rank["deviations"] = orNull(table.ranks[i].deviations);
    rank["stands_out"] = table.ranks[i].stands_out;
    ranks.push_back(std::move(rank));
  }
  std::vector<HolderName> labels = rankRowNames(table, table.rows.size());
  json rows = json::array();
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const analysis::RankRow& row = table.rows[i];
    json bytes = json::array();
    json blocks = json::array();
    for (const analysis::Held& held : row.held) {
      bytes.push_back(held.bytes);
      blocks.push_back(held.blocks);
    }
    rows.push_back({{"label", labels[i].label},
                    {"caller", labels[i].caller},
                    {"median_bytes", row.median_bytes},
                    {"spread_bytes", row.spread_bytes},
                    {"bytes", std::move(bytes)},
                    {"blocks", std::move(blocks)}});
  }
  std::optional<size_t> odd = table.oddOne();
  return {{"kind", "ranks"},
          {"verdict", ranksVerdict(sides, table, names)},
          {"odd_one", odd ? json(*odd) : json()},
          {"median_active_bytes", table.median_active_bytes},
          {"median_reserved_bytes", table.median_reserved_bytes},
          {"median_distance_bytes", table.median_distance_bytes},
          {"ranks", std::move(ranks)},
          {"rows", std::move(rows)}};
}

}  // namespace tidegauge::report
