#include "cli/wss/wss_common.h"

#include <signal.h>

#include <charconv>
#include <cmath>

#include "cli/options/output.h"
#include "cli/options/terminal.h"

namespace tidegauge::cli {

int64_t nanosecondsOf(double seconds) { return std::llround(seconds * 1e9); }

int64_t nanosecondsOf(const std::string& text) {
  double seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return nanosecondsOf(seconds);
}

wss::PrintOptions printOptions(const WssOptions& options) {
  wss::PrintOptions print{.top = options.form.top,
                          .more_times = options.form.more_times,
                          .most_stall_ms = options.method.most_stall_ms,
                          .columns = pageColumns(),
                          .colour = usesColours()};
  if (options.form.by == "vma") print.by = wss::Grouping::kMapping;
  if (options.form.by == "file") print.by = wss::Grouping::kFile;
  if (options.form.by == "kind") print.by = wss::Grouping::kKind;
  return print;
}

wss::JsonForm jsonForm(const WssOptions& options) {
  return options.form.json ? wss::JsonForm::kDocument : wss::JsonForm::kLines;
}

void complainOfLimits(const wss::Backend& backend) {
  for (const std::string& limit : backend.limits()) complain("tidegauge: careful: " + limit);
}

int endOfMeasurement(int code, const RealClock& clock, int rows) {
  if (code != 0 || !clock.isEnding() || rows > 0) return code;
  complain("tidegauge: nothing was measured, because wss ended before the end of the first window");
  return 128 + SIGINT;
}

}  // namespace tidegauge::cli
