// Text that is written line by line and never gets wider than its page, whatever the words are.
#pragma once

#include <string>
#include <string_view>

#include "base/text_layout.h"

namespace tidegauge::exporting {

class TextPage {
 public:
  TextPage(size_t columns, bool colour) : columns_(columns), colour_(colour) {}

  size_t columns() const { return columns_; }
  // Too narrow for tables: what belongs in one row takes two lines.
  bool isNarrow() const { return columns_ < 72; }

  void line(std::string_view text) { out_ += base::cutTo(base::printable(text), columns_) + '\n'; }
  void paragraph(std::string_view text, size_t indent = 2, size_t hanging = 0) {
    out_ += base::wrapped(base::printable(text), columns_, indent, hanging);
  }
  void bullet(std::string_view text) { paragraph("- " + std::string(text), 2, 2); }
  // What only some will read.
  void faint(std::string_view text, size_t indent, size_t hanging) {
    std::string lines = base::wrapped(base::printable(text), columns_, indent, hanging);
    if (lines.empty()) return;
    lines.pop_back();  // the newline
    out_ += (colour_ ? "\033[2m" + lines + "\033[0m" : lines) + '\n';
  }
  void blank() { out_ += '\n'; }
  void heading(std::string_view text, size_t indent = 0) {
    std::string lines = base::wrapped(base::printable(text), columns_, indent, 2);
    lines.pop_back();  // the newline
    out_ += (colour_ ? "\033[1m" + lines + "\033[0m" : lines) + '\n';
  }
  std::string take() { return std::move(out_); }

 private:
  size_t columns_;
  bool colour_;
  std::string out_;
};

}  // namespace tidegauge::exporting
