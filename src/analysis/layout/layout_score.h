// Layout score: how fragmented an arena of memory looks, 0 … 100. It measures shape, not harm: one
// wide hole that fits any request scores higher than a thousand holes that fit none.
//
//   sizes   2 MiB   2 MiB   2 MiB      blocks of the arena, by address
//   gaps        3 MiB   3 MiB          the free space between them
//   span    12 MiB                     external = 6/12
//
// Two arenas, never mixed. *Address space*: what the driver allocated, span = last end − first
// start; its holes cost no physical memory. *Reserved*: blocks inside segments, gaps = free memory
// inside them, span = reserved bytes; this one explains running out of memory.
//
//   score = 50·external + 15·unusable + 10·(0.6·small + 0.4·min(1, variation)) + 25·large_gaps
//
// Cost: three passes over sizes and gaps.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tidegauge::analysis {

struct LayoutOptions {
  uint64_t page_bytes = 4096;                // at least 1
  double alpha = 0.25;                       // of the unusable index
  uint64_t small_bytes = uint64_t{4} << 20;  // smaller blocks are small
};

// The six features of a layout, each 0 … 1 except the variation, and their score.
struct LayoutScore {
  double external = 0;     // Σ gaps / span
  double unusable = 0;     // how far the gaps are from holding twice the mean block
  double small = 0;        // share of small blocks
  double variation = 0;    // standard deviation / mean of the sizes
  double large_gaps = 0;   // share of the gap bytes in gaps above twice their mean
  double utilisation = 0;  // Σ sizes / span
  double score = 0;
  bool operator==(const LayoutScore&) const = default;
};
// The features' names in JSON and CSV, in the order of the fields.
inline constexpr std::array<std::string_view, 6> kFeatureNames = {
    "external", "unusable", "small", "variation", "large_gaps", "utilisation"};
std::array<double, 6> featuresOf(const LayoutScore& score);

// Gaps of 0 bytes do not count. An empty arena (span 0) scores 0.
LayoutScore layoutScore(std::span<const uint64_t> sizes, std::span<const uint64_t> gaps,
                        uint64_t span_bytes, const LayoutOptions& options = {});

struct LayoutRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};
// For ranges sorted by begin: gaps and span are computed from them.
LayoutScore layoutScore(std::span<const LayoutRange> sorted, const LayoutOptions& options = {});

enum class ScoreBand : uint8_t { kLow, kLight, kModerate, kSevere };
ScoreBand bandOf(double score);         // from 40, 60, 80
std::string_view name(ScoreBand band);  // "low", "light", "moderate", "severe"

}  // namespace tidegauge::analysis
