#include "analysis/compare/diff_stacks.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>
#include <numeric>
#include <utility>

namespace tidegauge::analysis {
namespace {

constexpr uint32_t kNotMade = UINT32_MAX;
// Beyond this number of compared lines in all, stacks are paired in order, without a search.
constexpr size_t kMaxComparisons = size_t{1} << 24;

bool isHexDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// The lines that a level compares, outermost frame first.
std::vector<uint64_t> linesOf(const AnalysedTrace& analysed, StackId stack, StackMatch level) {
  std::vector<uint64_t> lines;
  model::FrameList frames = analysed.trace.stacks.framesOf(stack);
  for (size_t i = analysed.trace.stacks.depth(stack); i-- > 0;) {
    if (level == StackMatch::kUser && !analysed.labels.isUser(frames[i])) continue;
    lines.push_back(analysed.trace.frames.line[frames[i].index()]);
  }
  return lines;
}

struct StackCandidate {
  size_t index;  // in the side's list
  std::vector<uint64_t> lines;
  uint64_t bytes;
};

// How unlike two candidates are: first their lines, then their bytes.
struct Cost {
  double lines = 0;
  double bytes = 0;
  auto operator<=>(const Cost&) const = default;
  Cost operator+(const Cost& more) const { return {lines + more.lines, bytes + more.bytes}; }
};

double distance(uint64_t x, uint64_t y) { return static_cast<double>(x > y ? x - y : y - x); }

Cost costOf(const StackCandidate& x, const StackCandidate& y) {
  Cost cost{0, distance(x.bytes, y.bytes)};
  for (size_t i = 0; i < std::min(x.lines.size(), y.lines.size()); ++i) {
    cost.lines += distance(x.lines[i], y.lines[i]);
  }
  return cost;
}

using IndexPairs = std::vector<std::pair<size_t, size_t>>;  // positions in few and in many

// Pairs each of `few` with one of `many`, both in order, with the least total cost. Row i of the
// table is the best with the first i of few:
//   best[i][j] = min(best[i][j−1], best[i−1][j−1] + cost)
IndexPairs pairedInOrder(const std::vector<StackCandidate>& few,
                         const std::vector<StackCandidate>& many, size_t& comparisons_left) {
  IndexPairs pairs;
  size_t spare = many.size() - few.size();
  size_t width = spare + 1;  // j − i is 0 … spare
  size_t lines = few.front().lines.size() + 1;
  bool affordable = few.size() * width <= comparisons_left / lines;
  if (spare == 0 || !affordable) {
    for (size_t i = 0; i < few.size(); ++i) pairs.emplace_back(i, i);
    return pairs;
  }
  comparisons_left -= few.size() * width * lines;
  std::vector<Cost> best(width);
  std::vector<bool> skips(few.size() * width);  // many[i + s] is left out here
  for (size_t i = 0; i < few.size(); ++i) {
    for (size_t s = 0; s < width; ++s) {
      best[s] = best[s] + costOf(few[i], many[i + s]);
      bool skip = s > 0 && best[s - 1] <= best[s];
      if (skip) best[s] = best[s - 1];
      skips[i * width + s] = skip;
    }
  }
  size_t s = spare;
  for (size_t i = few.size(); i-- > 0;) {
    while (skips[i * width + s]) --s;
    pairs.emplace_back(i, i + s);
  }
  return pairs;
}

std::vector<StackCandidate> candidates(const AnalysedTrace& analysed,
                                       const std::vector<StackOnSide>& side,
                                       const std::vector<size_t>& indices, StackMatch level) {
  std::vector<StackCandidate> found;
  found.reserve(indices.size());
  for (size_t index : indices) {
    found.push_back({index, linesOf(analysed, side[index].stack, level), side[index].bytes});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const StackCandidate& x, const StackCandidate& y) {
                     return x.lines != y.lines ? x.lines < y.lines : x.bytes > y.bytes;
                   });
  return found;
}

// Keys of all stacks of a trace.
boost::unordered_flat_set<StackKey> allKeys(StackKeys& keys, const AnalysedTrace& analysed,
                                            StackMatch level) {
  boost::unordered_flat_set<StackKey> all;
  for (size_t s = 0; s < analysed.trace.stacks.size(); ++s) {
    all.insert(keys.keyOf(analysed, StackId(static_cast<uint32_t>(s)), level));
  }
  return all;
}

// A stack that the other recording contains unchanged, only not at its place, has no looser match.
void settleKnown(StackKeys& keys, const AnalysedTrace& own, const std::vector<StackOnSide>& side,
                 const AnalysedTrace& other, StackMatch level, std::vector<bool>& done) {
  bool all_done = std::find(done.begin(), done.end(), false) == done.end();
  if (all_done) return;
  boost::unordered_flat_set<StackKey> known = allKeys(keys, other, level);
  for (size_t i = 0; i < side.size(); ++i) {
    if (!done[i]) done[i] = known.contains(keys.keyOf(own, side[i].stack, level));
  }
}

}  // namespace

std::string_view name(StackMatch match) {
  constexpr std::string_view kNames[] = {"exact", "path", "moved", "user"};
  return kNames[static_cast<size_t>(match)];
}

std::string_view tailOfPath(std::string_view path) {
  constexpr std::string_view kPackages = "-packages/";
  if (size_t at = path.rfind(kPackages); at != std::string_view::npos) {
    return path.substr(at + kPackages.size());
  }
  if (size_t at = path.rfind("lib/python"); at != std::string_view::npos) {
    size_t slash = path.find('/', at + std::string_view("lib/python").size());
    if (slash != std::string_view::npos) return path.substr(slash + 1);
  }
  size_t slash = path.find_last_of("/\\");
  if (slash == std::string_view::npos) return path;
  // Every package has an __init__.py, so its folder names it.
  if (path.substr(slash + 1) == "__init__.py" && slash > 0) {
    size_t before = path.find_last_of("/\\", slash - 1);
    return before == std::string_view::npos ? path : path.substr(before + 1);
  }
  return path.substr(slash + 1);
}

std::string withoutAddresses(std::string_view text) {
  std::string kept;
  kept.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    kept += text[i];
    bool address = text[i] == 'x' && i > 0 && text[i - 1] == '0' && i + 1 < text.size() &&
                   isHexDigit(text[i + 1]);
    while (address && i + 1 < text.size() && isHexDigit(text[i + 1])) ++i;
  }
  return kept;
}

StackKeys::FrameKeys& StackKeys::framesOf(const AnalysedTrace& analysed) {
  auto [found, fresh] = frames_.try_emplace(&analysed);
  if (fresh) {
    for (std::vector<uint32_t>& level : found->second) {
      level.assign(analysed.trace.frames.size(), kNotMade);
    }
  }
  return found->second;
}

uint32_t StackKeys::frameKey(const AnalysedTrace& analysed, FrameId frame, StackMatch level) {
  const model::Frames& frames = analysed.trace.frames;
  size_t f = frame.index();
  std::string_view file = analysed.trace.strings.text(frames.file[f]);
  std::string function(analysed.trace.strings.text(frames.function[f]));
  bool is_forward = frames.kind[f] == model::FrameKind::kForward;
  if (frames.kind[f] != model::FrameKind::kPython && !is_forward)
    function = withoutAddresses(function);
  if (level != StackMatch::kExact) file = tailOfPath(file);
  // Lengths first, so that no two frames read the same.
  std::string text = fmt::format("{} {} {}{}", function.size(), file.size(), function, file);
  bool with_line = level == StackMatch::kExact || level == StackMatch::kPath;
  if (with_line) text += fmt::format(" {}", frames.line[f]);
  if (is_forward) text += " forward";
  return texts_.intern(text).value;
}

StackKey StackKeys::keyOf(const AnalysedTrace& analysed, StackId stack, StackMatch level) {
  const model::Stacks& stacks = analysed.trace.stacks;
  if (!stack.valid() || stacks.depth(stack) == 0) return {};
  bool user = level == StackMatch::kUser;
  std::vector<uint32_t>& known =
      framesOf(analysed)[std::min<size_t>(static_cast<size_t>(level), 2)];
  path_.clear();
  model::FrameList frames = stacks.framesOf(stack);
  for (size_t i = 0; i < stacks.depth(stack); ++i) {
    if (user && !analysed.labels.isUser(frames[i])) continue;
    uint32_t& key = known[frames[i].index()];
    if (key == kNotMade) key = frameKey(analysed, frames[i], level);
    path_.push_back(key);
  }
  if (user) {
    std::string_view operation = analysed.labels.operation(stack);
    if (!operation.empty())
      path_.push_back(texts_.intern(fmt::format("calls {}", operation)).value);
    if (path_.empty()) return {};
  }
  XXH128_hash_t hash = XXH3_128bits_withSeed(path_.data(), path_.size() * sizeof(uint32_t),
                                             static_cast<uint64_t>(level));
  return {hash.high64, hash.low64};
}

std::vector<StackPair> matchStacks(StackKeys& keys, const AnalysedTrace& trace_a,
                                   const std::vector<StackOnSide>& a, const AnalysedTrace& trace_b,
                                   const std::vector<StackOnSide>& b) {
  struct Group {
    std::vector<size_t> a, b;
  };
  std::vector<StackPair> pairs;
  std::vector<bool> done_a(a.size()), done_b(b.size());
  size_t comparisons_left = kMaxComparisons;
  for (size_t l = 0; l < kStackMatches; ++l) {
    auto level = static_cast<StackMatch>(l);
    std::map<StackKey, Group> groups;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!done_a[i]) groups[keys.keyOf(trace_a, a[i].stack, level)].a.push_back(i);
    }
    for (size_t i = 0; i < b.size(); ++i) {
      if (!done_b[i]) groups[keys.keyOf(trace_b, b[i].stack, level)].b.push_back(i);
    }
    for (const auto& [key, group] : groups) {
      if (!key.valid() || group.a.empty() || group.b.empty()) continue;
      std::vector<StackCandidate> of_a = candidates(trace_a, a, group.a, level);
      std::vector<StackCandidate> of_b = candidates(trace_b, b, group.b, level);
      // so that the pairs do not depend on which side is A
      bool a_is_few = of_a.size() <= of_b.size();
      const auto& few = a_is_few ? of_a : of_b;
      const auto& many = a_is_few ? of_b : of_a;
      for (auto [i, j] : pairedInOrder(few, many, comparisons_left)) {
        size_t in_a = a_is_few ? of_a[i].index : of_a[j].index;
        size_t in_b = a_is_few ? of_b[j].index : of_b[i].index;
        pairs.push_back({in_a, in_b, level});
        done_a[in_a] = done_b[in_b] = true;
      }
    }
    if (level == StackMatch::kUser) break;
    settleKnown(keys, trace_a, a, trace_b, level, done_a);
    settleKnown(keys, trace_b, b, trace_a, level, done_b);
  }
  return pairs;
}

}  // namespace tidegauge::analysis
