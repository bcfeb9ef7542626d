#include "cli/wss/wss_common.h"

#include <fmt/format.h>
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

void complainOfLimits(const wss::Backend& backend) {
  for (const std::string& limit : backend.limits()) complain("tidegauge: careful: " + limit);
}

std::string stallNote(int64_t stall_ns, double most_ms, std::string_view who, size_t columns) {
  double stall_ms = static_cast<double>(stall_ns) * 1e-6;
  if (stall_ms <= most_ms) return {};
  return base::wrapped(
      fmt::format("Careful: mmap, munmap and brk of {} waited for up to {:.1f} ms, more "
                  "than the {:g} of --max-stall-ms.",
                  who, stall_ms, most_ms),
      columns, 0, 2);
}

nlohmann::json endedJson(const base::Status& status) {
  return status.ok() ? nlohmann::json() : nlohmann::json(status.error().what);
}

int endOfMeasurement(int code, const RealClock& clock, int rows) {
  if (code != 0 || !clock.isEnding() || rows > 0) return code;
  complain("tidegauge: ended before the first window was over: nothing was measured");
  return 128 + SIGINT;
}

}  // namespace tidegauge::cli
