#include "cli/wss/wss_survey.h"

#include <fmt/format.h>

#include <memory>

#include "base/text_layout.h"
#include "cli/open_trace.h"
#include "cli/options/output.h"
#include "cli/options/terminal.h"
#include "cli/options/usage.h"
#include "cli/wss/wss_common.h"
#include "wss/choice/open_survey.h"
#include "wss/output/survey_printer.h"
#include "wss/surveys/take_survey.h"

namespace tidegauge::cli {
namespace {

std::unique_ptr<wss::Printer<wss::SurveyRow>> surveyPrinter(const WssOptions& options,
                                                            const wss::Survey& survey,
                                                            const wss::Process* process) {
  int64_t window_ns = nanosecondsOf(options.course.seconds);
  if (options.form.json || options.form.jsonl)
    return std::make_unique<wss::SurveyJsonPrinter>(survey, window_ns, process, jsonForm(options));
  return std::make_unique<wss::SurveyTextPrinter>(survey, window_ns, process, pageColumns());
}

wss::SurveyPlan surveyPlan(const WssOptions& options) {
  wss::SurveyPlan plan{.window_ns = nanosecondsOf(options.course.seconds),
                       .total_s = options.course.total_s};
  if (!options.course.pause.empty()) plan.pause_ns = nanosecondsOf(options.course.pause);
  return plan;
}

}  // namespace

bool isSurvey(const WssOptions& options) { return wss::isSurvey(options.method.backend); }

int checkSurvey(const WssOptions& options) {
  bool is_shrink = options.method.backend == "shrink";
  bool is_ways = options.method.ways;
  if (is_ways && options.method.backend != "resctrl")
    return usageError("--ways works only with --backend resctrl", "Add --backend resctrl");
  if (options.method.experiment && !is_shrink && !is_ways)
    return usageError("--experiment works only with --backend shrink, and with resctrl --ways",
                      "The other back-ends change nothing");
  if (options.method.pressure > 0 && !is_shrink)
    return usageError("--pressure works only with --backend shrink",
                      "--backend pressure reports the pressure, and changes nothing");
  if (!isSurvey(options)) return 0;
  if (options.method.pressure >= options.method.most_pressure)
    return usageError(fmt::format("--pressure {:g} must be below --max-pressure {:g}, which ends "
                                  "the experiment",
                                  options.method.pressure, options.method.most_pressure),
                      "senpai holds 0.1");
  if (is_shrink && !options.method.experiment)
    return usageError(
        "--backend shrink reclaims memory of running programs, which then wait for it",
        "Add --experiment if you accept that. --max-pressure limits how long they wait");
  if (is_ways && !options.method.experiment)
    return usageError("--ways takes ways of the cache from a running program, which is slower then",
                      "Add --experiment if you accept that");
  bool is_course =
      options.course.cumulative || !options.course.steps.empty() || options.course.rolling > 0;
  bool is_list = !options.form.by.empty() || options.form.heat || !options.files.plot.empty();
  if (is_course || is_list || options.form.compat || options.form.csv ||
      options.method.sample != "auto" || options.form.more_times || options.method.exact_window)
    return usageError(
        fmt::format(
            "--backend {} supports only -s, -d, --json and --jsonl, because its rows are its own",
            options.method.backend),
        "Use --backend pte or smaps with the other options");
  bool until_known = is_shrink || is_ways || options.method.backend == "spot";
  if (until_known && !options.course.pause.empty())
    return usageError(
        fmt::format("--backend {} runs until it has its result", options.method.backend),
        "Use -d to end it earlier");
  bool by_cgroup = is_shrink && !options.targets.cgroup.empty();
  if (!options.targets.comm.empty() || options.targets.children ||
      (!options.targets.cgroup.empty() && !is_shrink) ||
      options.targets.pids.size() != (by_cgroup ? 0 : 1))
    return usageError(
        is_shrink ? "--backend shrink needs one cgroup: one PID in it, or --cgroup PATH"
                  : fmt::format("--backend {} measures one process", options.method.backend),
        is_shrink ? "" : "Give one PID. For several processes use --backend pte or smaps");
  if (options.course.total_s > 0 && options.course.pause.empty() && !until_known)
    return usageError("-d requires a run of several windows", "Add -s");
  return 0;
}

int runSurvey(const WssOptions& options) {
  std::unique_ptr<wss::Process> process;
  if (!options.targets.pids.empty()) {
    auto opened = wss::Process::open(options.targets.pids.front());
    if (!opened.ok()) return reportError(opened.error());
    process = std::make_unique<wss::Process>(std::move(opened).value());
  }
  RealClock clock;  // before anything is changed: from here on Ctrl-C ends it in order
  auto opened = wss::openSurvey(
      {.name = options.method.backend,
       .spots = options.method.spots,
       .ways = options.method.ways,
       .most_stalled_percent = options.method.most_pressure,
       .held_percent =
           options.method.pressure > 0 ? std::optional(options.method.pressure) : std::nullopt,
       .cgroup = options.targets.cgroup},
      process.get());
  if (!opened.ok()) return reportError(opened.error());
  wss::Survey& survey = *opened.value();
  Output out;
  auto printer = surveyPrinter(options, survey, process.get());
  out.write(printer->begin());
  if (options.dry_run) {
    out.write(base::wrapped("Nothing was measured, and nothing was changed.", pageColumns(), 0, 2));
    return out.finish(0);
  }
  int rows = 0;
  auto onRow = [&](const wss::SurveyRow& row) {
    out.write(printer->window(row));
    out.flush();
    rows += 1;
    return !out.failed();
  };
  auto status = wss::takeSurvey(survey, surveyPlan(options), clock, onRow);
  out.write(printer->end({.status = status}));
  int code = status.ok() ? 0 : reportError(status.error());
  if (auto broken = survey.verdict().broken; code == 0 && broken) code = reportError(*broken);
  return out.finish(endOfMeasurement(code, clock, rows));
}

}  // namespace tidegauge::cli
