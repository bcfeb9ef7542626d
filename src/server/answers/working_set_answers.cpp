// The Working set view: a file of measurements, computed when it was opened.
#include "server/session/questions.h"

namespace tidegauge::server {

json workingSetsJson(const Session& session) {
  json list = json::array();
  for (size_t i = 0; i < session.working_sets->size(); ++i)
    list.push_back({{"id", i}, {"name", shownText((*session.working_sets)[i].path)}});
  return list;
}

base::Result<Response> answerWorkingSet(const Question& question) {
  const auto& files = *question.session.working_sets;
  if (files.empty())
    return notUsable("None of the open files is a measurement of a working set",
                     "Measure one: tidegauge wss --rolling 8 -d 10 -o wss.jsonl PID 0.1");
  auto most = static_cast<int64_t>(files.size()) - 1;
  TG_ASSIGN_OR_RETURN(int64_t id, question.params.integer("id", 0, most, 0));
  Response response;
  response.body = files[static_cast<size_t>(id)].answer;
  return response;
}

}  // namespace tidegauge::server
