// A comparison for a terminal: the verdict first, then the differences; the top of it fits 80 × 24.
#pragma once

#include <string>

#include "analysis/compare/diff.h"
#include "analysis/compare/diff_ranks.h"
#include "report/diff/diff_table.h"

namespace tidegauge::report {

struct DiffTextOptions {
  bool colour = false;  // ANSI
  size_t columns = 100;
  size_t top = 8;  // rows
  DiffBy by = DiffBy::kStack;
  std::string name_a{};
  std::string name_b{};
};
std::string diffText(const analysis::Diff& diff, const DiffTextOptions& options);

}  // namespace tidegauge::report
