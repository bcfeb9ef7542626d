// The parts of whatIfSentences, in their order on the page: each adds its sentences to `out`.
#pragma once

#include <string>
#include <vector>

#include "analysis/what_if/what_if.h"

namespace tidegauge::report {

using Texts = std::vector<std::string>;

// cause_words.cpp: causes outside the settings, with what a replay of each remedy shows.
void addCauses(const analysis::AnalysedTrace& analysed, const analysis::WhatIf& report, Texts& out);
// … and the remedies that a replay disproves.
void addDisproved(const analysis::AnalysedTrace& analysed, const analysis::WhatIf& report,
                  Texts& out);
// doubt_words.cpp: how far the replay can be trusted.
void addDoubts(const model::Trace& trace, const analysis::WhatIf& report, Texts& out);
// how_to_set.cpp: the line for the environment, the call to make, and what to know about a limit.
void addHowToSet(const analysis::WhatIf& report, Texts& out);
// size_words.cpp: how much less would fit, and how much memory would suffice.
void addSizes(const analysis::WhatIf& report, Texts& out);
// note_words.cpp: what to know about the figures.
void addNotes(const analysis::WhatIf& report, Texts& out);

}  // namespace tidegauge::report
