#include "record/doctor_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text_layout.h"

namespace tidegauge::record {
namespace {

constexpr size_t kVerdictWidth = 9;

void add(std::string& text, const std::vector<Finding>& findings, size_t columns, size_t widest) {
  size_t name_width = 0;
  for (const Finding& it : findings)
    name_width = std::max(name_width, std::min(base::displayWidth(it.what), widest));
  for (const Finding& it : findings) {
    std::string line = base::padRight(std::string(name(it.verdict)), kVerdictWidth) +
                       base::padRight(base::printable(it.what), name_width) + "  " +
                       base::printable(it.found);
    if (!it.means.empty()) line += ": " + base::printable(it.means);
    if (!it.remedy.empty()) line += ". " + base::printable(it.remedy);
    if (base::displayWidth(line) <= columns) {
      text += line + "\n";
      continue;
    }
    // The name on a line of its own where it leaves no room for words.
    std::string head =
        base::padRight(std::string(name(it.verdict)), kVerdictWidth) + base::printable(it.what);
    std::string rest = line.substr(
        std::min(line.size(),
                 kVerdictWidth + base::padRight(base::printable(it.what), name_width).size() + 2));
    text += head + "\n" + base::wrapped(rest, columns, kVerdictWidth);
  }
}

nlohmann::json asJson(const std::vector<Finding>& findings) {
  nlohmann::json all = nlohmann::json::array();
  for (const Finding& it : findings)
    all.push_back({{"state", name(it.verdict)},
                   {"what", base::printable(it.what)},
                   {"found", base::printable(it.found)},
                   {"means", base::printable(it.means)},
                   {"remedy", base::printable(it.remedy)}});
  return all;
}

}  // namespace

std::string diagnosisText(const Diagnosis& diagnosis, size_t columns) {
  std::string text = canRecord(diagnosis.facts) ? "This machine can record.\n\n"
                                                : "This machine cannot record as it is.\n\n";
  add(text, judge(diagnosis.facts), columns, 24);
  text += "\nCUDA libraries\n";
  add(text, judge(diagnosis.libraries), columns, 60);
  return text;
}

nlohmann::json diagnosisJson(const Diagnosis& diagnosis) {
  nlohmann::json libraries = nlohmann::json::array();
  for (const ExaminedLibrary& it : diagnosis.libraries)
    libraries.push_back({{"path", base::printable(it.path)},
                         {"kind", it.kind == Library::kDriver    ? "driver"
                                  : it.kind == Library::kRuntime ? "runtime"
                                                                 : "framework"},
                         {"functions", it.functions},
                         {"known_functions", it.known},
                         {"behind_stub", it.behind_stub},
                         {"processes", it.processes},
                         {"problem", base::printable(it.problem)}});
  return {{"can_record", canRecord(diagnosis.facts)},
          {"machine", asJson(judge(diagnosis.facts))},
          {"library_findings", asJson(judge(diagnosis.libraries))},
          {"libraries", std::move(libraries)}};
}

}  // namespace tidegauge::record
