// Every question of the page's API as a function from parameters to an answer. One file per kind:
// answers/*_answers.cpp.
#pragma once

#include <span>
#include <stop_token>
#include <string_view>

#include "server/http/json.h"
#include "server/http/params.h"
#include "server/session/session.h"
#include "view/filter/filter_set.h"
#include "view/timeline/columns.h"

namespace tidegauge::server {

// Limits for the parameters of a replay.
inline constexpr int64_t kMaxCapacityBytes = int64_t{1} << 50;
inline constexpr size_t kMaxConfBytes = 2000;

class Application;  // application.h

struct Question {
  const Request& request;
  const Params& params;
  Session& session;  // of the generation that `gen` names
  std::stop_token stop;
  Session* before = nullptr;  // of the generation in `from`; null: not given, or no longer kept
  Application* application =
      nullptr;  // the owner of the session; null: none, so nothing can be added
};

using Answer = base::Result<Response> (*)(const Question&);

struct Route {
  std::string_view path;  // below api/
  Method method;
  Lane lane;
  Answer answer;
};
std::span<const Route> routes();

// The values of `file` and `device`; by default file 0 and its first device.
base::Result<OpenFile*> fileOf(const Question& question);
struct Place {
  OpenFile* file = nullptr;
  const analysis::DeviceAnalysis* device = nullptr;
};
base::Result<Place> placeOf(const Question& question);
// `axis`, `x0`, `x1`, `columns`.
base::Result<view::XRange> rangeOf(const Question& question, const Place& place,
                                   uint32_t most_columns);
base::Result<view::Axis> axisOf(const Question& question, const Place& place);
// `stacks`: whole, or shared.
base::Result<Stacks> stacksOf(const Question& question);
// A row of the file's allocations.
base::Result<uint32_t> allocationOf(const Question& question, const OpenFile& file);
// A query may run this long; the page shows it (session.time_limit_s).
inline constexpr uint64_t kQueryLimitSeconds = 30;

// The members of the mark in the question; nullptr without one, or if it is no longer kept: a
// picture without a mark is better than none.
base::Result<std::shared_ptr<const view::MarkSet>> markOf(const Question& question,
                                                          const OpenFile& file);
// The rows that pass `filter`; null if there is no filter.
base::Result<std::shared_ptr<const view::FilterSet>> filterOf(const Question& question,
                                                              OpenFile& file);
base::Error notUsable(std::string what, std::string hint = {});

base::Result<Response> answerSession(const Question& question);
base::Result<Response> answerFollow(const Question& question);
base::Result<Response> answerMoved(const Question& question);
base::Result<Response> answerOom(const Question& question);
base::Result<Response> answerOverview(const Question& question);
base::Result<Response> answerAnnotations(const Question& question);
base::Result<Response> answerAt(const Question& question);
base::Result<Response> answerLegend(const Question& question);

base::Result<Response> answerPick(const Question& question);
base::Result<Response> answerAllocation(const Question& question);
base::Result<Response> answerStack(const Question& question);
base::Result<Response> answerNeighbour(const Question& question);

base::Result<Response> answerSearch(const Question& question);
base::Result<Response> answerHit(const Question& question);

base::Result<Response> answerSql(const Question& question);
base::Result<Response> answerSchema(const Question& question);

base::Result<Response> answerTile(const Question& question);
base::Result<Response> answerLines(const Question& question);
base::Result<Response> answerShape(const Question& question);

base::Result<Response> answerState(const Question& question);
base::Result<Response> answerEvents(const Question& question);
base::Result<Response> answerMap(const Question& question);
base::Result<Response> answerRanges(const Question& question);
base::Result<Response> answerMapPick(const Question& question);
base::Result<Response> answerTable(const Question& question);
base::Result<Response> answerFlame(const Question& question);
base::Result<Response> answerSandwich(const Question& question);
base::Result<Response> answerDiff(const Question& question);
base::Result<Response> answerDiffFlame(const Question& question);
base::Result<Response> answerFilter(const Question& question);
base::Result<Response> answerCategories(const Question& question);
base::Result<Response> answerGrowth(const Question& question);
base::Result<Response> answerWhatIf(const Question& question);
base::Result<Response> answerWhatIfProgress(const Question& question);
base::Result<Response> answerProof(const Question& question);
base::Result<Response> answerReplay(const Question& question);

base::Result<Response> answerLive(const Question& question);
base::Result<Response> answerWorkingSet(const Question& question);
// For answerSession.
json livesJson(const Session& session);
json workingSetsJson(const Session& session);

base::Result<Response> answerFrag(const Question& question);
base::Result<Response> answerForecast(const Question& question);
base::Result<Response> answerFragAt(const Question& question);
base::Result<Response> answerFit(const Question& question);

}  // namespace tidegauge::server
