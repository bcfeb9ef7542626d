// The rows of a comparison as shown, for every grouping: named, with their match, and the identity
// that they fulfil.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare/diff.h"

namespace tidegauge::report {

enum class DiffBy : uint8_t { kStack, kCategory, kSize, kSegment };
std::string_view name(DiffBy by);  // "stack", …
std::optional<DiffBy> diffByName(std::string_view text);
// "26 stacks", "1 category".
std::string countedRows(DiffBy by, uint64_t rows);

struct ShownRow {
  analysis::DiffRow row{};
  std::string key{};     // by stack: empty
  std::string label{};   // "model.py:340 forward (linear)", "activations", "1.0 MiB – 2.0 MiB"
  std::string caller{};  // by stack: the next frame of the user's code, or what distinguishes it
  // By stack only:
  analysis::StackMatch match = analysis::StackMatch::kExact;
  std::optional<uint64_t> line_a{};  // of the frame that names it, if the two differ
  std::optional<uint64_t> line_b{};
  analysis::StackId joined{};  // in JoinedStacks, if there were any
  std::vector<analysis::StackId> stacks_a{};
  std::vector<analysis::StackId> stacks_b{};
};

struct DiffTable {
  DiffBy by = DiffBy::kStack;
  std::vector<ShownRow> rows;
  analysis::DiffSums sums;
  uint64_t total_a_bytes = 0;  // active; by segment: reserved
  uint64_t total_b_bytes = 0;
  bool adds_up = false;
};
// Rows after the first `named` have no label.
DiffTable diffTable(const analysis::Diff& diff, DiffBy by, size_t named = SIZE_MAX);

// A row's numbers in one unit: the larger side's, or a smaller one if the change needs it.
//   {"34,549 MiB", "34,561 MiB", "+12.0 MiB"}     absent: "–"     no change: "0"
struct RowNumbers {
  std::string a;
  std::string b;
  std::string change;
};
RowNumbers rowNumbers(const analysis::DiffRow& row);
RowNumbers bytesNumbers(uint64_t a, uint64_t b);
// "+64", "−2", "0".
std::string signedCount(uint64_t a, uint64_t b);

}  // namespace tidegauge::report
