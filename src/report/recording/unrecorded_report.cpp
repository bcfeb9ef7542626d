#include "report/recording/unrecorded_report.h"

#include <fmt/format.h>

#include <vector>

#include "base/format.h"
#include "base/text_layout.h"
#include "report/words/section_text.h"
#include "report/words/sentence_json.h"

namespace tidegauge::report {
namespace {

using analysis::UnrecordedProgram;
using nlohmann::json;

constexpr const char* kSql =
    "SELECT process_id, pid, name, command, reason, remedy FROM unrecorded";

json numberOrNull(int64_t number) { return number == model::kNotRecorded ? json() : json(number); }
json textOrNull(const std::string& text) { return text.empty() ? json() : json(clean(text)); }

}  // namespace

std::string unrecordedName(const UnrecordedProgram& program) {
  return program.name.empty()
             ? fmt::format("pid {}", program.pid)
             : fmt::format("{} (pid {})", base::printable(program.name), program.pid);
}

Section unrecordedSection(const model::RecordedRun& run, size_t rows) {
  std::vector<UnrecordedProgram> programs = analysis::unrecordedPrograms(run);
  Section section{.key = "unrecorded", .title = "Nothing was recorded of"};
  json list = json::array();
  for (const UnrecordedProgram& it : programs) {
    list.push_back({{"process_id", numberOrNull(it.process_id)},
                    {"pid", it.pid},
                    {"name", textOrNull(it.name)},
                    {"command", textOrNull(it.command)},
                    {"reason", clean(it.reason)},
                    {"remedy", textOrNull(it.remedy)}});
    if (section.sentences.size() >= rows) continue;
    std::string why = fmt::format(": {}.{}{}", base::printable(it.reason),
                                  it.remedy.empty() ? "" : " ", it.remedy);
    section.sentences.push_back(
        {{strong(unrecordedName(it)), plain(std::move(why))}, sqlLink(kSql), kSql});
  }
  if (programs.size() > section.sentences.size() && rows > 0)
    section.sentences.push_back(
        {{plain(fmt::format("{} more.", base::withCommas(programs.size() - rows)))},
         sqlLink(kSql),
         kSql});
  section.json = {{"rows", std::move(list)}, {"rows_sql", kSql}};
  return section;
}

std::string unrecordedText(const model::RecordedRun& run, size_t rows, const TextOptions& options) {
  Section section = unrecordedSection(run, rows);
  if (section.sentences.empty()) return {};
  TextPage page(options.columns, options.colour);
  SectionText(page, options.evidence).section(section);
  return page.take().substr(1);  // without its blank line
}

}  // namespace tidegauge::report
