#include "cli/wss/wss_several.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/memory/memory.h"
#include "base/text_layout.h"
#include "cli/open_trace.h"
#include "cli/options/output.h"
#include "cli/options/terminal.h"
#include "cli/options/usage.h"
#include "cli/wss/wss_common.h"
#include "cli/wss/wss_rolling.h"
#include "wss/measure/measure_watched.h"
#include "wss/output/several_csv_printer.h"
#include "wss/output/several_json_printer.h"
#include "wss/output/several_text_printer.h"
#include "wss/words/choice_text.h"

namespace tidegauge::cli {
namespace {

// Some of what was asked for could not be read: as of files.
constexpr int kPartial = 3;

std::unique_ptr<wss::Printer<wss::SeveralWindow>> printerOf(const WssOptions& options,
                                                            const wss::SeveralSubject& subject) {
  if (options.form.csv) return std::make_unique<wss::SeveralCsvPrinter>(subject);
  if (options.form.json || options.form.jsonl)
    return std::make_unique<wss::SeveralJsonPrinter>(subject, printOptions(options),
                                                     jsonForm(options));
  return std::make_unique<wss::SeveralTextPrinter>(subject, printOptions(options));
}

}  // namespace

bool isOfSeveral(const WssOptions& options) {
  return options.targets.pids.size() > 1 || options.targets.children ||
         !options.targets.comm.empty() || !options.targets.cgroup.empty();
}

int checkSeveral(const WssOptions& options) {
  if (!isOfSeveral(options)) return 0;
  if (options.targets.children && options.targets.pids.empty())
    return usageError("--children needs the PID of the parent process",
                      "Try `tidegauge wss --children 4711 0.1`");
  if (options.form.compat)
    return usageError("--compat works with one process only, as wss.pl does",
                      "For several processes use --csv, --json or --jsonl");
  if (options.form.heat || !options.files.plot.empty())
    return usageError("--heat and --plot draw the addresses of one process",
                      "For several processes use --rolling without --heat and --plot");
  bool is_exact = options.method.sample == "auto" || options.method.sample == "exact";
  bool is_known =
      std::ranges::count(std::array{"auto", "pte", "smaps", "idle"}, options.method.backend) > 0;
  if (!is_exact || !is_known)
    return usageError(
        "wss measures several processes with pte, smaps or idle only, and reads all of their pages",
        "Omit --sample and --backend, or measure one process");
  return 0;
}

int runSeveral(const WssOptions& options, const wss::Plan& plan) {
  base::allowManyFiles();  // each process is two
  wss::Watched watched(options.targets, [](const wss::LeftOut& one) {
    complain("tidegauge: " + base::printable(one.why) + ": left out");
  });
  if (auto status = watched.look(); !status.ok()) return reportError(status.error());
  if (watched.processes().empty()) {
    complain("tidegauge: wss cannot measure any of the processes");
    return kPartial;
  }
  auto choice = wss::chooseBackend({.backend = options.method.backend,
                                    .sample = "exact",
                                    .needs_sharing = false,
                                    .needs_pages = options.course.rolling > 0,
                                    .most_stall_ms = options.method.most_stall_ms,
                                    .window_ns = plan.duration_ns,
                                    .is_exact_window = options.method.exact_window,
                                    .cgroup = options.targets.cgroup},
                                   watched.processes().front());
  if (!choice.ok()) return reportError(choice.error());
  Output out;
  if (options.dry_run) {
    out.write(wss::dryText(watched.processes(), choice.value(), pageColumns()));
    return out.finish(watched.leftOut().empty() ? 0 : kPartial);
  }
  wss::Backend& backend = *choice.value().backend;
  bool knows_frames = backend.traits().knows_frames;
  backend.detail().keeps_frames = knows_frames;
  RealClock clock;
  auto rolling = rollingOf(options, plan);
  auto printer = printerOf(options, {.watched = watched,
                                     .choice = choice.value(),
                                     .plan = plan,
                                     .knows_frames = knows_frames,
                                     .rolling = rolling.get()});
  out.write(printer->begin());
  if (options.form.csv) complainOfLimits(backend);
  out.flush();
  int windows = 0;
  auto onRows = [&](std::span<const wss::Outcome> outcomes) {
    wss::SeveralWindow window = wss::severalWindow(watched.processes(), outcomes,
                                                   {.by = printOptions(options).by,
                                                    .knows_frames = knows_frames,
                                                    .keeps_pages = rolling != nullptr});
    window.unix_s = unixSeconds();
    if (rolling) rolling->add(window.all);
    out.write(printer->window(window));
    out.flush();
    windows += 1;
    return !out.failed();
  };
  base::Status status = wss::measureWatched(watched, backend, plan, clock, onRows);
  out.write(printer->end({.status = status, .unseen = watched.unseen()}));
  int code = status.ok() ? 0 : reportError(status.error());
  if (code == 0 && !watched.leftOut().empty()) code = kPartial;
  return out.finish(endOfMeasurement(code, clock, windows));
}

}  // namespace tidegauge::cli
