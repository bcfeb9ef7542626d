// A table on a text page: right-aligned numbers, as wide as needed, and a name at the end.
//
//     33.74 GiB  33.74 GiB  0  active          on a narrow page the name gets its own line
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "report/words/text_page.h"

namespace tidegauge::report {

struct TextRow {
  std::vector<std::string> numbers;
  std::string name;
};

inline void printTable(TextPage& page, const std::vector<TextRow>& rows) {
  std::vector<size_t> widths;
  for (const TextRow& row : rows) {
    widths.resize(std::max(widths.size(), row.numbers.size()));
    for (size_t i = 0; i < row.numbers.size(); ++i) {
      widths[i] = std::max(widths[i], base::displayWidth(row.numbers[i]));
    }
  }
  for (const TextRow& row : rows) {
    std::string text;
    for (size_t i = 0; i < row.numbers.size(); ++i) {
      text += "  " + base::padLeft(row.numbers[i], widths[i]);
    }
    page.row(text, row.name);
  }
}

}  // namespace tidegauge::report
