// LIKE on many texts that share few parts: a stack's text is built only if it can match.
//
//   LIKE '%log_softmax%'   pieces "log", "softmax": a frame that matches alone decides for all its
//                          stacks; else all pieces must be in some frame, and the text decides
//
// Matches exactly as SQLite does (ASCII letters in any case, _ = one character, % = any number).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/trace/analysed_trace.h"

namespace tidegauge::query {

// Patterns that are compared here. The time of a match grows with the number of %, so SQLite
// handles patterns with many: it can be interrupted between rows.
bool isQuickPattern(std::string_view pattern);

bool isLike(const std::string& text, const std::string& pattern);

// By stack: does its text match ("file:line function" per line)?
std::vector<bool> stacksLike(const analysis::AnalysedTrace& trace, const std::string& pattern);

}  // namespace tidegauge::query
