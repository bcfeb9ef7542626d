#include "python/engine/answers.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analysis/stated_device.h"
#include "analysis/what_if/replay_proof.h"
#include "analysis/what_if/what_if.h"
#include "export/plot/frag_plot.h"
#include "report/frag/frag_report.h"
#include "report/story/report_json.h"
#include "report/story/report_text.h"
#include "report/what_if/what_if_text.h"
#include "report/words/file_names.h"
#include "report/words/sentence_json.h"

namespace tidegauge::python {
namespace {

using nlohmann::json;

base::Error unknownQuestion(const std::string& question) {
  return {base::ErrorKind::kUsage, "unknown question: " + question, std::nullopt, ""};
}

template <class T>
std::optional<T> optional(const json& options, const char* name) {
  auto found = options.find(name);
  if (found == options.end() || found->is_null()) return std::nullopt;
  return found->get<T>();
}

report::Selection selectionOf(const json& options) {
  report::Selection selection;
  selection.device = optional<int32_t>(options, "device");
  selection.from = optional<std::string>(options, "from").value_or("");
  selection.to = optional<std::string>(options, "to").value_or("");
  return selection;
}

std::string shortName(const OpenTrace& trace) {
  return report::distinctNames({trace.analysed->trace.source.name})[0];
}

// ---- report -------------------------------------------------------------------------------------

analysis::ReplayWish replaysOf(const json& options, const std::stop_token& stop) {
  std::string wanted = options.value("replay", "short");
  if (wanted == "all") return {analysis::Replays::kAll, stop};
  return {wanted == "none" ? analysis::Replays::kNone : analysis::Replays::kShort, stop};
}

base::Result<std::string> reportOf(const OpenTrace& trace, const json& options, bool is_text,
                                   const std::stop_token& stop) {
  const analysis::AnalysedTrace& analysed = *trace.analysed;
  std::optional<uint64_t> capacity_bytes = optional<uint64_t>(options, "capacity_bytes");
  TG_ASSIGN_OR_RETURN(report::Choice choice, report::choose(analysed, selectionOf(options)));
  for (const report::Chosen& chosen : choice.devices)
    TG_RETURN_IF_ERROR(analysis::checkStated(analysed, *chosen.device, {capacity_bytes, {}}));
  if (!is_text)
    return dumped(
        report::reportJson(analysed, choice.devices, capacity_bytes, replaysOf(options, stop)));
  report::TextOptions text;
  text.columns = options.value("columns", size_t{100});
  if (auto top = optional<size_t>(options, "top")) text.brief_holders = text.holders = *top;
  text.name = shortName(trace);
  text.full = options.value("full", false);
  text.evidence = options.value("sql", false);
  text.capacity_bytes = capacity_bytes;
  text.replays = replaysOf(options, stop);
  return report::reportText(analysed, choice.devices, text);
}

// ---- fragmentation ------------------------------------------------------------------------------

report::FragOptions fragOptions(const json& options) {
  report::FragOptions frag;
  frag.samples = options.value("samples", frag.samples);
  frag.arena = options.value("arena", "reserved") == "address" ? report::Arena::kAddress
                                                               : report::Arena::kReserved;
  frag.request_bytes = optional<uint64_t>(options, "request_bytes");
  frag.capacity_bytes = optional<uint64_t>(options, "capacity_bytes");
  return frag;
}

base::Result<std::string> fragPicture(const OpenTrace& trace, const report::FragReport& report) {
  std::string title = fmt::format("Fragmentation of {}, {}", shortName(trace),
                                  analysis::deviceLabel(report.device->device));
  auto canvas = exporting::svgCanvas(exporting::kPlotWidth, exporting::kPlotHeight, title);
  exporting::drawFrag(*canvas, *trace.analysed, report, {.name = shortName(trace)});
  return canvas->finish();
}

base::Result<std::string> fragOf(const OpenTrace& trace, const json& options,
                                 const std::string& question) {
  const analysis::AnalysedTrace& analysed = *trace.analysed;
  TG_ASSIGN_OR_RETURN(report::Choice choice, report::choose(analysed, selectionOf(options)));
  if (question == "frag_svg") {
    if (choice.devices.empty())
      return base::Error{base::ErrorKind::kUsage, "there is no device to plot", std::nullopt, ""};
    return fragPicture(trace,
                       report::gatherFrag(analysed, choice.devices[0], fragOptions(options)));
  }
  json devices = json::array();
  std::string text;
  report::FragTextOptions shown{.columns = options.value("columns", size_t{100})};
  for (const report::Chosen& chosen : choice.devices) {
    report::FragReport report = report::gatherFrag(analysed, chosen, fragOptions(options));
    if (question == "frag") {
      devices.push_back(report::fragJson(analysed, report));
      continue;
    }
    text += (text.empty() ? "" : "\n") + report::fragText(analysed, report, shown);
    shown.words = false;
  }
  if (question == "frag_text") return text;
  return dumped({{"file", report::clean(analysed.trace.source.name)}, {"devices", devices}});
}

// ---- what if ------------------------------------------------------------------------------------

analysis::WhatIfWish wishOf(const json& options, const analysis::DeviceAnalysis& device,
                            std::stop_token stop) {
  using What = analysis::ProgramEdit::What;
  analysis::WhatIfWish wish;
  wish.confs = options.value("settings", std::vector<std::string>());
  wish.capacity_bytes = optional<uint64_t>(options, "capacity_bytes");
  wish.fraction = optional<double>(options, "fraction");
  wish.recorded_capacity_bytes = optional<uint64_t>(options, "recorded_capacity_bytes");
  wish.recorded_fraction = optional<double>(options, "recorded_fraction");
  wish.verify_only = options.value("verify_only", false);
  wish.min_capacity = options.value("min_capacity", false);
  for (const char* kind : {"drop", "halve"})
    for (std::string& stack : options.value(kind, std::vector<std::string>()))
      wish.edits.push_back({kind == std::string_view("drop") ? What::kDrop : What::kHalve, stack});
  wish.with_fit = wish.min_capacity || device.totals.steps() <= analysis::kMaxProofSteps;
  wish.with_causes = true;
  wish.effort.stop = std::move(stop);
  return wish;
}

base::Result<std::string> whatIfOf(const OpenTrace& trace, const json& options, bool is_text,
                                   const std::stop_token& stop) {
  const analysis::AnalysedTrace& analysed = *trace.analysed;
  std::optional<int32_t> only = optional<int32_t>(options, "device");
  json devices = json::array();
  std::string text;
  std::optional<base::Error> refused;
  for (const auto& device : analysed.devices) {
    if (only && device->device.ordinal != *only) continue;
    if (!analysis::isReplayable(*device)) continue;
    analysis::WhatIfWish wish = wishOf(options, *device, stop);
    base::Status stated = analysis::checkStated(
        analysed, *device, {wish.recorded_capacity_bytes, wish.recorded_fraction});
    base::Result<analysis::WhatIf> tried =
        stated.ok() ? analysis::whatIf(analysed, *device, wish) : stated.error();
    if (!tried.ok()) {
      if (!refused) refused = std::move(tried.error());
      continue;
    }
    if (is_text)
      text += (text.empty() ? "" : "\n") +
              report::whatIfText(analysed, *device, tried.value(),
                                 {options.value("columns", size_t{100}), false, wish.verify_only});
    else
      devices.push_back(report::whatIfJson(analysed, *device, tried.value(), wish.verify_only));
  }
  bool is_empty = is_text ? text.empty() : devices.empty();
  if (is_empty && refused) return std::move(*refused);
  if (is_empty)
    return base::Error{base::ErrorKind::kUsage,
                       "there is no memory of PyTorch's caching allocator, so there is nothing to "
                       "replay",
                       std::nullopt, ""};
  if (is_text) return text;
  return dumped({{"file", report::clean(analysed.trace.source.name)}, {"devices", devices}});
}

// ---- curve --------------------------------------------------------------------------------------

// Memory over the steps of a device, in at most `columns` equal parts: the most of each.
base::Result<std::string> curveOf(const OpenTrace& trace, const json& options) {
  TG_ASSIGN_OR_RETURN(report::Choice choice, report::choose(*trace.analysed, selectionOf(options)));
  if (choice.devices.size() != 1)
    return base::Error{base::ErrorKind::kUsage, "a curve is of one device", std::nullopt, ""};
  const analysis::TotalsIndex& totals = choice.devices[0].device->totals;
  uint64_t steps = totals.steps();
  uint64_t columns = std::min<uint64_t>(options.value("columns", uint64_t{600}), steps);
  json begin = json::array(), active = json::array(), reserved = json::array();
  for (uint64_t i = 0; i < columns; ++i) {
    auto first = static_cast<analysis::Step>(i * steps / columns);
    auto end = static_cast<analysis::Step>((i + 1) * steps / columns);
    analysis::Span span = totals.span(first, end);
    begin.push_back(first);
    active.push_back(span.active_max);
    reserved.push_back(span.reserved_max);
  }
  return dumped({{"steps", steps},
                 {"begin_step", begin},
                 {"active_bytes", active},
                 {"reserved_bytes", reserved}});
}

// ---- schema -------------------------------------------------------------------------------------

base::Result<std::string> schemaOf(const OpenTrace& trace) {
  json tables = json::array();
  for (const query::TableDoc& table : trace.database->schema().tables) {
    json columns = json::array();
    for (const query::ColumnDoc& column : table.columns)
      columns.push_back({{"name", column.name},
                         {"kind", query::name(column.kind)},
                         {"doc", column.doc},
                         {"hidden", column.hidden}});
    tables.push_back(
        {{"name", table.name}, {"doc", table.doc}, {"rows", table.rows}, {"columns", columns}});
  }
  const model::Source& source = trace.analysed->trace.source;
  json devices = json::array();
  for (const auto& device : trace.analysed->devices) devices.push_back(device->device.ordinal);
  return dumped({{"tables", tables},
                 {"devices", devices},
                 {"name", report::clean(source.name)},
                 {"short_name", report::clean(shortName(trace))},
                 {"format", source.format},
                 {"container", source.container},
                 {"is_recording", trace.analysed->trace.work != nullptr}});
}

base::Result<std::string> answerOf(const OpenTrace& trace, const std::string& question,
                                   const json& options, const std::stop_token& stop) {
  if (question == "report") return reportOf(trace, options, false, stop);
  if (question == "report_text") return reportOf(trace, options, true, stop);
  if (question.starts_with("frag")) return fragOf(trace, options, question);
  if (question == "whatif") return whatIfOf(trace, options, false, stop);
  if (question == "whatif_text") return whatIfOf(trace, options, true, stop);
  if (question == "curve") return curveOf(trace, options);
  if (question == "schema") return schemaOf(trace);
  return unknownQuestion(question);
}

}  // namespace

std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

base::Result<std::string> answer(const OpenTrace& trace, const std::string& question,
                                 const json& options, std::stop_token stop) {
  base::Result<std::string> found = answerOf(trace, question, options, stop);
  // What was stopped may lack a part without an error.
  if (stop.stop_requested())
    return base::Error{base::ErrorKind::kLimit, "it was cancelled", std::nullopt, ""};
  return found;
}

}  // namespace tidegauge::python
