// Full-text search over allocations: by who allocated them, their names, their addresses, their
// sizes.
//
//   "conv2d"             a frame's function or file, the category or the metadata contains it, or
//                        the name of a tensor in it
//   "train.py:63"        a frame of that file and line
//   "b7f0586000000_1"    that life of that address; without _1, or as hex, every block around it
//   ">512MiB" "<=1KiB" "=20MiB"   block sizes; "=" also matches the size requested
//   "backward >1GiB"     all words must match
//
// Cost: each distinct string, frame and stack is checked once per word, then one pass over the
// allocations; about 30 ms for 5 M allocations and 100,000 stacks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/trace/analysed_trace.h"

namespace tidegauge::view {

struct StackHit {
  model::StackId stack;
  uint64_t count = 0;
  uint64_t bytes = 0;
  uint32_t first_row = 0;
};

struct SearchResult {
  std::vector<uint32_t> rows;         // increasing
  uint64_t bytes = 0;                 // of their blocks
  std::vector<StackHit> stacks;       // most bytes first; rows without a stack are left out
  std::vector<uint32_t> annotations;  // whose name contains every word of text; by begin
  std::optional<uint64_t> address;    // if a word was one
  std::vector<std::string> words;     // of text, in lower case, as searched
};

SearchResult search(const analysis::AnalysedTrace& analysed, const model::Device& device,
                    std::string_view query);

// The position of one of the words in the text: [begin, end) in bytes; empty if not found.
std::pair<size_t, size_t> matchIn(std::string_view text, const std::vector<std::string>& words);

}  // namespace tidegauge::view
