#include "cli/options/progress_bar.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/text_layout.h"
#include "cli/options/terminal.h"

namespace tidegauge::cli {

ProgressBar::ProgressBar(const std::string& title)
    : title_(base::printable(title)), terminal_(showsProgress()) {}

void ProgressBar::clear() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

void ProgressBar::show(uint64_t done, uint64_t total, const std::function<std::string()>& text) {
  using std::chrono::milliseconds;
  auto now = std::chrono::steady_clock::now();
  if (!terminal_ || now - begin_ < milliseconds(500) || now - last_ < milliseconds(100)) return;
  last_ = now;
  shown_ = true;
  double share = total == 0 ? 0.0 : static_cast<double>(done) / static_cast<double>(total);
  int filled = static_cast<int>(share * 30);
  std::string line =
      fmt::format("{} [{:█<{}}{: <{}}] {}", title_, "", filled, "", 30 - filled, text());
  size_t columns = terminalColumns();
  // a wrapped line would stay on the screen
  if (columns > 0) line = base::cutTo(line, columns - 1);
  std::fputs(("\r\033[K" + line).c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace tidegauge::cli
