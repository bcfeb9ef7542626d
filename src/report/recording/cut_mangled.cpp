#include "report/recording/cut_mangled.h"

namespace tidegauge::report {
namespace {

constexpr std::string_view kAnonymous = "_GLOBAL__N_";

bool isDigit(char c) { return c >= '0' && c <= '9'; }

// "6native…" → "native", and the rest; empty if it is not a name, or was cut.
std::string_view takeName(std::string_view& rest) {
  size_t length = 0, digits = 0;
  while (digits < rest.size() && isDigit(rest[digits]) && digits < 4)
    length = 10 * length + static_cast<size_t>(rest[digits++] - '0');
  if (digits == 0 || length == 0 || length > rest.size() - digits) return {};
  std::string_view name = rest.substr(digits, length);
  rest.remove_prefix(digits + length);
  return name;
}

}  // namespace

// Parses only names of functions in the grammar of the Itanium C++ ABI (5.1.2): (N <names>) or one
// <name>.
std::string readableName(std::string_view name) {
  std::string_view rest = name;
  if (!rest.starts_with("_Z")) return std::string(name);
  rest.remove_prefix(2);
  bool is_nested = rest.starts_with("N");
  if (is_nested) rest.remove_prefix(1);
  while (is_nested && !rest.empty() && (rest[0] == 'K' || rest[0] == 'V')) rest.remove_prefix(1);
  if (is_nested && rest.starts_with("St")) rest.remove_prefix(2);
  std::string text;
  do {
    std::string_view part = takeName(rest);
    if (part.empty()) break;
    text += text.empty() ? "" : "::";
    text += part.starts_with(kAnonymous) ? std::string_view("(anonymous)") : part;
  } while (is_nested);
  if (text.empty()) return std::string(name);
  return text + (rest.starts_with("I") ? "<…>" : "(…)");
}

}  // namespace tidegauge::report
