// One out-of-memory event: why it failed, what would have fitted, what pins memory, what to try.
#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "report/oom/oom_json.h"
#include "server/session/questions.h"
#include "server/wire/stack_names.h"

namespace tidegauge::server {

base::Result<Response> answerOom(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  TG_ASSIGN_OR_RETURN(int64_t step, question.params.integer("step", 0, UINT32_MAX));
  const analysis::AnalysedTrace& analysed = *place.file->analysed;
  const model::Device& device = place.device->device;
  auto at = static_cast<uint64_t>(step);
  bool is_oom = at < device.steps() &&
                analysed.trace.events.action[device.event_begin + at] == model::Action::kOom;
  if (!is_oom) {
    return notUsable(fmt::format("Step {} is not an out-of-memory event", base::withCommas(at)),
                     "The session lists them");
  }
  std::vector<analysis::OomReport> ooms = analysis::oomsOf(analysed, *place.device, 0);
  auto oom = std::find_if(ooms.begin(), ooms.end(),
                          [&](const analysis::OomReport& o) { return o.step == at; });
  json answer =
      report::oomPageJson(analysed, *place.device, ooms, static_cast<size_t>(oom - ooms.begin()),
                          analysis::verdictOptions(analysed, *place.device, ooms));
  nameCallers(analysed, answer["verdict"]["pinned"]["rows"]);
  return jsonResponse(answer);
}

}  // namespace tidegauge::server
