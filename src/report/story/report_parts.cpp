#include "report/story/report_parts.h"

namespace tidegauge::exporting {

std::vector<Section> sectionsOf(const SectionContext& context) {
  std::vector<Section> sections = {fragmentationSection(context)};
  for (Section& section : growthSections(context)) sections.push_back(std::move(section));
  sections.push_back(churnSection(context));
  sections.push_back(wallSection(context));
  sections.push_back(replaySection(context));
  for (Section& section : sections)
    if (!section.json.is_null()) section.json["sentences"] = evidenceJson(section.sentences);
  return sections;
}

}  // namespace tidegauge::exporting
