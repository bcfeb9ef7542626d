#include "wss/output/several_json_printer.h"

#include <utility>

#include "wss/words/cache_text.h"
#include "wss/words/json_text.h"
#include "wss/words/several_text.h"

namespace tidegauge::wss {
namespace {

nlohmann::json groupJson(const Group& group) {
  nlohmann::json json = {
      {"name", group.name},
      {"kind", name(group.kind)},
      {"mappings", group.mappings},
      {"bytes", {{"rss", group.sums.rss}, {"referenced", group.sums.referenced}}}};
  if (group.pid != 0) json.update({{"pid", group.pid}, {"start", group.start}, {"end", group.end}});
  return json;
}

}  // namespace

SeveralJsonPrinter::SeveralJsonPrinter(const SeveralSubject& subject, const PrintOptions& options,
                                       JsonForm form)
    : subject_(subject), options_(options), form_(form) {
  const Backend& backend = *subject.choice.backend;
  head_ = {{"backend", backend.name()},
           {"how", backend.how()},
           {"why", subject.choice.why},
           {"limits", backend.limits()}};
}

nlohmann::json SeveralJsonPrinter::leftOut() const {
  nlohmann::json list = nlohmann::json::array();
  for (const LeftOut& one : subject_.watched.leftOut())
    list.push_back({{"pid", one.pid}, {"why", one.why}});
  return list;
}

std::string SeveralJsonPrinter::window(const SeveralWindow& window) {
  nlohmann::json row = severalJson(window.members, window.once, subject_.plan, window.unix_s,
                                   subject_.choice.backend->traits().knows_sharing);
  row["began"] = windows_++ == 0 ? std::vector<pid_t>() : subject_.watched.began();
  if (subject_.rolling != nullptr) row["rolling"] = subject_.rolling->rowJson(window.all);
  if (const CacheUse* use = subject_.choice.backend->outside()) row["cache"] = cacheJson(*use);
  if (options_.by) row["groups"] = nlohmann::json::array();
  for (const Group& group : window.groups) row["groups"].push_back(groupJson(group));
  if (form_ == JsonForm::kDocument) {
    rows_.push_back(std::move(row));
    return {};
  }
  row.update(head_);
  row["left_out"] = leftOut();
  return jsonText(row) + "\n";
}

std::string SeveralJsonPrinter::end(const Ending& ending) {
  if (form_ == JsonForm::kLines)
    return ending.status.ok() ? "" : jsonText({{"ended", endedJson(ending.status)}}) + "\n";
  head_["rows"] = std::move(rows_);
  head_["left_out"] = leftOut();
  head_["began_unmeasured"] = ending.unseen;
  head_["ended"] = endedJson(ending.status);
  return jsonText(head_, 2) + "\n";
}

}  // namespace tidegauge::wss
