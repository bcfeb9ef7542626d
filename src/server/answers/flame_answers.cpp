// Flame graphs and sandwiches.
#include "analysis/growth/churn.h"
#include "analysis/trace/flame.h"
#include "analysis/trace/peak.h"
#include "server/session/questions.h"
#include "server/wire/flame_json.h"

namespace tidegauge::server {
namespace {

using analysis::StackWeight;

// A description of the bytes, and the stacks that hold them.
struct Weights {
  std::string what;
  json from = nullptr;  // steps
  json to = nullptr;
  std::vector<StackWeight> stacks{};
};

base::Result<Weights> weightsOf(const Question& question, const Place& place) {
  const Params& params = question.params;
  const model::Trace& trace = place.file->analysed->trace;
  const analysis::Categories* categories = place.file->analysed->categories.get();
  const analysis::DeviceAnalysis& device = *place.device;
  TG_ASSIGN_OR_RETURN(std::shared_ptr<const view::FilterSet> filter,
                      filterOf(question, *place.file));
  auto filtered = [&](std::vector<uint32_t> rows) {
    std::erase_if(rows, [&](uint32_t row) { return !view::passes(filter.get(), row); });
    return rows;
  };
  auto stepOf = [&](std::string_view name) -> base::Result<model::Step> {
    TG_ASSIGN_OR_RETURN(int64_t step, params.integer(name, 0, model::kNoStep - 1));
    return static_cast<model::Step>(step);
  };
  Weights weights{.what = params.text("of", "peak")};
  if (weights.what == "peak" || weights.what == "live") {
    analysis::Peak at = device.totals.peakActive();
    if (weights.what == "live") {
      TG_ASSIGN_OR_RETURN(model::Step step, stepOf("step"));
      at = {.step = step};
    }
    weights.from = weights.to = at.place();
    weights.stacks = analysis::weightsOf(trace, filtered(analysis::liveAt(device, at)), categories);
    return weights;
  }
  if (weights.what != "allocated" && weights.what != "churn" && weights.what != "growth") {
    return notUsable("of must be live, peak, allocated, churn or growth");
  }
  TG_ASSIGN_OR_RETURN(model::Step from, stepOf("from"));
  TG_ASSIGN_OR_RETURN(model::Step to, stepOf("to"));
  if (to < from) return notUsable("from must not be after to");
  weights.from = from;
  weights.to = to;
  if (weights.what == "growth") {
    weights.stacks = analysis::growthOf(trace, filtered(device.live.liveAt(from)),
                                        filtered(device.live.liveAt(to)));
  } else if (weights.what == "allocated") {
    weights.stacks = analysis::weightsOf(
        trace, filtered(analysis::allocatedIn(trace, device, from, to + 1)), categories);
  } else {
    weights.stacks = analysis::weightsOf(
        trace, filtered(analysis::churnIn(trace, device, from, to + 1)), categories);
  }
  return weights;
}

}  // namespace

base::Result<Response> answerFlame(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  TG_ASSIGN_OR_RETURN(FlameQuestion asked,
                      flameQuestionOf(question.params, place.file->analysed->trace));
  TG_ASSIGN_OR_RETURN(Weights weights, weightsOf(question, place));
  const analysis::AnalysedTrace& analysed = *place.file->analysed;
  FrameTable frames(analysed);
  json tree = treeJson(analysis::flameOf(analysed, weights.stacks, asked.usableOptions()), frames);
  return jsonResponse({{"of", weights.what},
                       {"from", weights.from},
                       {"to", weights.to},
                       {"stacks", weights.stacks.size()},
                       {"tree", std::move(tree)},
                       {"frames", frames.take()}});
}

base::Result<Response> answerSandwich(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  const analysis::AnalysedTrace& analysed = *place.file->analysed;
  if (analysed.trace.frames.size() == 0) return notUsable("This file has no stacks");
  auto most = static_cast<int64_t>(analysed.trace.frames.size()) - 1;
  TG_ASSIGN_OR_RETURN(int64_t frame, question.params.integer("frame", 0, most));
  TG_ASSIGN_OR_RETURN(FlameQuestion asked,
                      flameQuestionOf(question.params, place.file->analysed->trace));
  TG_ASSIGN_OR_RETURN(Weights weights, weightsOf(question, place));
  FrameTable frames(analysed);
  model::FrameId middle(static_cast<uint32_t>(frame));
  analysis::Sandwich sandwich =
      analysis::sandwichOf(analysed, weights.stacks, middle, asked.usableOptions());
  json callers = treeJson(sandwich.callers, frames);
  json callees = treeJson(sandwich.callees, frames);
  int64_t index = frames.indexOf(middle);
  return jsonResponse({{"of", weights.what},
                       {"from", weights.from},
                       {"to", weights.to},
                       {"frame", index},
                       {"callers", std::move(callers)},
                       {"callees", std::move(callees)},
                       {"frames", frames.take()}});
}

}  // namespace tidegauge::server
