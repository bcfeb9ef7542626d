#include "report/diff/ranks_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "base/format.h"
#include "report/diff/diff_table.h"
#include "report/diff/diff_words.h"
#include "report/words/file_names.h"
#include "report/words/text_table.h"

namespace tidegauge::report {
namespace {

using analysis::DiffSide;
using analysis::Rank;
using analysis::RankRow;
using analysis::RankTable;
using base::counted;
using base::humanBytes;
using base::withCommas;

std::string placesOf(const std::vector<DiffSide>& sides) {
  bool same = std::all_of(sides.begin(), sides.end(),
                          [&](const DiffSide& side) { return side.at == sides[0].at; });
  return same ? "at " + sides[0].at : "each at its own step";
}

std::string orZero(uint64_t bytes) { return bytes == 0 ? "0" : humanBytes(bytes); }

class RanksPage {
 public:
  RanksPage(const std::vector<DiffSide>& sides, const RankTable& table,
            const std::vector<std::string>& names, const RanksTextOptions& options)
      : sides_(sides),
        table_(table),
        names_(names),
        options_(options),
        page_(options.columns, options.colour) {}

  std::string write() {
    page_.heading(fmt::format("{} ranks {}", withCommas(sides_.size()), placesOf(sides_)));
    page_.paragraph(ranksVerdict(sides_, table_, names_));
    bool added = std::any_of(sides_.begin(), sides_.end(),
                             [](const DiffSide& side) { return side.points.size() > 1; });
    if (added) {
      page_.paragraph(
          "Each file is one rank, with the sum of its devices. --devices makes each device a "
          "rank.");
    }
    page_.blank();
    ranks();
    page_.blank();
    std::optional<size_t> odd = table_.oddOne();
    odd ? whereItDiffers(*odd) : spread();
    return page_.take();
  }

 private:
  void ranks() {
    std::vector<size_t> order(sides_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    size_t shown = order.size();
    constexpr size_t kMaxInOrder = 16;
    if (shown > std::max(options_.top, kMaxInOrder)) {
      std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) {
        return table_.ranks[x].distance_bytes > table_.ranks[y].distance_bytes;
      });
      shown = options_.top;
    }
    std::vector<TextRow> lines = {
        {{"active", "difference to median", "reserved", "distance"}, "rank"}};
    for (size_t i = 0; i < shown; ++i) {
      const DiffSide& side = sides_[order[i]];
      const Rank& rank = table_.ranks[order[i]];
      RowNumbers active = bytesNumbers(table_.median_active_bytes, side.totals.active_bytes);
      lines.push_back({{active.b, active.change, humanBytes(side.totals.reserved_bytes),
                        orZero(rank.distance_bytes)},
                       names_[order[i]] + markOf(side) + (rank.stands_out ? "  ◄ outlier" : "")});
    }
    lines.push_back(
        {{humanBytes(table_.median_active_bytes), "", humanBytes(table_.median_reserved_bytes),
          orZero(table_.median_distance_bytes)},
         "median"});
    printTable(page_, lines);
    if (shown < order.size()) {
      page_.paragraph(fmt::format("{} more ranks are nearer to the median; --top {} shows them",
                                  withCommas(order.size() - shown), order.size()));
    }
  }

  void whereItDiffers(size_t odd) {
    page_.heading(fmt::format("Where {} differs from the median", names_[odd]), 2);
    std::vector<size_t> rows(table_.rows.size());
    std::iota(rows.begin(), rows.end(), size_t{0});
    auto apart = [&](size_t row) {
      uint64_t own = table_.rows[row].held[odd].bytes;
      uint64_t median = table_.rows[row].median_bytes;
      return own > median ? own - median : median - own;
    };
    std::erase_if(rows, [&](size_t row) { return apart(row) == 0; });
    std::stable_sort(rows.begin(), rows.end(),
                     [&](size_t x, size_t y) { return apart(x) > apart(y); });
    std::vector<HolderName> names = rankRowNames(table_, table_.rows.size());
    std::vector<TextRow> lines = {{{"difference", "median", "this rank"}, ""}};
    for (size_t i = 0; i < std::min(options_.top, rows.size()); ++i) {
      const RankRow& row = table_.rows[rows[i]];
      RowNumbers numbers = bytesNumbers(row.median_bytes, row.held[odd].bytes);
      lines.push_back({{numbers.change, row.median_bytes == 0 ? "\u2013" : numbers.a,
                        row.held[odd].blocks == 0 ? "\u2013" : numbers.b},
                       oneName(names[rows[i]])});
    }
    printTable(page_, lines);
    rest(rows.size());
  }

  void spread() {
    size_t differing = 0;
    while (differing < table_.rows.size() && table_.rows[differing].spread_bytes > 0) ++differing;
    page_.heading(differing == 0
                      ? fmt::format("By stack: none of {} differs between the ranks",
                                    counted(table_.rows.size(), "stack"))
                      : fmt::format("By stack: {} of {} {} between the ranks",
                                    withCommas(differing), counted(table_.rows.size(), "stack"),
                                    differing == 1 ? "differs" : "differ"),
                  2);
    if (differing == 0) return;
    std::vector<HolderName> names = rankRowNames(table_, std::min(options_.top, differing));
    std::vector<TextRow> lines = {{{"least", "median", "most"}, ""}};
    for (size_t i = 0; i < names.size(); ++i) {
      const RankRow& row = table_.rows[i];
      auto [least, most] =
          std::minmax_element(row.held.begin(), row.held.end(),
                              [](const auto& x, const auto& y) { return x.bytes < y.bytes; });
      base::ByteUnit unit = base::unitFor(most->bytes);
      auto shown = [&](uint64_t bytes) {
        return bytes == 0 ? std::string("\u2013") : humanBytes(bytes, unit);
      };
      lines.push_back(
          {{shown(least->bytes), shown(row.median_bytes), shown(most->bytes)}, oneName(names[i])});
    }
    printTable(page_, lines);
    rest(differing);
  }

  void rest(size_t all) {
    if (all <= options_.top) return;
    page_.paragraph(
        fmt::format("{}; --top {} shows them", counted(all - options_.top, "more stack"), all));
  }

  const std::vector<DiffSide>& sides_;
  const RankTable& table_;
  const std::vector<std::string>& names_;
  const RanksTextOptions& options_;
  TextPage page_;
};

}  // namespace

std::string ranksText(const std::vector<DiffSide>& sides, const RankTable& table,
                      const std::vector<std::string>& names, const RanksTextOptions& options) {
  return RanksPage(sides, table, names, options).write();
}

std::vector<HolderName> rankRowNames(const RankTable& table, size_t limit) {
  std::vector<std::pair<const analysis::AnalysedTrace*, analysis::StackId>> stacks;
  limit = std::min(limit, table.rows.size());
  for (size_t i = 0; i < limit; ++i) stacks.emplace_back(table.rows[i].trace, table.rows[i].stack);
  // Which of several files, by the shortest names that distinguish them.
  std::vector<const analysis::AnalysedTrace*> traces;
  std::vector<std::string> paths;
  for (const RankRow& row : table.rows) {
    if (std::find(traces.begin(), traces.end(), row.trace) != traces.end()) continue;
    traces.push_back(row.trace);
    paths.push_back(row.trace->trace.source.name);
  }
  std::vector<std::string> files = distinctNames(paths);
  auto ofFile = [&](const analysis::AnalysedTrace* trace) {
    auto at = std::find(traces.begin(), traces.end(), trace) - traces.begin();
    return traces.size() == 1 ? std::string() : " of " + files[static_cast<size_t>(at)];
  };
  analysis::JoinedStacks joined(stacks);
  std::vector<analysis::StackGroup> groups;
  for (size_t i = 0; i < limit; ++i) groups.push_back({.stack = joined.stackOf(i)});
  std::vector<HolderName> names = holderNames(joined.trace(), groups, limit);
  for (size_t i = 0; i < limit; ++i) {
    std::string number = fmt::format("(stack {})", groups[i].stack.value);
    if (names[i].caller.ends_with(number)) {  // of the file, not of the joined stacks
      names[i].caller.resize(names[i].caller.size() - number.size());
      names[i].caller +=
          fmt::format("(stack {}{})", table.rows[i].stack.value, ofFile(table.rows[i].trace));
    }
    if (table.rows[i].older) names[i].label = withoutStack(1, 1);
  }
  return names;
}

std::string ranksVerdict(const std::vector<DiffSide>& sides, const RankTable& table,
                         const std::vector<std::string>& names) {
  if (sides.empty()) return "There is no rank.";
  std::vector<std::string> odd;
  uint64_t farthest = 0;
  size_t farthest_rank = 0;
  for (size_t i = 0; i < table.ranks.size(); ++i) {
    if (table.ranks[i].distance_bytes > farthest) farthest_rank = i;
    farthest = std::max(farthest, table.ranks[i].distance_bytes);
    if (table.ranks[i].stands_out) odd.push_back(names[i]);
  }
  std::string median = humanBytes(table.median_active_bytes);
  if (farthest == 0) {
    return fmt::format("All ranks are equal: each holds {}, with the same bytes in every stack.",
                       median);
  }
  if (odd.empty()) {
    std::string why =
        sides.size() < 3 ? "Two ranks are too few to find an outlier." : "No rank is an outlier.";
    return fmt::format(
        "{} The median of active memory is {}. {} is farthest from it: it holds {}, and its stacks "
        "differ from the median by {} in total.",
        why, median, names[farthest_rank], humanBytes(sides[farthest_rank].totals.active_bytes),
        humanBytes(farthest));
  }
  constexpr size_t kMaxNamed = 4;
  size_t more = odd.size() > kMaxNamed ? odd.size() - kMaxNamed : 0;
  size_t index = *table.oddOne();
  if (odd.size() == 1) {
    RowNumbers numbers = bytesNumbers(table.median_active_bytes, sides[index].totals.active_bytes);
    return fmt::format(
        "{} is an outlier: it holds {}, the median is {} ({}). Its stacks differ from the median "
        "by {} in total, those of the other ranks by {}.",
        odd[0], numbers.b, numbers.a, numbers.change, humanBytes(table.ranks[index].distance_bytes),
        orZero(table.median_distance_bytes));
  }
  odd.resize(odd.size() - more);
  return fmt::format(
      "{} ranks are outliers: {}{}. {} is farthest from the median: its stacks differ from it by "
      "{} in total.",
      withCommas(odd.size() + more), fmt::join(odd, ", "),
      more > 0 ? fmt::format(" and {} more", more) : "", names[index],
      humanBytes(table.ranks[index].distance_bytes));
}

}  // namespace tidegauge::report
