// The sections of the report (section.h), one file each: report_growth.cpp, report_churn.cpp, …
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/words/section.h"

namespace tidegauge::report {

// In the order of the report. Sections that have nothing to say have no sentences and no grid: they
// are in the JSON only; null there: not asked for.
std::vector<Section> sectionsOf(const SectionContext& context);

Section fragmentationSection(const SectionContext& context);
std::vector<Section> growthSections(const SectionContext& context);  // growth, never_freed
Section churnSection(const SectionContext& context);
Section wallSection(const SectionContext& context);
Section replaySection(const SectionContext& context);

// Of an advice that names a setting: what that would have done. None: it names none, or nothing was
// replayed.
std::optional<Sentence> proofSentence(const SectionContext& context, size_t advice);
std::string replaysTable(int device, std::optional<uint64_t> capacity_bytes);

}  // namespace tidegauge::report
