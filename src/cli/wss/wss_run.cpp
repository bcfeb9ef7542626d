#include <charconv>

#include "cli/open_trace.h"
#include "cli/options/output.h"
#include "cli/options/terminal.h"
#include "cli/wss/wss_common.h"
#include "cli/wss/wss_pinned.h"
#include "cli/wss/wss_several.h"
#include "cli/wss/wss_survey.h"
#include "cli/wss/wss_writer.h"
#include "wss/measure/abilities.h"
#include "wss/words/choice_text.h"

namespace tidegauge::cli {
namespace {

wss::Plan planOf(const WssOptions& options) {
  wss::Plan plan;
  plan.duration_ns = nanosecondsOf(options.seconds);
  if (options.cumulative) plan.course = wss::Course::kCumulative;
  if (!options.pause.empty()) {
    plan.course = wss::Course::kSnapshots;
    plan.pause_ns = nanosecondsOf(options.pause);
  }
  if (options.rolling > 0) plan.course = wss::Course::kSnapshots;
  if (!options.steps.empty()) {
    plan.course = wss::Course::kProfile;
    std::from_chars(options.steps.data(), options.steps.data() + options.steps.size(), plan.steps);
  }
  if (options.total_s > 0) plan.total_ns = nanosecondsOf(options.total_s);
  plan.as_wss_pl = options.compat;
  return plan;
}

int runProbe(const WssOptions& options) {
  auto abilities = wss::lookAtBackends();
  Output out;
  if (options.json || options.jsonl)
    out.print("{}\n", wss::abilitiesJson(abilities).dump(options.json ? 2 : -1));
  else
    out.print("{}auto takes {}.\n", wss::abilitiesText(abilities, pageColumns()),
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
  auto process = wss::Process::open(options.pids.front());
  if (!process.ok()) return reportError(process.error());
  auto choice = wss::chooseBackend({.backend = options.backend,
                                    .sample = options.sample,
                                    .needs_sharing = options.compat,
                                    .needs_pages = options.rolling > 0 || !options.with.empty(),
                                    .most_stall_ms = options.most_stall_ms,
                                    .window_ns = plan.duration_ns},
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
  auto status = wss::measure(process.value(), backend, plan, clock,
                             [&](const wss::Row& row) { return writer.row(row); });
  int code = writer.end(status);
  if (!status.ok()) code = reportError(status.error());
  return out.finish(endOfMeasurement(code, clock, writer.rows()));
}

}  // namespace tidegauge::cli
