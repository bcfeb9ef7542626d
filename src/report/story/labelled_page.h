// A text page in two columns: labels, and to their right what is said under them. On a narrow page
// a label stands above.
//
//     Why            Fragmentation. 807 MiB were in 27 free ranges, the largest 112 MiB, and the
//                    driver had 3,842 MiB free. …
//
//   page.label("Why");  page.sentence(sentence);
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "base/text_layout.h"
#include "report/shell/shell_line.h"
#include "report/words/sentence.h"
#include "report/words/text_page.h"

namespace tidegauge::report {

class LabelledPage {
 public:
  LabelledPage(size_t columns, bool colour, bool evidence)
      : page_(columns, colour), colour_(colour), evidence_(evidence) {}

  TextPage& page() { return page_; }

  void label(std::string_view text) {
    if (page_.isNarrow()) return page_.heading(text, 2);
    label_ = text;
  }
  void paragraph(const std::string& text) { put(wrap(text, 0)); }
  void bullet(const std::string& text) { put(wrap("- " + text, 2)); }
  void sentence(const Sentence& sentence, bool as_bullet = false) {
    std::string text = plainText(sentence.parts);
    as_bullet ? bullet(text) : paragraph(text);
    evidence(sentence.sql, sentence.link);
  }
  void evidence(const std::string& sql, const std::optional<Link>& link) {
    if (!evidence_ || sql.empty()) return;
    std::string lines = wrap(evidenceText(sql, link), 2);
    if (colour_) lines = "\033[2m" + lines.substr(0, lines.size() - 1) + "\033[0m\n";
    put(lines);
  }
  // A command line, for copying: never cut, but broken where the shell joins it again.
  void copyable(const std::string& text) {
    put(brokenForShell(base::printable(text), std::min(page_.columns(), TextPage::kMaxProse),
                       indent()));
  }
  void row(const std::string& numbers, const std::string& name) {
    std::string line = std::string(indent(), ' ') + numbers + "  ";
    size_t room = page_.columns() - std::min(page_.columns(), base::displayWidth(line));
    std::string shown = base::printable(name);
    constexpr size_t kMinName = 16;
    if (room >= std::min(kMinName, base::displayWidth(shown)))
      return put(line + base::cutMiddle(shown, room) + '\n');
    put(line.substr(0, line.size() - 2) + '\n');
    put(base::wrapped(shown, page_.columns(), indent() + 2, 2));
  }
  std::string take() { return page_.take(); }

 private:
  static constexpr size_t kIndent = 17;
  size_t indent() const { return page_.isNarrow() ? 4 : kIndent; }

  std::string wrap(const std::string& text, size_t hanging) const {
    return base::wrapped(base::printable(text), std::min(page_.columns(), TextPage::kMaxProse),
                         indent(), hanging);
  }

  void put(std::string lines) {
    if (!label_.empty()) {
      std::string shown = base::padRight(label_, kIndent - 2);
      if (colour_) shown = "\033[1m" + shown + "\033[0m";
      lines = "  " + shown + lines.substr(kIndent);
      label_.clear();
    }
    page_.raw(lines);
  }

  TextPage page_;
  bool colour_, evidence_;
  std::string label_;
};

}  // namespace tidegauge::report
