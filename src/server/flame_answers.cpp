// Flame graphs and sandwiches.
#include <boost/unordered/unordered_flat_map.hpp>

#include "analysis/churn.h"
#include "analysis/flame.h"
#include "server/questions.h"

namespace tidegauge::server {
namespace {

using analysis::Flame;
using analysis::FlameNode;
using analysis::StackWeight;

constexpr int64_t kMostNodes = 20'000;

// What the bytes are of, and the stacks that hold them.
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
    model::Step step = device.totals.peakActive().step;
    if (weights.what == "live") {
      TG_ASSIGN_OR_RETURN(step, stepOf("step"));
    }
    weights.from = weights.to = step;
    weights.stacks = analysis::weightsOf(trace, filtered(device.live.liveAt(step)), categories);
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

struct FlameQuestion {
  analysis::FlameOptions options;
  std::vector<bool> hidden;
};

base::Result<FlameQuestion> optionsOf(const Question& question, const Place& place) {
  const Params& params = question.params;
  FlameQuestion asked;
  std::string frames = params.text("frames", "all");
  if (frames != "all" && frames != "python" && frames != "cpp") {
    return notUsable("frames must be all, python or cpp");
  }
  asked.options.python = frames != "cpp";
  asked.options.cpp = frames != "python";
  TG_ASSIGN_OR_RETURN(int64_t noise, params.integer("noise", 0, 1, 0));
  asked.options.noise = noise == 1;
  std::string by = params.text("by", "line");
  if (by != "line" && by != "function") return notUsable("by must be line or function");
  asked.options.by_function = by == "function";
  TG_ASSIGN_OR_RETURN(asked.options.least_share, params.number("least", 0.0005));
  TG_ASSIGN_OR_RETURN(int64_t nodes, params.integer("nodes", 1, kMostNodes, 4000));
  asked.options.most_nodes = static_cast<size_t>(nodes);
  if (!(asked.options.least_share >= 0 && asked.options.least_share <= 1)) {
    return notUsable("least must be a share from 0 to 1");
  }
  std::string hide = params.text("hide");
  if (!hide.empty()) {
    TG_ASSIGN_OR_RETURN(analysis::TextPattern pattern, analysis::TextPattern::compile(hide));
    asked.hidden = analysis::matchingFrames(place.file->analysed->trace, pattern);
  }
  return asked;
}

// Frames of an answer, each once; nodes name them by their index.
class FrameTable {
 public:
  explicit FrameTable(const analysis::AnalysedTrace& analysed) : analysed_(analysed) {}

  int64_t indexOf(model::FrameId frame) {
    if (!frame.valid()) return -1;
    auto [found, fresh] = index_of_.try_emplace(frame.value, rows_.size());
    if (fresh) {
      const model::Frames& frames = analysed_.trace.frames;
      size_t f = frame.index();
      rows_.push_back({{"id", frame.value},
                       {"label", shownText(analysed_.labels.frameLabel(frame))},
                       {"function", shownText(analysed_.trace.strings.text(frames.function[f]))},
                       {"file", shownText(analysed_.trace.strings.text(frames.file[f]))},
                       {"line", frames.line[f]},
                       {"kind", model::name(frames.kind[f])},
                       {"user", analysed_.labels.isUser(frame)},
                       {"noise", analysed_.labels.isNoise(frame)}});
    }
    return static_cast<int64_t>(found->second);
  }
  json take() { return std::move(rows_); }

 private:
  const analysis::AnalysedTrace& analysed_;
  boost::unordered_flat_map<uint32_t, size_t> index_of_;
  json rows_ = json::array();
};

json treeJson(const Flame& flame, FrameTable& frames) {
  json parent = json::array(), frame = json::array(), kind = json::array();
  json plus = json::array(), minus = json::array(), self_plus = json::array(),
       self_minus = json::array(), blocks = json::array(), minus_blocks = json::array(),
       merged = json::array(), category = json::array();
  for (const FlameNode& node : flame.nodes) {
    bool is_root = node.parent == FlameNode::kNoParent;
    parent.push_back(is_root ? json(-1) : json(node.parent));
    frame.push_back(node.no_stack || node.merged > 0 ? -1 : frames.indexOf(node.frame));
    kind.push_back(is_root           ? "all"
                   : node.no_stack   ? "no_stack"
                   : node.merged > 0 ? "other"
                                     : "frame");
    plus.push_back(node.weight.plus_bytes);
    minus.push_back(node.weight.minus_bytes);
    self_plus.push_back(node.self_weight.plus_bytes);
    self_minus.push_back(node.self_weight.minus_bytes);
    blocks.push_back(node.weight.plus_blocks);
    minus_blocks.push_back(node.weight.minus_blocks);
    merged.push_back(node.merged);
    category.push_back(node.category ? static_cast<int>(*node.category) : -1);
  }
  return {{"nodes", flame.nodes.size()},
          {"nodes_total", flame.nodes_before},
          {"threshold_bytes", flame.threshold_bytes},
          {"parent", std::move(parent)},
          {"frame", std::move(frame)},
          {"kind", std::move(kind)},
          {"bytes", std::move(plus)},
          {"minus_bytes", std::move(minus)},
          {"self_bytes", std::move(self_plus)},
          {"self_minus_bytes", std::move(self_minus)},
          {"blocks", std::move(blocks)},
          {"minus_blocks", std::move(minus_blocks)},
          {"merged", std::move(merged)},
          {"category", std::move(category)}};
}

}  // namespace

base::Result<Response> answerFlame(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  TG_ASSIGN_OR_RETURN(FlameQuestion asked, optionsOf(question, place));
  TG_ASSIGN_OR_RETURN(Weights weights, weightsOf(question, place));
  if (!asked.hidden.empty()) asked.options.hidden = &asked.hidden;
  const analysis::AnalysedTrace& analysed = *place.file->analysed;
  FrameTable frames(analysed);
  json tree = treeJson(analysis::flameOf(analysed, weights.stacks, asked.options), frames);
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
  TG_ASSIGN_OR_RETURN(FlameQuestion asked, optionsOf(question, place));
  TG_ASSIGN_OR_RETURN(Weights weights, weightsOf(question, place));
  if (!asked.hidden.empty()) asked.options.hidden = &asked.hidden;
  FrameTable frames(analysed);
  model::FrameId middle(static_cast<uint32_t>(frame));
  analysis::Sandwich sandwich =
      analysis::sandwichOf(analysed, weights.stacks, middle, asked.options);
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
