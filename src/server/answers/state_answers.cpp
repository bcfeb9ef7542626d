// The files and their states: session, overview, annotations, one step.
#include <algorithm>
#include <cmath>

#include "analysis/identities.h"
#include "base/format.h"
#include "base/version.h"
#include "report/page/page_json.h"
#include "server/session/questions.h"
#include "server/wire/follow_json.h"

namespace tidegauge::server {
namespace {

constexpr size_t kMaxPhases = 20'000;
constexpr size_t kMaxNames = 100;  // of the annotations around one step

Response textResponse(std::string text) {
  Response response;
  response.body = std::move(text);
  return response;
}

std::vector<json> annotationNames(const model::Trace& trace, const std::vector<uint32_t>& rows) {
  std::vector<json> names;
  for (uint32_t row : rows) {
    if (names.size() == kMaxNames) break;
    names.push_back(shownText(trace.strings.text(trace.annotations.name[row])));
  }
  return names;
}

json eventJson(const OpenFile& file, const model::Device& device, view::Step step, Stacks stacks) {
  const model::Trace& trace = file.analysed->trace;
  uint64_t event = device.event_begin + step;
  if (event >= device.event_end) return nullptr;
  const model::Events& e = trace.events;
  model::Action action = e.action[event];
  bool is_oom = action == model::Action::kOom;
  bool of_block = action <= model::Action::kFree;
  bool of_segment =
      action >= model::Action::kSegmentAlloc && action <= model::Action::kSegmentUnmap;
  json subject = e.subject[event] == UINT32_MAX ? json() : json(e.subject[event]);
  return {{"action", trace.actionName(action)},
          {"address", is_oom ? json() : json(base::hexAddress(e.address[event]))},
          {"device_free_bytes", is_oom ? bytesOrNull(e.address[event]) : json()},
          {"size_bytes", bytesOrNull(e.size_bytes[event])},
          {"stream", streamJson(trace, e.stream[event])},
          {"allocation_id", of_block ? subject : json()},
          {"segment_id", of_segment ? subject : json()},
          {"stack", stackJson(*file.analysed, e.stack[event], stacks)},
          {"compile_context", textOrNull(trace, e.compile_context, event)},
          {"metadata", textOrNull(trace, e.metadata, event)}};
}

// The last event at the device's first time.
view::Step firstStepAt(const analysis::DeviceAnalysis& device) {
  return std::max<view::Step>(device.time.stepAfter(device.time.firstUs()), 1) - 1;
}

// The step whose state is shown at x; the nearest one for an x outside.
view::Step stepAtX(const analysis::DeviceAnalysis& device, view::Axis axis, double x) {
  view::Step last = std::max<view::Step>(device.totals.steps(), 1) - 1;
  if (axis == view::Axis::kStep) {
    return static_cast<view::Step>(std::clamp(x, 0.0, static_cast<double>(last)));
  }
  // Compared as doubles, which cannot represent every time: an x at an end is the end itself.
  if (!(x > static_cast<double>(device.time.firstUs()))) return firstStepAt(device);
  if (x >= static_cast<double>(device.time.lastUs())) return last;
  return std::clamp<view::Step>(device.time.stepAfter(static_cast<int64_t>(x)), 1, last + 1) - 1;
}

}  // namespace

base::Result<Response> answerSession(const Question& question) {
  json files = json::array();
  for (const auto& file : question.session.files) {
    std::string text = file->texts.get("session", [&] {
      return dump(report::sessionFileJson(*file->analysed, file->id, file->name));
    });
    json shown = json::parse(text, nullptr, false);
    shown["gen"] = file->generation;
    shown["recording"] = recordingOf(question.session, *file);
    files.push_back(std::move(shown));
  }
  json failed = json::array();
  for (const FailedFile& one : question.session.failed) {
    failed.push_back({{"path", shownText(one.path)},
                      {"what", shownText(one.what)},
                      {"hint", shownText(one.hint)}});
  }
  return jsonResponse({{"version", base::version()},
                       {"time_limit_s", kQueryLimitSeconds},
                       {"files", files},
                       {"recordings", recordingsJson(question.session)},
                       {"lives", livesJson(question.session)},
                       {"working_sets", workingSetsJson(question.session)},
                       {"failed", failed}});
}

base::Result<Response> answerOverview(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  int32_t ordinal = place.device->device.ordinal;
  return textResponse(place.file->texts.get("overview " + std::to_string(ordinal), [&] {
    return dump(report::overviewJson(*place.file->analysed, ordinal));
  }));
}

base::Result<Response> answerAnnotations(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  const model::Trace& trace = place.file->analysed->trace;
  const model::Annotations& annotations = trace.annotations;
  std::vector<analysis::Phase> phases = place.device->phases;
  auto durationOf = [&](const analysis::Phase& phase) -> uint64_t {
    int64_t end_us = annotations.end_us[phase.annotation];
    if (end_us == model::kNoTime) end_us = place.device->time.lastUs();
    // Unsigned: in a hostile file, times may differ by more than an int64_t holds.
    int64_t begin_us = annotations.begin_us[phase.annotation];
    return end_us <= begin_us ? 0 : static_cast<uint64_t>(end_us) - static_cast<uint64_t>(begin_us);
  };
  if (phases.size() > kMaxPhases) {
    std::nth_element(phases.begin(), phases.begin() + kMaxPhases, phases.end(),
                     [&](const auto& a, const auto& b) {
                       if (durationOf(a) != durationOf(b)) return durationOf(a) > durationOf(b);
                       return a.depth < b.depth;  // the outer lanes are drawn
                     });
    phases.resize(kMaxPhases);
    std::sort(phases.begin(), phases.end(), [](const auto& a, const auto& b) {
      return a.begin_step != b.begin_step ? a.begin_step < b.begin_step : a.depth < b.depth;
    });
  }
  json rows = json::array();
  for (const analysis::Phase& phase : phases) {
    uint32_t row = phase.annotation;
    rows.push_back({{"id", row},
                    {"name", shownText(trace.strings.text(annotations.name[row]))},
                    {"begin_step", phase.begin_step},
                    {"end_step", phase.end_step},
                    {"begin_us", timeOrNull(annotations.begin_us[row])},
                    {"end_us", timeOrNull(annotations.end_us[row])},
                    {"depth", phase.depth}});
  }
  return jsonResponse({{"total", place.device->phases.size()}, {"rows", std::move(rows)}});
}

base::Result<Response> answerAt(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  TG_ASSIGN_OR_RETURN(view::Axis axis, axisOf(question, place));
  TG_ASSIGN_OR_RETURN(double x, question.params.number("x"));
  TG_ASSIGN_OR_RETURN(Stacks stacks, stacksOf(question));
  const analysis::DeviceAnalysis& device = *place.device;
  view::Step step = stepAtX(device, axis, x);
  analysis::ByProvenance known = analysis::byProvenance(*place.file->analysed, device, step);
  std::vector<uint32_t> around = analysis::phasesAt(device.phases, step);
  return jsonResponse({{"step", step},
                       {"time_us", timeOrNull(device.time.timeOf(step))},
                       {"totals", totalsJson(device.device, device.totals.at(step))},
                       {"by_provenance",
                        {{"traced_bytes", known.traced_bytes},
                         {"older_bytes", known.older_bytes},
                         {"lost_bytes", known.lost_bytes}}},
                       {"event", eventJson(*place.file, device.device, step, stacks)},
                       {"annotations_total", around.size()},
                       {"annotations", annotationNames(place.file->analysed->trace, around)}});
}

}  // namespace tidegauge::server
