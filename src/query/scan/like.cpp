#include "query/scan/like.h"

#include <sqlite3.h>

#include <algorithm>

#include "base/ascii.h"
#include "query/scan/columns.h"
#include "query/scan/stack_text.h"

namespace tidegauge::query {
namespace {

using model::FrameId;
using model::StackId;

// The pattern's literal pieces, in lower case. Each is within one line of a matching text.
std::vector<std::string> piecesOf(std::string_view pattern) {
  std::vector<std::string> pieces;
  for (size_t begin = 0; begin < pattern.size();) {
    size_t end = std::min(pattern.find_first_of("%_\n", begin), pattern.size());
    if (end > begin) pieces.push_back(base::lowerAscii(pattern.substr(begin, end - begin)));
    begin = end + 1;
  }
  return pieces;
}

class StackMatcher {
 public:
  StackMatcher(const analysis::AnalysedTrace& analysed, const std::string& pattern)
      : analysed_(analysed), pattern_(pattern), pieces_(piecesOf(pattern)) {
    const model::Trace& trace = analysed.trace;
    bool anywhere = pattern.size() >= 2 && pattern.front() == '%' && pattern.back() == '%';
    frame_matches_.resize(trace.frames.size());
    frame_pieces_.resize(trace.frames.size());
    for (size_t f = 0; f < trace.frames.size(); ++f) {
      std::string line = analysed.labels.frameText(FrameId(static_cast<uint32_t>(f)));
      frame_matches_[f] = anywhere && isLike(line, pattern);
      std::string lower = base::lowerAscii(line);
      for (size_t p = 0; p < countedPieces(); ++p) {
        bool has = lower.find(pieces_[p]) != std::string::npos;
        frame_pieces_[f] |= has ? uint64_t{1} << p : 0;
      }
    }
  }

  bool matches(StackId stack) const {
    const model::Stacks& stacks = analysed_.trace.stacks;
    model::FrameList frames = stacks.framesOf(stack);
    size_t depth = stacks.depth(stack);
    uint64_t pieces = 0;
    for (size_t i = 0; i < depth; ++i) {
      if (frame_matches_[frames[i].index()]) return true;
      pieces |= frame_pieces_[frames[i].index()];
    }
    uint64_t all = countedPieces() == 64 ? ~uint64_t{0} : (uint64_t{1} << countedPieces()) - 1;
    return pieces == all && isLike(stackTextOf(analysed_, stack), pattern_);
  }

 private:
  size_t countedPieces() const { return std::min<size_t>(pieces_.size(), 64); }

  const analysis::AnalysedTrace& analysed_;
  const std::string& pattern_;
  std::vector<std::string> pieces_;
  std::vector<bool> frame_matches_;     // the frame alone decides
  std::vector<uint64_t> frame_pieces_;  // bit p: the frame contains piece p
};

}  // namespace

bool isQuickPattern(std::string_view pattern) {
  constexpr size_t kMaxBytes = 500;
  constexpr ptrdiff_t kMaxWildcards = 4;
  return !pattern.empty() && pattern.size() <= kMaxBytes &&
         std::count(pattern.begin(), pattern.end(), '%') <= kMaxWildcards;
}

bool isLike(const std::string& text, const std::string& pattern) {
  return sqlite3_strlike(pattern.c_str(), text.c_str(), 0) == 0;
}

std::vector<bool> stacksLike(const analysis::AnalysedTrace& trace, const std::string& pattern) {
  StackMatcher matcher(trace, pattern);
  std::vector<bool> matches(trace.trace.stacks.size());
  for (uint32_t s = 0; s < matches.size(); ++s) matches[s] = matcher.matches(StackId(s));
  return matches;
}

}  // namespace tidegauge::query
