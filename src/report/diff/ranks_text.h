// Ranks of one job as a table: each against the median, the rank that stands out, and where it
// differs.
#pragma once

#include <string>
#include <vector>

#include "analysis/compare/diff_ranks.h"
#include "report/words/holder_names.h"

namespace tidegauge::report {

struct RanksTextOptions {
  bool colour = false;
  size_t columns = 100;
  size_t top = 8;  // rows, of ranks as well: if there are more, the largest distances
};
// `names` by rank.
std::string ranksText(const std::vector<analysis::DiffSide>& sides,
                      const analysis::RankTable& table, const std::vector<std::string>& names,
                      const RanksTextOptions& options);
std::string ranksVerdict(const std::vector<analysis::DiffSide>& sides,
                         const analysis::RankTable& table, const std::vector<std::string>& names);
// Names of the first `limit` rows.
std::vector<HolderName> rankRowNames(const analysis::RankTable& table, size_t limit);

}  // namespace tidegauge::report
