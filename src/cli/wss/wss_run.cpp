#include <charconv>

#include "cli/open_trace.h"
#include "cli/options/output.h"
#include "cli/options/terminal.h"
#include "cli/wss/wss_common.h"
#include "cli/wss/wss_pinned.h"
#include "cli/wss/wss_several.h"
#include "cli/wss/wss_survey.h"
#include "cli/wss/wss_writer.h"
#include "wss/choice/abilities.h"
#include "wss/process/stopped_process.h"
#include "wss/words/choice_text.h"

namespace tidegauge::cli {
namespace {

wss::Plan planOf(const WssOptions& options) {
  wss::Plan plan;
  plan.duration_ns = nanosecondsOf(options.course.seconds);
  if (options.course.cumulative) plan.course = wss::Course::kCumulative;
  if (!options.course.pause.empty()) {
    plan.course = wss::Course::kSnapshots;
    plan.pause_ns = nanosecondsOf(options.course.pause);
  }
  if (options.course.rolling > 0) plan.course = wss::Course::kSnapshots;
  if (!options.course.steps.empty()) {
    plan.course = wss::Course::kProfile;
    std::from_chars(options.course.steps.data(),
                    options.course.steps.data() + options.course.steps.size(), plan.steps);
  }
  if (options.course.total_s > 0) plan.total_ns = nanosecondsOf(options.course.total_s);
  plan.as_wss_pl = options.form.compat;
  return plan;
}

int runProbe(const WssOptions& options) {
  auto abilities = wss::lookAtBackends();
  Output out;
  if (options.form.json || options.form.jsonl)
    out.print("{}\n", wss::abilitiesJson(abilities).dump(options.form.json ? 2 : -1));
  else
    out.print("{}--backend auto uses {}.\n", wss::abilitiesText(abilities, pageColumns()),
              wss::firstOf(abilities));
  return out.finish(0);
}

}  // namespace

int runWss(const WssOptions& options) {
  if (options.probe) return runProbe(options);
  if (isWssFile(options)) return runWssFile(options);
  if (isSurvey(options)) return runSurvey(options);
  wss::Plan plan = planOf(options);
  if (isOfSeveral(options)) return runSeveral(options, plan);
  auto process = wss::Process::open(options.targets.pids.front());
  if (!process.ok()) return reportError(process.error());
  if (options.method.exact_window)
    if (auto status = wss::StoppedProcess::check(process.value()); !status.ok())
      return reportError(status.error());
  auto choice = wss::chooseBackend(
      {.backend = options.method.backend,
       .sample = options.method.sample,
       .needs_sharing = options.form.compat,
       .needs_pages = options.course.rolling > 0 || !options.method.with.empty(),
       .most_stall_ms = options.method.most_stall_ms,
       .window_ns = plan.duration_ns,
       .is_exact_window = options.method.exact_window,
       .may_ask_kvm = !options.course.cumulative && options.course.steps.empty()},
      process.value());
  if (!choice.ok()) return reportError(choice.error());
  Output out;
  if (options.dry_run) {
    out.write(wss::dryText(process.value(), choice.value(), pageColumns()));
    return out.finish(0);
  }
  wss::Backend& backend = *choice.value().backend;
  if (int code = markPinned(options, choice.value()); code != 0) return code;
  RealClock clock;
  WssWriter writer(options, plan, process.value(), choice.value(), out);
  wss::MeanwhileWatch watch(process.value());
  auto status = wss::measure(
      process.value(), backend, plan, clock, [&](const wss::Row& row) { return writer.row(row); },
      &watch);
  int code = writer.end(status);
  if (!status.ok()) code = reportError(status.error());
  return out.finish(endOfMeasurement(code, clock, writer.rows()));
}

}  // namespace tidegauge::cli
