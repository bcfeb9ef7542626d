// The sections of the report (section.h), one file each: report_growth.cpp, report_churn.cpp, …
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/words/section.h"

namespace tidegauge::report {

// In the order of the report. Empty sections have no sentences and no grid: they only appear in
// JSON; null there: not requested.
std::vector<Section> sectionsOf(const SectionContext& context);

Section fragmentationSection(const SectionContext& context);
std::vector<Section> growthSections(const SectionContext& context);  // growth, never_freed
Section churnSection(const SectionContext& context);
Section wallSection(const SectionContext& context);
Section tensorsSection(const SectionContext& context);
Section replaySection(const SectionContext& context);

// How much less of what scales with the batch would fit, found by replay. Absent: not proven, or
// nothing was replayed.
std::optional<Sentence> fitSentence(const SectionContext& context);
std::string replaysTable(int device, std::optional<uint64_t> capacity_bytes);

}  // namespace tidegauge::report
