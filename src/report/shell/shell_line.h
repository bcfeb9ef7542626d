// A command line for copying, broken where a shell joins it again.
//
//     PYTORCH_CUDA_ALLOC_CONF='roundup_power2_divisions:[256:1,>:8],'\ (the line ends here)
// 'max_split_size_mb:128'
//
// Each line but the last ends with a backslash. Spaces after it would end the word, so only the
// first line is indented. In single quotes a backslash joins nothing: they end before it, and begin
// again after it.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text_layout.h"

namespace tidegauge::report {

// In single quotes, unless nothing in it has a meaning for a shell. The text may be of a file that
// nobody trusts.
inline std::string quotedForShell(const std::string& text) {
  bool is_plain = std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("_:.,+-/%@").find(c) != std::string_view::npos;
  });
  if (is_plain) return text;
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Where a command line is broken, and whether single quotes are open there.
struct ShellBreak {
  size_t end = 0;
  bool is_quoted = false;
};

// After the last comma of the first `room` columns, else at their end; at least one character.
inline ShellBreak shellBreak(std::string_view text, size_t room, bool is_quoted) {
  ShellBreak last{0, is_quoted}, after_comma;
  auto isInside = [&](size_t at) {  // of a character of several bytes
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  while (last.end < text.size()) {
    // Outside quotes, a backslash belongs to the next character.
    bool is_escape = !last.is_quoted && text[last.end] == '\\' && last.end + 1 < text.size();
    size_t next = last.end + (is_escape ? 2 : 1);
    while (isInside(next)) ++next;
    if (last.end > 0 && base::displayWidth(text.substr(0, next)) > room) break;
    bool is_quote = !is_escape && text[last.end] == '\'';
    bool is_comma = text[last.end] == ',';
    last = {next, last.is_quoted != is_quote};
    if (is_comma) after_comma = last;
  }
  return after_comma.end > 0 ? after_comma : last;
}

// Lines of at most `columns`, the first after `indent` spaces; ends with a newline.
inline std::string brokenForShell(std::string_view text, size_t columns, size_t indent) {
  std::string out, line(indent, ' ');
  bool is_quoted = false;
  while (base::displayWidth(line) + base::displayWidth(text) > columns) {
    constexpr size_t kJoint = 2;  // the quote and the backslash
    size_t used = base::displayWidth(line) + kJoint;
    ShellBreak at = shellBreak(text, columns - std::min(columns, used), is_quoted);
    if (at.end >= text.size()) break;
    out += line + std::string(text.substr(0, at.end)) + (at.is_quoted ? "'\\\n" : "\\\n");
    text.remove_prefix(at.end);
    is_quoted = at.is_quoted;
    line = is_quoted ? "'" : "";
  }
  return out + line + std::string(text) + '\n';
}

}  // namespace tidegauge::report
