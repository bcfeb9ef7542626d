// Which stack of one recording is which of another: exact matches first, then looser ones.
//
//   exact   every frame: function, file, line
//   path    … ignoring what stands before the last folder: other checkouts, virtual environments
//   moved   … ignoring the line: the code around it was edited
//   user    only the frames of the user's own code and the operation that it called: another
//           version of PyTorch or Python below
//
//   A  /home/a/x/model.py:340 forward ← /home/a/x/train.py:12 main
//   B  /srv/job7/model.py:352 forward ← /srv/job7/train.py:12 main       moved
//
// A stack that the other recording contains too, only not at its place, is gone or new, never
// moved. Addresses in the text of C++ frames are ignored at every level. If several stacks match at
// one level, they are paired in the order of their lines with the smallest total shift. Symmetric:
// matching B with A gives the same pairs. Cost: O(frames of all stacks) and, among equal stacks,
// the product of their numbers, bounded.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/trace/analysed_trace.h"

namespace tidegauge::analysis {

enum class StackMatch : uint8_t { kExact, kPath, kMoved, kUser };
inline constexpr size_t kStackMatches = 4;
std::string_view name(StackMatch match);  // "exact", "path", "moved", "user"

// "/venv/lib/python3.10/site-packages/torch/nn/x.py" → "torch/nn/x.py", "/home/a/x/model.py" →
// "model.py", "pkg/__init__.py" → "pkg/__init__.py".
std::string_view tailOfPath(std::string_view path);
// "operator() at 0x7f12ab" → "operator() at 0x".
std::string withoutAddresses(std::string_view text);

// A 128-bit hash of what a level compares: stacks with equal keys are taken as equal.
struct StackKey {
  uint64_t high = 0;
  uint64_t low = 0;
  bool valid() const { return (high | low) != 0; }
  auto operator<=>(const StackKey&) const = default;
  friend size_t hash_value(const StackKey& key) { return static_cast<size_t>(key.low); }
};

// Keys of stacks: the same in every trace for stacks that are equal at a level.
class StackKeys {
 public:
  // Invalid for a stack without frames, and (kUser) for one without frames of the user.
  StackKey keyOf(const AnalysedTrace& analysed, StackId stack, StackMatch level);

 private:
  // By frame of one trace, for exact, path and moved; UINT32_MAX: not computed yet.
  using FrameKeys = std::array<std::vector<uint32_t>, 3>;
  FrameKeys& framesOf(const AnalysedTrace& analysed);
  uint32_t frameKey(const AnalysedTrace& analysed, FrameId frame, StackMatch level);

  base::StringPool texts_;
  std::map<const AnalysedTrace*, FrameKeys> frames_;
  std::vector<uint32_t> path_;  // frame keys of the current stack
};

struct StackOnSide {
  StackId stack;
  uint64_t bytes = 0;  // decides between equally good pairs
};
struct StackPair {
  size_t a;
  size_t b;
  StackMatch match;
};
// Stacks without a partner are in no pair. Each exact key may occur only once per side.
std::vector<StackPair> matchStacks(StackKeys& keys, const AnalysedTrace& trace_a,
                                   const std::vector<StackOnSide>& a, const AnalysedTrace& trace_b,
                                   const std::vector<StackOnSide>& b);

}  // namespace tidegauge::analysis
