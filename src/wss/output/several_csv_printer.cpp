#include "wss/output/several_csv_printer.h"

#include <fmt/format.h>

#include "base/csv.h"
#include "base/text_layout.h"
#include "wss/words/row_json.h"

namespace tidegauge::wss {

std::string SeveralCsvPrinter::begin() { return "pid,process," + csvHeader(); }

std::string SeveralCsvPrinter::window(const SeveralWindow& window) {
  bool knows_sharing = subject_.choice.backend->traits().knows_sharing;
  std::string text;
  for (const Member& member : window.members) {
    if (!member.outcome->row) continue;
    text += fmt::format("{},", member.pid);
    base::appendCsvField(text, base::printable(member.name));
    text += "," + csvRow(*member.outcome->row, window.unix_s, knows_sharing);
  }
  if (subject_.knows_frames) text += ",," + csvRow(window.all, window.unix_s, false);
  return text;
}

std::string SeveralCsvPrinter::end(const Ending& /*ending*/) { return {}; }

}  // namespace tidegauge::wss
