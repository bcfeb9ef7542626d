// Sections (section.h) on a text page: title, sentences, a grid, each with its evidence.
#pragma once

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/text_layout.h"
#include "report/words/section.h"
#include "report/words/text_page.h"

namespace tidegauge::report {

class SectionText {
 public:
  // `has_evidence`: print the view of each number, and its SQL.
  SectionText(TextPage& page, bool has_evidence) : page_(page), has_evidence_(has_evidence) {}

  void evidence(const std::string& sql, const std::optional<Link>& link, size_t indent = 2) {
    if (has_evidence_ && !sql.empty()) page_.faint(evidenceText(sql, link), indent, 2);
  }

  void sentences(const std::vector<Sentence>& all) {
    for (const Sentence& sentence : all) {
      page_.bullet(plainText(sentence.parts));
      evidence(sentence.sql, sentence.link, 4);
    }
  }

  // `mark` after the title: its figures are incomplete.
  void section(const Section& section, const std::string& mark = {}) {
    if (section.sentences.empty() && !section.grid) return;
    page_.blank();
    page_.heading(section.title + mark, 2);
    sentences(section.sentences);
    if (section.grid) grid(*section.grid);
  }

  void grid(const Grid& grid) {
    std::vector<size_t> widths;
    for (size_t column = 0; column + 1 < grid.heads.size(); ++column) {
      size_t width = base::displayWidth(grid.heads[column]);
      for (const auto& row : grid.rows) width = std::max(width, base::displayWidth(row[column]));
      widths.push_back(width);
    }
    auto line = [&](const std::vector<std::string>& row) {
      std::string text = " ";
      for (size_t column = 0; column < widths.size(); ++column) {
        text += " " + base::padLeft(row[column], widths[column] + (column > 0 ? 1 : 0));
      }
      return text;
    };
    if (!page_.isNarrow()) page_.row(line(grid.heads), grid.heads.back());
    for (const auto& row : grid.rows) {
      bool fits =
          base::displayWidth(line(row)) + 2 + base::displayWidth(row.back()) <= page_.columns();
      if (!page_.isNarrow() && grid.whole_names && !fits) {
        page_.row(line(row), "");
        page_.paragraph(row.back(), 6, 2);
        continue;
      }
      if (!page_.isNarrow()) {
        page_.row(line(row), row.back());
        continue;
      }
      page_.paragraph(row.back(), 2, 2);
      std::string numbers;
      for (size_t column = 0; column < widths.size(); ++column) {
        numbers += fmt::format("{}{} {}", column > 0 ? ", " : "", grid.heads[column], row[column]);
      }
      page_.paragraph(numbers, 4);
    }
    if (grid.more > 0) page_.line(fmt::format("  {} more", base::withCommas(grid.more)));
    evidence(grid.sql, grid.link);
  }

 private:
  TextPage& page_;
  bool has_evidence_;
};

}  // namespace tidegauge::report
