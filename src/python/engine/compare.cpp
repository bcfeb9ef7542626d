#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analysis/compare/diff.h"
#include "analysis/compare/diff_ranks.h"
#include "python/engine/answers.h"
#include "report/diff/diff_json.h"
#include "report/diff/diff_text.h"
#include "report/diff/ranks_text.h"
#include "report/words/file_names.h"

namespace tidegauge::python {
namespace {

using nlohmann::json;

base::Result<analysis::DiffSide> sideOf(const OpenTrace& trace, std::optional<int32_t> device,
                                        const std::string& at, const std::string& name) {
  auto named = [&](base::Error error) {
    error.what = name + ": " + error.what;
    return error;
  };
  auto devices = analysis::diffDevices(*trace.analysed, device);
  if (!devices.ok()) return named(devices.error());
  auto side = analysis::diffSide(*trace.analysed, devices.value(), at);
  if (!side.ok()) return named(side.error());
  return side;
}

}  // namespace

base::Result<std::string> compare(const std::vector<const OpenTrace*>& traces,
                                  const std::string& question, const json& options) {
  std::vector<std::string> paths;
  for (const OpenTrace* trace : traces) paths.push_back(trace->analysed->trace.source.name);
  std::vector<std::string> names = report::distinctNames(paths);
  std::vector<analysis::DiffSide> sides;
  for (size_t i = 0; i < traces.size(); ++i) {
    // "at_a" before "at"; ranks have no place of their own.
    auto of = [&](const std::string& option) -> json {
      json own = i < 2 ? options.value(option + (i == 0 ? "_a" : "_b"), json()) : json();
      return own.is_null() ? options.value(option, json()) : own;
    };
    json at = of("at"), device = of("device");
    TG_ASSIGN_OR_RETURN(
        analysis::DiffSide side,
        sideOf(*traces[i], device.is_null() ? std::nullopt : std::optional(device.get<int32_t>()),
               at.is_null() ? std::string("peak") : at.get<std::string>(), names[i]));
    sides.push_back(std::move(side));
  }
  if (sides.size() < 2)
    return base::Error{base::ErrorKind::kUsage, "a comparison needs two traces", std::nullopt, ""};
  size_t columns = options.value("columns", size_t{100});
  bool is_text = question == "diff_text";
  if (sides.size() > 2) {
    analysis::RankTable table = analysis::ranksOf(sides);
    if (is_text)
      return report::ranksText(sides, table, names,
                               {false, columns, options.value("top", size_t{8})});
    return dumped(report::ranksJson(sides, table, names));
  }
  std::optional<report::DiffBy> by = report::diffByName(options.value("by", "stack"));
  if (!by)
    return base::Error{base::ErrorKind::kUsage, "by must be stack, category, size or segment",
                       std::nullopt, ""};
  analysis::Diff diff = analysis::diffOf(std::move(sides[0]), std::move(sides[1]));
  if (!is_text)
    return dumped(report::diffJson(diff, report::diffTable(diff, *by), names[0], names[1]));
  report::DiffTextOptions text;
  text.columns = columns;
  text.top = options.value("top", text.top);
  text.by = *by;
  text.name_a = names[0];
  text.name_b = names[1];
  return report::diffText(diff, text);
}

}  // namespace tidegauge::python
