// What two places hold, row by row: what grew, shrank, is gone, or is new.
//
//              A        B      B − A
//   grew    1,024    4,096    +3,072      The changes add up to the difference of the totals,
//   gone      512        –      −512      whatever the rows are: by stack, category, size of block
//   total   1,536    4,096    +2,560      or kind of segment.
//
// Rows are sorted by the size of their change, largest first. Cost: O(live), by segment O(pieces).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/compare/diff_side.h"
#include "analysis/compare/diff_stacks.h"

namespace tidegauge::analysis {

struct Held {
  uint64_t bytes = 0;   // of blocks; by segment: reserved
  uint64_t blocks = 0;  // by segment: segments
  void add(uint64_t more_bytes) {
    bytes += more_bytes;
    ++blocks;
  }
  bool operator==(const Held&) const = default;
};

enum class Change : uint8_t { kSame, kGrew, kShrank, kNew, kGone };
inline constexpr size_t kChanges = 5;
std::string_view name(Change change);  // "same", "grew", …

struct DiffRow {
  Held a;
  Held b;
  // Compared by bytes: the same bytes in another number of blocks count as the same.
  Change change() const;
  // Modulo 2^64, as the totals are.
  int64_t changeBytes() const { return static_cast<int64_t>(b.bytes - a.bytes); }
  uint64_t sizeOfChange() const {
    return b.bytes > a.bytes ? b.bytes - a.bytes : a.bytes - b.bytes;
  }
};

struct StackRow : DiffRow {
  StackMatch match = StackMatch::kExact;  // if only one side has the row: exact
  bool older = false;                     // without a stack: older than the recording
  // Equal texts of one side are one row; most bytes first. Empty: no stack, or none on that side.
  std::vector<StackId> stacks_a{};
  std::vector<StackId> stacks_b{};
};

struct NamedRow : DiffRow {
  std::string key;    // "activations", "1048576", "large,default stream,…": stable
  std::string label;  // for people
};

// The stack of a free does not show who allocated: such blocks count as without a stack.
std::vector<StackRow> diffByStack(const DiffSide& a, const DiffSide& b);
std::vector<NamedRow> diffByCategory(const DiffSide& a, const DiffSide& b);
// Powers of two: a row holds the blocks of [2^n, 2^(n+1)) bytes.
std::vector<NamedRow> diffBySize(const DiffSide& a, const DiffSide& b);
// By kind, size, stream and pool; the total is reserved bytes.
std::vector<NamedRow> diffBySegment(const DiffSide& a, const DiffSide& b);

struct DiffSums {
  uint64_t bytes_a = 0;
  uint64_t bytes_b = 0;
  int64_t change_bytes = 0;                      // sum of the rows
  std::array<uint64_t, kChanges> rows{};         // by Change
  std::array<uint64_t, kChanges> change_size{};  // … bytes, without sign
  uint64_t differing() const { return rows[1] + rows[2] + rows[3] + rows[4]; }
  uint64_t allRows() const { return rows[0] + differing(); }
  uint64_t moreBytes() const;  // grew and new
  uint64_t lessBytes() const;  // shrank and gone
  // Σ |change| over all rows, at most 2^64 − 1.
  uint64_t grossBytes() const;
};

template <class Row>
DiffSums sumsOf(const std::vector<Row>& rows) {
  DiffSums sums;
  uint64_t change = 0;
  for (const Row& row : rows) {
    sums.bytes_a += row.a.bytes;
    sums.bytes_b += row.b.bytes;
    change += row.b.bytes - row.a.bytes;
    auto kind = static_cast<size_t>(row.change());
    sums.rows[kind]++;
    sums.change_size[kind] += row.sizeOfChange();
  }
  sums.change_bytes = static_cast<int64_t>(change);
  return sums;
}

// The identity: do the changes of the rows add up to the difference of these totals?
inline bool addsUp(const DiffSums& sums, uint64_t total_a, uint64_t total_b) {
  return static_cast<uint64_t>(sums.change_bytes) == total_b - total_a && sums.bytes_a == total_a &&
         sums.bytes_b == total_b;
}

}  // namespace tidegauge::analysis
