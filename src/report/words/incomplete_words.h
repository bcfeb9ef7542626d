// The mark of incomplete figures, and the reasons: in text a word beside the figure, in JSON a list
// of reasons.
//
//   markOf(incomplete, kOfMemory)        " (incomplete)", or empty
//   incompleteList(incomplete, …)        ["lost: 3 × memory ring full"]; for complete figures: []
//
// What is incomplete: model/incomplete.h.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/findings.h"
#include "model/incomplete.h"
#include "report/words/sentence.h"

namespace tidegauge::report {

// For live, peak, reserved; and for holders.
inline constexpr model::FigureSet kOfMemory = {model::Figures::kMemory, model::Figures::kBlocks};
inline constexpr model::FigureSet kOfHolders = {model::Figures::kMemory, model::Figures::kBlocks,
                                                model::Figures::kCallSites};

// Why a file has no device.
std::string nothingWords(const model::Trace& trace);

// For snapshots: everything is complete.
model::Incomplete incompleteOf(const analysis::AnalysedTrace& analysed);

std::string markOf(const model::Incomplete& incomplete, model::FigureSet figures);
// "lost: 3 × memory ring full; not watched: …; and 4 more"
std::string whyIncomplete(const model::Incomplete& incomplete, model::FigureSet figures);
// A sentence and the reasons: "Incomplete: these may be too low or too high. lost: …"
std::string howIncomplete(const model::Incomplete& incomplete, model::FigureSet figures);
nlohmann::json incompleteList(const model::Incomplete& incomplete, model::FigureSet figures);
// [{"figures": ["memory", "blocks"], "reason": "lost: …", "at_least": false}]
nlohmann::json incompleteRows(const model::Incomplete& incomplete);

// "Incomplete: figures of memory, blocks may be too low or too high (lost: …)"
Sentence incompleteSentence(const model::Incomplete& incomplete);

}  // namespace tidegauge::report
