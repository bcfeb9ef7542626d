// A replay as a file: the recording that other settings would have produced joins the open files,
// and every view shows it.
//
//   POST api/replay?file=0&device=0&set=max_split_size_mb:128   →  {"file": 1}
#include "analysis/what_if/what_if.h"
#include "report/page/page_json.h"
#include "server/application.h"
#include "server/session/questions.h"

namespace tidegauge::server {
namespace {

// Each is as large as a recording.
constexpr size_t kMaxReplays = 8;

std::optional<size_t> fileOfReplay(const Session& session, const std::string& what) {
  for (const auto& file : session.files)
    if (file->replay_of == what) return file->id;
  return std::nullopt;
}

size_t replaysOf(const Session& session) {
  return static_cast<size_t>(std::ranges::count_if(
      session.files, [](const auto& file) { return !file->replay_of.empty(); }));
}

base::Error tooMany() {
  return notUsable(
      std::to_string(kMaxReplays) + " replays are open, which is the maximum",
      "Each takes as much memory as a recording. Start tidegauge view again to drop them.");
}

}  // namespace

// The replay's result for the advice on the page.
base::Result<Response> answerProof(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  TG_ASSIGN_OR_RETURN(int64_t step, question.params.integer("step", 0, UINT32_MAX, -1));
  std::string key =
      "proof " + std::to_string(place.device->device.ordinal) + " " + std::to_string(step);
  std::optional<analysis::Step> oom_step;
  if (step >= 0) oom_step = static_cast<analysis::Step>(step);
  const analysis::AnalysedTrace& analysed = *place.file->analysed;
  bool is_oom =
      !oom_step || (*oom_step < place.device->device.steps() &&
                    analysed.trace.events.action[place.device->device.event_begin + *oom_step] ==
                        model::Action::kOom);
  if (!is_oom)
    return notUsable("There is no out-of-memory event at that step", "api/session lists them");
  Response response;
  response.body = place.file->texts.get(
      key, [&] { return dump(report::proofJson(analysed, *place.device, oom_step)); });
  return response;
}

base::Result<Response> answerReplay(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  if (!analysis::isReplayable(*place.device))
    return notUsable("PyTorch's caching allocator does not manage this memory",
                     "There is nothing to replay.");
  if (!place.file->replay_of.empty())
    return notUsable("This is a replay already",
                     "Replay the original recording under these settings.");
  TG_ASSIGN_OR_RETURN(int64_t capacity,
                      question.params.integer("capacity", 0, kMaxCapacityBytes, 0));
  std::string conf = question.params.text("set");
  if (conf.size() > kMaxConfBytes) return notUsable("set is too long");
  std::string what = std::to_string(place.file->id) + " " + std::to_string(place.file->generation) +
                     " " + std::to_string(place.device->device.ordinal) + " " +
                     std::to_string(capacity) + " " + conf;
  if (auto known = fileOfReplay(question.session, what)) return jsonResponse({{"file", *known}});
  if (replaysOf(question.session) >= kMaxReplays) return tooMany();
  if (question.application == nullptr) return notUsable("No files can be added here");

  std::optional<uint64_t> capacity_bytes;
  if (capacity > 0) capacity_bytes = static_cast<uint64_t>(capacity);
  const analysis::AnalysedTrace& recorded = *place.file->analysed;
  TG_ASSIGN_OR_RETURN(model::Trace trace,
                      analysis::replayedTrace(recorded, *place.device, conf, capacity_bytes));
  std::string name = place.file->name + " under " + (conf.empty() ? "PyTorch's defaults" : conf);
  trace.source.name = name;
  auto analysed = std::make_unique<const analysis::AnalysedTrace>(std::move(trace),
                                                                  recorded.categories->rules());
  std::shared_ptr<Session> last;  // destroyed outside of the lock
  std::lock_guard changing(question.application->changing());
  Session next = successorOf(*question.application->current());
  if (auto known = fileOfReplay(next, what)) return jsonResponse({{"file", *known}});
  if (replaysOf(next) >= kMaxReplays) return tooMany();
  size_t id = next.files.size();
  auto file = std::make_shared<OpenFile>(id, name, std::move(analysed));
  file->replay_of = what;
  next.files.push_back(file);
  warm(next, {file});
  last = question.application->replace(std::move(next));
  return jsonResponse({{"file", id}});
}

}  // namespace tidegauge::server
