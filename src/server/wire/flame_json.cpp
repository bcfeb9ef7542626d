#include "server/wire/flame_json.h"

#include "server/session/questions.h"

namespace tidegauge::server {
namespace {

using analysis::Flame;
using analysis::FlameNode;

constexpr int64_t kMostNodes = 20'000;

}  // namespace

base::Result<FlameQuestion> flameQuestionOf(const Params& params, const model::Trace& trace) {
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
    asked.hidden = analysis::matchingFrames(trace, pattern);
  }
  return asked;
}

int64_t FrameTable::indexOf(model::FrameId frame) {
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

}  // namespace tidegauge::server
