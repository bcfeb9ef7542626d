#include "wss/output/one_json_printer.h"

#include <utility>

#include "wss/words/json_text.h"
#include "wss/words/row_json.h"

namespace tidegauge::wss {

OneJsonPrinter::OneJsonPrinter(const OneSubject& subject, const PrintOptions& options,
                               JsonForm form)
    : subject_(subject), options_(options), form_(form) {
  const Backend& backend = *subject.choice.backend;
  head_ = {{"pid", subject.asked_pid},  {"process", subject.process.name()},
           {"backend", backend.name()}, {"how", backend.how()},
           {"why", subject.choice.why}, {"limits", backend.limits()}};
  if (!backend.traits().cgroup.empty()) head_["cgroup"] = backend.traits().cgroup;
}

std::string OneJsonPrinter::window(const OneWindow& window) {
  const Backend& backend = *subject_.choice.backend;
  std::vector<Group> groups;
  if (options_.by) groups = groupsOf(window.row, *options_.by);
  nlohmann::json json = rowJson(window.row, subject_.plan, window.unix_s, groups,
                                backend.traits().knows_sharing, backend.traits().tells_writes);
  if (subject_.rolling != nullptr) json["rolling"] = subject_.rolling->rowJson(window.row);
  if (form_ == JsonForm::kDocument) {
    rows_.push_back(std::move(json));
    return {};
  }
  json.update(head_);
  return jsonText(json) + "\n";
}

std::string OneJsonPrinter::end(const Ending& ending) {
  if (form_ == JsonForm::kLines) {
    if (ending.status.ok()) return {};
    return jsonText({{"pid", subject_.process.pid()}, {"ended", endedJson(ending.status)}}) + "\n";
  }
  head_["rows"] = std::move(rows_);
  head_["ended"] = endedJson(ending.status);
  return jsonText(head_, 2) + "\n";
}

}  // namespace tidegauge::wss
