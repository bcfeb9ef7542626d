#include "report/story/report_parts.h"

#include "report/recording/lack_words.h"
#include "report/words/sentence_json.h"

namespace tidegauge::report {

std::vector<Section> sectionsOf(const SectionContext& context) {
  std::vector<Section> sections = {tensorsSection(context), fragmentationSection(context)};
  for (Section& section : growthSections(context)) sections.push_back(std::move(section));
  sections.push_back(churnSection(context));
  sections.push_back(wallSection(context));
  sections.push_back(replaySection(context));
  if (auto caution = drawnLives(context.summary))
    for (Section& section : sections)
      if (!section.sentences.empty()) section.sentences.insert(section.sentences.begin(), *caution);
  for (Section& section : sections)
    if (!section.json.is_null()) section.json["sentences"] = evidenceJson(section.sentences);
  return sections;
}

}  // namespace tidegauge::report
