// The mark of figures that are not the whole truth, and why: in texts a word beside the figure, in
// JSON a list of reasons.
//
//   markOf(incomplete, kOfMemory)        " (incomplete)", or nothing
//   incompleteList(incomplete, …)        ["lost: 3 × memory ring full"], of everything: []
//
// What is incomplete: model/incomplete.h.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/summary.h"
#include "model/incomplete.h"
#include "report/words/sentence.h"

namespace tidegauge::report {

// Of live, peak, reserved; and of who holds it.
inline constexpr model::FigureSet kOfMemory = {model::Figures::kMemory, model::Figures::kBlocks};
inline constexpr model::FigureSet kOfHolders = {model::Figures::kMemory, model::Figures::kBlocks,
                                                model::Figures::kCallSites};

inline constexpr const char* kIncompleteSql = "SELECT figures, reason, at_least FROM incomplete";

// Of snapshots: nothing is incomplete.
model::Incomplete incompleteOf(const analysis::AnalysedTrace& analysed);

std::string markOf(const model::Incomplete& incomplete, model::FigureSet figures);
// "lost: 3 × memory ring full; not watched: …; and 4 more"
std::string whyIncomplete(const model::Incomplete& incomplete, model::FigureSet figures);
// A sentence, then why: "Incomplete: these may be too low or too high. lost: …"
std::string howIncomplete(const model::Incomplete& incomplete, model::FigureSet figures);
nlohmann::json incompleteList(const model::Incomplete& incomplete, model::FigureSet figures);
// [{"figures": ["memory", "blocks"], "reason": "lost: …", "at_least": false}]
nlohmann::json incompleteRows(const model::Incomplete& incomplete);

// What the story says of it; with SQL that gives the same rows.
Finding incompleteFinding(const model::Incomplete& incomplete);

}  // namespace tidegauge::report
