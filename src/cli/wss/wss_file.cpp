#include "cli/wss/wss_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/text_layout.h"
#include "cli/open_trace.h"
#include "cli/options/new_file.h"
#include "cli/options/output.h"
#include "cli/options/terminal.h"
#include "cli/options/usage.h"
#include "cli/wss/wss_several.h"
#include "cli/wss/wss_survey.h"
#include "wss/file/measurement_text.h"

namespace tidegauge::cli {

bool isWssFile(const WssOptions& options) {
  if (options.words.size() != 1 || !options.targets.comm.empty() || !options.targets.cgroup.empty())
    return false;
  const std::string& word = options.words.front();
  // A number is a process, unless it names a file of `wss -o`.
  std::error_code ignored;
  bool is_number = word.find_first_not_of("0123456789.") == std::string::npos;
  return wss::isMeasurementFile(word) || (!is_number && std::filesystem::exists(word, ignored));
}

int checkWssFile(const WssOptions& options) {
  if (options.form.compat || options.form.json || options.form.jsonl || options.form.csv)
    return usageError("a saved measurement can only be printed as text",
                      "Programs can read the file itself, which is JSON");
  for (const std::string& name : options.given)
    if (name != "PID" && name != "--top")
      return usageError(fmt::format("{} does not work with a saved measurement", name),
                        "Use FILE alone, or with --top. `tidegauge view FILE` shows more");
  return 0;
}

int runWssFile(const WssOptions& options) {
  const std::string& path = options.words.front();
  auto measurement = wss::readMeasurementFile(path);
  if (!measurement.ok()) {
    base::Error error = measurement.error();
    error.what = fmt::format("{}: {}", shownPath(path), error.what);
    return reportError(error);
  }
  Output out;
  out.write(
      wss::measurementText(measurement.value(), options.form.top, pageColumns(), usesColours()));
  // A file that ends inside its first window has no result.
  bool is_nothing = measurement.value().is_cut && measurement.value().samples.empty();
  return out.finish(is_nothing ? kNotRead : 0);
}

int checkOutput(const WssOptions& options) {
  if (options.files.output.empty()) return 0;
  if (options.dry_run) return usageError("--dry-run measures nothing, so -o has nothing to save");
  if (isSurvey(options) || isOfSeveral(options))
    return usageError("-o saves the pages that one process touched",
                      "Give one process, and a --backend that reads pages");
  return NewFile(options.files.output, options.files.force).refuse("");
}

}  // namespace tidegauge::cli
