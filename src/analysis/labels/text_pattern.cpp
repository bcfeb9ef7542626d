#include "analysis/labels/text_pattern.h"

#include <fmt/format.h>
#include <re2/re2.h>
#include <re2/stringpiece.h>

#include <algorithm>

namespace tidegauge::analysis {
namespace {

constexpr int64_t kMaxExpressionMemory = 4 << 20;

base::Error badPattern(std::string what) {
  return {base::ErrorKind::kUsage,
          std::move(what),
          {},
          "Use /…/ (RE2 syntax) for a regular expression, or plain text."};
}

// Compiled alone first, so that an error is about this text and not its neighbours.
base::Result<std::string> expressionOf(std::string_view text) {
  if (text.size() > TextPattern::kMaxBytes) {
    return badPattern(fmt::format("a pattern has at most {} bytes", TextPattern::kMaxBytes));
  }
  bool is_expression = text.size() >= 2 && text.front() == '/' && text.back() == '/';
  if (!is_expression) return RE2::QuoteMeta(re2::StringPiece(text.data(), text.size()));
  std::string expression(text.substr(1, text.size() - 2));
  RE2 alone(expression, RE2::Quiet);
  if (!alone.ok()) {
    return badPattern(
        fmt::format("“{}” is not a valid regular expression: {}", text, alone.error()));
  }
  return expression;
}

}  // namespace

base::Result<TextPattern> TextPattern::compile(std::string_view text) {
  std::string copy(text);
  return compileAny({&copy, 1});
}

base::Result<TextPattern> TextPattern::compileAny(std::span<const std::string> texts) {
  std::string expression;
  for (const std::string& text : texts) {
    TG_ASSIGN_OR_RETURN(std::string part, expressionOf(text));
    expression += fmt::format("{}(?:{})", expression.empty() ? "" : "|", part);
  }
  RE2::Options options(RE2::Quiet);
  options.set_case_sensitive(false);
  options.set_max_mem(kMaxExpressionMemory);
  options.set_never_capture(true);
  auto compiled = std::make_unique<RE2>(expression, options);
  if (!compiled->ok()) {
    return badPattern(fmt::format("the pattern is too large: {}", compiled->error()));
  }
  return TextPattern(std::move(compiled));
}

TextPattern::TextPattern(std::unique_ptr<re2::RE2> expression)
    : expression_(std::move(expression)) {}
TextPattern::TextPattern(TextPattern&&) noexcept = default;
TextPattern& TextPattern::operator=(TextPattern&&) noexcept = default;
TextPattern::~TextPattern() = default;

bool TextPattern::matches(std::string_view text) const {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *expression_);
}

std::vector<bool> matchingFrames(const model::Trace& trace, const TextPattern& pattern) {
  const model::Frames& frames = trace.frames;
  std::vector<bool> matching(frames.size());
  std::string text;
  for (size_t f = 0; f < frames.size(); ++f) {
    text.clear();
    fmt::format_to(std::back_inserter(text), "{}:{} {}", trace.strings.text(frames.file[f]),
                   frames.line[f], trace.strings.text(frames.function[f]));
    matching[f] = pattern.matches(text);
  }
  return matching;
}

std::vector<bool> stacksWith(const model::Trace& trace, const std::vector<bool>& frames) {
  const model::Stacks& stacks = trace.stacks;
  std::vector<bool> with(stacks.size());
  for (size_t s = 0; s < stacks.size(); ++s) {
    model::FrameList frames_of = stacks.framesOf(model::StackId(static_cast<uint32_t>(s)));
    with[s] = std::any_of(frames_of.begin(), frames_of.end(),
                          [&](model::FrameId f) { return frames[f.index()]; });
  }
  return with;
}

}  // namespace tidegauge::analysis
