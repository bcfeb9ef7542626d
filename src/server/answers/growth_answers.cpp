// What grows, what was never freed, what churns: the sections of the report, with data for
// pictures.
#include "analysis/summary.h"
#include "report/story/report_parts.h"
#include "report/words/sentence_json.h"
#include "server/session/questions.h"
#include "server/wire/stack_names.h"

namespace tidegauge::server {

base::Result<Response> answerGrowth(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  const analysis::AnalysedTrace& analysed = *place.file->analysed;
  std::string key = "growth " + std::to_string(place.device->device.ordinal);
  Response response;
  response.body = place.file->texts.get(key, [&] {
    analysis::DeviceSummary summary;
    summary.device = place.device;
    summary.growth = analysis::findGrowth(analysed, *place.device);
    report::SectionContext context{analysed, summary};
    json answer = json::object();
    auto add = [&](report::Section section) {
      for (json& row : section.json["rows"]) {
        if (!row.contains("stack_id")) continue;
        model::StackId stack = row["stack_id"].is_null()
                                   ? model::StackId()
                                   : model::StackId(row["stack_id"].get<uint32_t>());
        row["slot"] = analysed.labels.colourSlot(stack);
      }
      nameCallers(analysed, section.json["rows"]);
      section.json["sentences"] = report::evidenceJson(section.sentences);
      answer[section.key] = std::move(section.json);
    };
    for (report::Section& section : report::growthSections(context)) add(std::move(section));
    add(report::churnSection(context));
    add(report::wallSection(context));
    return dump(answer);
  });
  return response;
}

}  // namespace tidegauge::server
