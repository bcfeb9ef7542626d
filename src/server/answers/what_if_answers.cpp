// The effect of other settings on the device's memory: replayed, with the lines of each.
#include <fmt/format.h>

#include "analysis/layout/allocator_rules.h"
#include "analysis/what_if/what_if.h"
#include "report/what_if/what_if_text.h"
#include "server/session/questions.h"

namespace tidegauge::server {
namespace {

constexpr size_t kColumns = 400;

struct WhatIfAsked {
  Place place;
  uint64_t capacity_bytes = 0;  // 0: as recorded
  std::string conf;
  std::string key() const {
    return fmt::format("{} {} {}", place.device->device.ordinal, capacity_bytes, conf);
  }
};
base::Result<WhatIfAsked> whatIfIn(const Question& question) {
  WhatIfAsked asked;
  TG_ASSIGN_OR_RETURN(asked.place, placeOf(question));
  if (!analysis::isReplayable(*asked.place.device))
    return notUsable("PyTorch's caching allocator does not manage this memory",
                     "There is nothing to replay.");
  TG_ASSIGN_OR_RETURN(int64_t capacity_bytes,
                      question.params.integer("capacity", 0, kMaxCapacityBytes, 0));
  asked.capacity_bytes = static_cast<uint64_t>(capacity_bytes);
  asked.conf = question.params.text("set");
  if (asked.conf.size() > kMaxConfBytes) return notUsable("set is too long");
  return asked;
}

}  // namespace

base::Result<Response> answerWhatIf(const Question& question) {
  TG_ASSIGN_OR_RETURN(WhatIfAsked asked, whatIfIn(question));
  const Place& place = asked.place;
  const analysis::AnalysedTrace& analysed = *place.file->analysed;
  analysis::WhatIfWish wish;
  wish.with_known = true;
  wish.with_causes = true;
  wish.columns = kColumns;
  if (asked.capacity_bytes > 0) wish.capacity_bytes = asked.capacity_bytes;
  if (!asked.conf.empty()) {
    auto own = replay::settingsOf(analysed.trace);
    if (auto parsed = replay::parseConf(asked.conf, own.not_simulated); !parsed.ok())
      return std::move(parsed.error());
    wish.confs.push_back(asked.conf);
  }
  wish.effort.stop = question.stop;
  auto text = place.file->what_ifs.get(
      asked.key(), question.stop,
      [&](const WhatIfBoard::Report& report_progress) -> std::optional<std::string> {
        wish.effort.progress = report_progress;
        auto report = analysis::whatIf(analysed, *place.device, wish);
        if (report.ok())
          return dump(report::whatIfJson(analysed, *place.device, report.value(), false));
        if (question.stop.stop_requested()) return std::nullopt;
        return dump(json{{"error", report.error().what}});
      });
  if (!text) return notUsable("The replays were stopped");  // nobody reads it
  Response response;
  response.body = std::move(*text);
  return response;
}

// While answerWhatIf() works on the same question.
base::Result<Response> answerWhatIfProgress(const Question& question) {
  TG_ASSIGN_OR_RETURN(WhatIfAsked asked, whatIfIn(question));
  WhatIfBoard::Progress progress = asked.place.file->what_ifs.progressOf(asked.key());
  Response response;
  response.body =
      dump(json{{"running", progress.is_running}, {"done", progress.done}, {"of", progress.of}});
  return response;
}

}  // namespace tidegauge::server
