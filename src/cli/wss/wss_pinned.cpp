#include "cli/wss/wss_pinned.h"

#include <fmt/format.h>

#include <utility>

#include "base/text_layout.h"
#include "cli/open_trace.h"
#include "cli/options/output.h"
#include "cli/options/usage.h"
#include "wss/measure/pinned.h"

namespace tidegauge::cli {

int checkPinned(const WssOptions& options) {
  if (options.method.with.empty()) return 0;
  if ((options.method.backend != "auto" && options.method.backend != "pte") ||
      options.form.compat || (options.method.sample != "auto" && options.method.sample != "exact"))
    return usageError("--with marks pages; only --backend pte reads pages",
                      "Omit --backend, --sample and --compat");
  if (options.form.by.empty() && options.course.rolling == 0)
    return usageError("--with marks memory in lists and pictures",
                      "Add --by kind, --by vma or --rolling 8 --heat");
  return 0;
}

int markPinned(const WssOptions& options, wss::Choice& choice) {
  if (options.method.with.empty()) return 0;
  Opened opened = openTraces({options.method.with});
  if (opened.traces.empty()) return opened.exit_code != 0 ? opened.exit_code : kNotRead;
  int pid = options.targets.pids.front();
  std::vector<wss::Mark> marks;
  bool is_there = false;
  for (const auto& analysed : opened.traces) {
    if (!wss::isOfProcess(analysed->trace, pid)) continue;
    is_there = true;
    wss::addPinned(marks, analysed->trace);
  }
  std::string shown = base::printable(options.method.with);
  if (!is_there)
    return reportError(
        {base::ErrorKind::kUsage, fmt::format("{} contains nothing about process {}", shown, pid),
         std::nullopt, fmt::format("`tidegauge report {}` lists its processes", shown)});
  if (marks.empty()) {
    complain(fmt::format(
        "tidegauge: {} contains no pinned host memory{}", shown,
        opened.recordings.empty()
            ? ". PyTorch 2.13 and newer write it into snapshots if the program requests it"
            : " of that process"));
    return 0;
  }
  if (!choice.backend->traits().reads_pages)
    return reportError({base::ErrorKind::kMissingFeature,
                        fmt::format("{} does not read pages, so wss cannot mark pinned pages",
                                    choice.backend->name()),
                        std::nullopt, "Run as root to use --backend pte"});
  choice.backend->detail().marks = wss::orderedMarks(std::move(marks));
  return 0;
}

}  // namespace tidegauge::cli
