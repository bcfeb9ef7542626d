// Flame graphs as JSON: columns of numbers, and every frame once.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>

#include "analysis/trace/flame.h"
#include "server/http/json.h"
#include "server/http/params.h"

namespace tidegauge::server {

// `frames`, `noise`, `by`, `hide`, `least`, `nodes` of a question about the frames of a trace.
struct FlameQuestion {
  analysis::FlameOptions options;
  std::vector<bool> hidden;  // options.hidden points at it: see usableOptions
  const analysis::FlameOptions& usableOptions() {
    if (!hidden.empty()) options.hidden = &hidden;
    return options;
  }
};
base::Result<FlameQuestion> flameQuestionOf(const Params& params, const model::Trace& trace);

// Frames of an answer, each once; nodes name them by their index.
class FrameTable {
 public:
  explicit FrameTable(const analysis::AnalysedTrace& analysed) : analysed_(analysed) {}

  int64_t indexOf(model::FrameId frame);
  json take() { return std::move(rows_); }

 private:
  const analysis::AnalysedTrace& analysed_;
  boost::unordered_flat_map<uint32_t, size_t> index_of_;
  json rows_ = json::array();
};

json treeJson(const analysis::Flame& flame, FrameTable& frames);

}  // namespace tidegauge::server
