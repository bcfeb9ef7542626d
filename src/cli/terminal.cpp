#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

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

bool usesColours() {
  const char* no_colour = std::getenv("NO_COLOR");
  bool refused = no_colour != nullptr && *no_colour != '\0';
  return isatty(STDOUT_FILENO) == 1 && understandsEscapes() && !refused;
}

bool showsProgress() { return isatty(STDERR_FILENO) == 1 && understandsEscapes(); }

}  // namespace tidegauge::cli
