// The effect of other settings on the device's memory: replayed, with the lines of each.
#include "analysis/layout/allocator_rules.h"
#include "analysis/what_if/what_if.h"
#include "report/what_if/what_if_text.h"
#include "server/session/questions.h"

namespace tidegauge::server {
namespace {

constexpr size_t kColumns = 400;

}  // namespace

base::Result<Response> answerWhatIf(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  if (!analysis::isReplayable(*place.device))
    return notUsable("PyTorch's caching allocator does not manage this memory",
                     "There is nothing to replay.");
  TG_ASSIGN_OR_RETURN(int64_t capacity_bytes,
                      question.params.integer("capacity", 0, kMaxCapacityBytes, 0));
  analysis::WhatIfWish wish;
  wish.with_known = true;
  wish.with_causes = true;
  wish.columns = kColumns;
  if (capacity_bytes > 0) wish.capacity_bytes = static_cast<uint64_t>(capacity_bytes);
  std::string conf = question.params.text("set");
  if (conf.size() > kMaxConfBytes) return notUsable("set is too long");
  if (!conf.empty()) {
    auto own = replay::settingsOf(place.file->analysed->trace);
    if (auto parsed = replay::parseConf(conf, own.not_simulated); !parsed.ok())
      return std::move(parsed.error());
    wish.confs.push_back(conf);
  }
  const analysis::AnalysedTrace& analysed = *place.file->analysed;
  std::string key = "what_if " + std::to_string(place.device->device.ordinal) + " " +
                    std::to_string(capacity_bytes) + " " + conf;
  Response response;
  response.body = place.file->texts.get(key, [&] {
    auto report = analysis::whatIf(analysed, *place.device, wish);
    if (!report.ok()) return dump(json{{"error", report.error().what}});
    return dump(report::whatIfJson(analysed, *place.device, report.value(), false));
  });
  return response;
}

}  // namespace tidegauge::server
