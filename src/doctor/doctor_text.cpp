#include "doctor/doctor_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text_layout.h"

namespace tidegauge::doctor {
namespace {

constexpr size_t kVerdictWidth = 9;
constexpr size_t kMaxNameWidth = 24;

// `name` if it fits into `name_width`, else on its own line.
void add(std::string& text, const Finding& it, size_t columns, size_t name_width) {
  std::string head = base::padRight(std::string(name(it.verdict)), kVerdictWidth);
  std::string what = base::printable(it.what), words = base::printable(it.found);
  if (!it.means.empty()) words += ": " + base::printable(it.means);
  if (!it.remedy.empty()) words += ". " + base::printable(it.remedy);
  size_t indent = kVerdictWidth;
  if (base::displayWidth(what) > name_width) {
    text += head + what + "\n";
  } else {
    indent += name_width + 2;
    text += head + base::padRight(what, name_width) + "  ";
  }
  std::string lines = base::wrapped(words, columns, indent);
  text += base::displayWidth(what) > name_width ? lines : lines.substr(indent);
}

void add(std::string& text, const std::vector<Finding>& findings, size_t columns) {
  size_t name_width = 0;
  for (const Finding& it : findings)
    if (size_t width = base::displayWidth(it.what); width <= kMaxNameWidth)
      name_width = std::max(name_width, width);
  for (const Finding& it : findings) add(text, it, columns, name_width);
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
  std::string text = canRecord(diagnosis.facts)
                         ? "This machine can record.\n\n"
                         : "This machine cannot record with eBPF, but with a library in the "
                           "programs:\n"
                           "tidegauge record --preload -- COMMAND\n\n";
  add(text, judge(diagnosis.facts), columns);
  text += "\nCUDA libraries\n";
  add(text, judge(diagnosis.libraries), columns);
  return text;
}

nlohmann::json diagnosisJson(const Diagnosis& diagnosis) {
  nlohmann::json libraries = nlohmann::json::array();
  for (const ExaminedLibrary& it : diagnosis.libraries)
    libraries.push_back({{"path", base::printable(it.path)},
                         {"kind", it.kind == record::Library::kDriver    ? "driver"
                                  : it.kind == record::Library::kRuntime ? "runtime"
                                                                         : "framework"},
                         {"functions", it.functions},
                         {"known_functions", it.known},
                         {"behind_stub", it.after_stub},
                         {"processes", it.processes},
                         {"problem", base::printable(it.problem)}});
  return {{"can_record", canRecord(diagnosis.facts)},
          {"machine", asJson(judge(diagnosis.facts))},
          {"library_findings", asJson(judge(diagnosis.libraries))},
          {"libraries", std::move(libraries)}};
}

}  // namespace tidegauge::doctor
