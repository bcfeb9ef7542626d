// The conditions of a statement: columns compared with constants, joined by AND.
//
//   step BETWEEN 5 AND 9 AND (5 < size_bytes)   →   step >= 5, step <= 9, size_bytes > 5
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "query/aggregates/statement.h"
#include "query/aggregates/tokens.h"

namespace tidegauge::query {

// Reads a column of the table at `token`, and moves past its words. −1: something else is there.
using ReadColumn = std::function<int(const Token*& token, const Token* end)>;

// Absent if it contains anything else.
std::optional<std::vector<Condition>> readConditions(const Token* begin, const Token* end,
                                                     const ReadColumn& read_column);

}  // namespace tidegauge::query
