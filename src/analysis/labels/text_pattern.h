// What a user types to match names: a plain text, or a regular expression between slashes. Letter
// case does not matter.
//
//   "attention.py:118"    contains that text        "/flash|sdpa/"    matches that expression
//
// RE2 matches in time linear in the text and in bounded memory whatever the expression is;
// std::regex recurses on its input.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/trace.h"

namespace re2 {
class RE2;
}

namespace tidegauge::analysis {

class TextPattern {
 public:
  static constexpr size_t kMaxBytes = 1000;

  static base::Result<TextPattern> compile(std::string_view text);
  // Matches if one of them does.
  static base::Result<TextPattern> compileAny(std::span<const std::string> texts);
  TextPattern(TextPattern&&) noexcept;
  TextPattern& operator=(TextPattern&&) noexcept;
  ~TextPattern();

  bool matches(std::string_view text) const;

 private:
  explicit TextPattern(std::unique_ptr<re2::RE2> expression);
  std::unique_ptr<re2::RE2> expression_;
};

// By frame: does "file:line function" match? One pass over the distinct frames.
std::vector<bool> matchingFrames(const model::Trace& trace, const TextPattern& pattern);
// By stack: does it contain one of those frames?
std::vector<bool> stacksWith(const model::Trace& trace, const std::vector<bool>& frames);

}  // namespace tidegauge::analysis
