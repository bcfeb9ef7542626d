#include "cli/options/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace tidegauge::cli {
namespace {

bool understandsEscapes() {
  const char* term = std::getenv("TERM");
  return term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
}

}  // namespace

size_t terminalColumns() {
  if (isatty(STDOUT_FILENO) != 1) return 0;
  winsize size{};
  bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 100;
}

size_t pageColumns(size_t terminal, const char* variable) {
  constexpr size_t kLeast = 40, kMost = 400, kUsual = 100;
  constexpr size_t kLeastTerminal = 20;  // a narrower one wraps
  if (terminal > 0) return std::clamp(terminal, kLeastTerminal, kMost);
  std::string_view text = variable == nullptr ? "" : variable;
  size_t columns = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && columns >= kLeast && columns <= kMost ? columns : kUsual;
}

size_t pageColumns() { return pageColumns(terminalColumns(), std::getenv("COLUMNS")); }

bool usesColours() {
  const char* no_colour = std::getenv("NO_COLOR");
  bool refused = no_colour != nullptr && *no_colour != '\0';
  return isatty(STDOUT_FILENO) == 1 && understandsEscapes() && !refused;
}

bool showsProgress() { return isatty(STDERR_FILENO) == 1 && understandsEscapes(); }

}  // namespace tidegauge::cli
