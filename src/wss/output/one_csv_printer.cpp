#include "wss/output/one_csv_printer.h"

#include "wss/words/row_json.h"

namespace tidegauge::wss {

std::string OneCsvPrinter::begin() {
  return csvHeader(subject_.choice.backend->traits().tells_writes);
}

std::string OneCsvPrinter::window(const OneWindow& window) {
  return csvRow(window.row, window.unix_s, subject_.choice.backend->traits().knows_sharing);
}

std::string OneCsvPrinter::end(const Ending& /*ending*/) { return {}; }

std::string OneCompatPrinter::begin() { return compatHeader(subject_.plan, words_, more_times_); }

std::string OneCompatPrinter::window(const OneWindow& window) {
  return compatRow(window.row, more_times_);
}

std::string OneCompatPrinter::end(const Ending& /*ending*/) { return {}; }

}  // namespace tidegauge::wss
