#include "cli/wss_common.h"

#include <signal.h>

#include "base/text_layout.h"

namespace tidegauge::cli {

std::string dumpedJson(const nlohmann::json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string choiceNotes(const wss::Choice& choice, size_t columns) {
  std::string text;
  if (!choice.why.empty()) text += base::wrapped("Note: " + choice.why + ".", columns, 0, 2);
  for (const std::string& limit : choice.backend->limits())
    text += base::wrapped("Careful: " + limit + ".", columns, 0, 2);
  return text;
}

int endOfMeasurement(int code, const RealClock& clock, int rows) {
  if (code != 0 || !clock.isEnding() || rows > 0) return code;
  complain("tidegauge: ended before the first window was over: nothing was measured");
  return 128 + SIGINT;
}

}  // namespace tidegauge::cli
