// Text written line by line that is never wider than its page. Sentences stay readable on a wide
// page: they end at kMaxProse.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text_layout.h"
#include "report/shell/shell_line.h"

namespace tidegauge::report {

class TextPage {
 public:
  static constexpr size_t kMaxProse = 100;

  TextPage(size_t columns, bool colour)
      : columns_(columns), prose_(std::min(columns, kMaxProse)), colour_(colour) {}

  size_t columns() const { return columns_; }
  // Too narrow for tables: a row takes two lines.
  bool isNarrow() const { return columns_ < 72; }

  // Complete lines that the caller has laid out.
  void raw(std::string_view lines) { out_ += lines; }
  // A command line, for copying: never cut, but broken where the shell joins it again.
  void copyable(std::string_view text, size_t indent) {
    out_ += brokenForShell(base::printable(text), prose_, indent);
  }
  void line(std::string_view text) { out_ += base::cutTo(base::printable(text), columns_) + '\n'; }
  // A row of a table: the text before the name is never cut, a long name in its middle. If too
  // little space is left, the name gets its own line.
  void row(std::string_view numbers, std::string_view name) {
    size_t width = base::displayWidth(numbers);
    std::string shown = base::printable(name);
    size_t room = columns_ - std::min(columns_, width + 2);
    bool beside = !isNarrow() && room >= std::min(kMinName, base::displayWidth(shown));
    if (!beside || name.empty()) {
      width <= columns_ ? line(numbers) : paragraph(numbers);
      if (!name.empty()) paragraph(name, 4, 2);
      return;
    }
    out_ += std::string(numbers) + "  " + base::cutMiddle(shown, room) + '\n';
  }
  void paragraph(std::string_view text, size_t indent = 2, size_t hanging = 0) {
    out_ += base::wrapped(base::printable(text), prose_, indent, hanging);
  }
  void bullet(std::string_view text) { paragraph("- " + std::string(text), 2, 2); }
  // Details for some readers.
  void faint(std::string_view text, size_t indent, size_t hanging) {
    std::string lines = base::wrapped(base::printable(text), prose_, indent, hanging);
    if (lines.empty()) return;
    lines.pop_back();  // the newline
    out_ += (colour_ ? "\033[2m" + lines + "\033[0m" : lines) + '\n';
  }
  void blank() { out_ += '\n'; }
  void heading(std::string_view text, size_t indent = 0) {
    std::string lines = base::wrapped(base::printable(text), prose_, indent, 2);
    lines.pop_back();  // the newline
    out_ += (colour_ ? "\033[1m" + lines + "\033[0m" : lines) + '\n';
  }
  std::string take() { return std::move(out_); }

 private:
  static constexpr size_t kMinName = 24;

  size_t columns_;
  size_t prose_;
  bool colour_;
  std::string out_;
};

}  // namespace tidegauge::report
