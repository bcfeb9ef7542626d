#include "report/diff/diff_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "report/words/holder_names.h"

namespace tidegauge::report {
namespace {

using analysis::Diff;
using analysis::StackId;
using analysis::StackRow;

struct ByName {
  std::string_view name;
  std::string_view one;
  std::string_view many;
};
constexpr ByName kBys[] = {{"stack", "stack", "stacks"},
                           {"category", "category", "categories"},
                           {"size", "size class", "size classes"},
                           {"segment", "kind of segment", "kinds of segment"}};

// Names that only differ by a stack's number have the number of the joined stacks: replaces it by
// the file's own.
void nameOwnStack(ShownRow& shown) {
  std::string joined = fmt::format("(stack {})", shown.joined.value);
  if (!shown.joined.valid() || !shown.caller.ends_with(joined)) return;
  bool in_b = !shown.stacks_b.empty();
  shown.caller.resize(shown.caller.size() - joined.size());
  shown.caller += fmt::format("(stack {} of {})", (in_b ? shown.stacks_b : shown.stacks_a)[0].value,
                              in_b ? "B" : "A");
}

void nameStacks(const Diff& diff, DiffTable& table, size_t named) {
  const std::vector<StackRow>& rows = diff.by_stack;
  analysis::JoinedStacks joined(diff.a, diff.b, rows);
  std::vector<analysis::StackGroup> groups;
  for (size_t i = 0; i < std::min(named, rows.size()); ++i) {
    groups.push_back({.stack = joined.stackOf(i)});
  }
  std::vector<HolderName> names = holderNames(joined.trace(), groups, groups.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    ShownRow shown{.row = rows[i], .match = rows[i].match};
    shown.joined = joined.stackOf(i);
    shown.stacks_a = rows[i].stacks_a;
    shown.stacks_b = rows[i].stacks_b;
    if (i < names.size()) {
      shown.label = names[i].label;
      shown.caller = names[i].caller;
      if (rows[i].older) shown.label = withoutStack(1, 1);
      nameOwnStack(shown);
    }
    if (!rows[i].stacks_a.empty() && !rows[i].stacks_b.empty()) {
      auto lineOf = [](const analysis::DiffSide& side, StackId stack) {
        return side.analysed->trace.frames.line[side.analysed->labels.topUserFrame(stack).index()];
      };
      uint64_t line_a = lineOf(diff.a, rows[i].stacks_a.front());
      uint64_t line_b = lineOf(diff.b, rows[i].stacks_b.front());
      if (line_a != line_b) {
        shown.line_a = line_a;
        shown.line_b = line_b;
      }
    }
    table.rows.push_back(std::move(shown));
  }
}

void addNamed(std::vector<analysis::NamedRow> rows, DiffTable& table) {
  table.sums = analysis::sumsOf(rows);
  for (analysis::NamedRow& row : rows) {
    ShownRow shown{.row = row};
    shown.key = std::move(row.key);
    shown.label = std::move(row.label);
    table.rows.push_back(std::move(shown));
  }
}

}  // namespace

std::string_view name(DiffBy by) { return kBys[static_cast<size_t>(by)].name; }

std::optional<DiffBy> diffByName(std::string_view text) {
  for (size_t i = 0; i < std::size(kBys); ++i) {
    if (kBys[i].name == text) return static_cast<DiffBy>(i);
  }
  return std::nullopt;
}

std::string countedRows(DiffBy by, uint64_t rows) {
  const ByName& words = kBys[static_cast<size_t>(by)];
  return base::withCommas(rows) + ' ' + std::string(rows == 1 ? words.one : words.many);
}

DiffTable diffTable(const Diff& diff, DiffBy by, size_t named) {
  DiffTable table;
  table.by = by;
  table.total_a_bytes = diff.a.totals.active_bytes;
  table.total_b_bytes = diff.b.totals.active_bytes;
  switch (by) {
    case DiffBy::kStack:
      table.sums = diff.stacks;
      nameStacks(diff, table, named);
      break;
    case DiffBy::kCategory:
      addNamed(analysis::diffByCategory(diff.a, diff.b), table);
      break;
    case DiffBy::kSize:
      addNamed(analysis::diffBySize(diff.a, diff.b), table);
      break;
    case DiffBy::kSegment:
      table.total_a_bytes = diff.a.totals.reserved_bytes;
      table.total_b_bytes = diff.b.totals.reserved_bytes;
      addNamed(analysis::diffBySegment(diff.a, diff.b), table);
      break;
  }
  table.adds_up = analysis::addsUp(table.sums, table.total_a_bytes, table.total_b_bytes);
  return table;
}

RowNumbers bytesNumbers(uint64_t a, uint64_t b) {
  uint64_t change = a > b ? a - b : b - a;
  base::ByteUnit unit = base::unitFor(std::max(a, b));
  // Two decimals show two digits only from a tenth of the unit on.
  auto tooCoarse = [&] {
    uint64_t one = uint64_t{1} << (10 * static_cast<int>(unit));
    return unit != base::ByteUnit::kB && change < one / 10;
  };
  while (change > 0 && tooCoarse()) {
    unit = static_cast<base::ByteUnit>(static_cast<int>(unit) - 1);
  }
  std::string sign = change == 0 ? "" : b > a ? "+" : "\u2212";
  return {base::humanBytes(a, unit), base::humanBytes(b, unit),
          change == 0 ? "0" : sign + base::humanBytes(change, unit)};
}

RowNumbers rowNumbers(const analysis::DiffRow& row) {
  RowNumbers numbers = bytesNumbers(row.a.bytes, row.b.bytes);
  if (row.a.blocks == 0) numbers.a = "\u2013";
  if (row.b.blocks == 0) numbers.b = "\u2013";
  return numbers;
}

std::string signedCount(uint64_t a, uint64_t b) {
  if (a == b) return "0";
  return a < b ? "+" + base::withCommas(b - a) : "\u2212" + base::withCommas(a - b);
}

}  // namespace tidegauge::report
