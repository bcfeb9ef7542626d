// Two places compared: rows, and the flame graph of their difference.
#include <fmt/format.h>

#include "report/diff/diff_json.h"
#include "server/session/questions.h"
#include "server/wire/flame_json.h"

namespace tidegauge::server {
namespace {

using analysis::Diff;
using analysis::DiffSide;

constexpr size_t kMaxDiffRows = 1000;

// `file`, `device`, `at` and the same with `_b`; missing ones of B are as in A. Without a device:
// all GPUs.
struct Asked {
  OpenFile* file = nullptr;
  DiffSide side;
  std::string key;
};

base::Result<Asked> sideOf(const Question& question, const char* end) {
  const Params& params = question.params;
  auto nameOf = [&](const char* name) {
    std::string own = std::string(name) + end;
    return params.find(own) != nullptr ? own : std::string(name);
  };
  if (question.session.files.empty()) return notUsable("No file is open");
  auto most = static_cast<int64_t>(question.session.files.size()) - 1;
  TG_ASSIGN_OR_RETURN(int64_t file, params.integer(nameOf("file"), 0, most, 0));
  Asked asked;
  asked.file = question.session.files[static_cast<size_t>(file)].get();
  std::optional<int32_t> ordinal;
  if (params.find(nameOf("device")) != nullptr) {
    TG_ASSIGN_OR_RETURN(int64_t device, params.integer(nameOf("device"), INT32_MIN, INT32_MAX));
    ordinal = static_cast<int32_t>(device);
  }
  std::string at = params.text(nameOf("at"), "peak");
  TG_ASSIGN_OR_RETURN(auto devices, analysis::diffDevices(*asked.file->analysed, ordinal));
  TG_ASSIGN_OR_RETURN(asked.side, analysis::diffSide(*asked.file->analysed, devices, at));
  asked.key = fmt::format("{}", file);
  for (const analysis::DiffPoint& point : asked.side.points) {
    asked.key += fmt::format(" {}@{}", point.device->device.ordinal, point.place().place());
  }
  asked.key += ' ' + asked.side.at;
  return asked;
}

struct Compared {
  std::shared_ptr<const Diff> diff;
  std::string name_a;
  std::string name_b;
};

base::Result<Compared> compare(const Question& question) {
  TG_ASSIGN_OR_RETURN(Asked a, sideOf(question, ""));
  TG_ASSIGN_OR_RETURN(Asked b, sideOf(question, "_b"));
  Compared compared{nullptr, a.file->name, b.file->name};
  compared.diff = question.session.diffs->get(a.key + '\n' + b.key, [&] {
    return std::make_shared<const Diff>(analysis::diffOf(std::move(a.side), std::move(b.side)));
  });
  return compared;
}

// Names in a hostile file may have any length.
void cutTexts(json& row) {
  for (const char* key : {"label", "caller"}) {
    if (row.contains(key)) row[key] = shownText(row[key].get<std::string>());
  }
}

}  // namespace

base::Result<Response> answerDiff(const Question& question) {
  std::string by_name = question.params.text("by", "stack");
  std::optional<report::DiffBy> by = report::diffByName(by_name);
  if (!by) return notUsable("by must be stack, category, size or segment");
  TG_ASSIGN_OR_RETURN(Compared compared, compare(question));
  report::DiffTable table = report::diffTable(*compared.diff, *by, kMaxDiffRows);
  size_t rows_total = table.rows.size();
  if (table.rows.size() > kMaxDiffRows) table.rows.resize(kMaxDiffRows);
  json answer = report::diffJson(*compared.diff, table, compared.name_a, compared.name_b);
  for (json& row : answer["rows"]) cutTexts(row);
  for (json& text : answer["particulars"]) text = shownText(text.get<std::string>());
  answer["rows_total"] = rows_total;
  return jsonResponse(answer);
}

base::Result<Response> answerDiffFlame(const Question& question) {
  std::string width = question.params.text("width", "size");
  if (width != "size" && width != "change") return notUsable("width must be size or change");
  TG_ASSIGN_OR_RETURN(Compared compared, compare(question));
  const Diff& diff = *compared.diff;
  analysis::JoinedStacks joined(diff.a, diff.b, diff.by_stack);
  TG_ASSIGN_OR_RETURN(FlameQuestion asked, flameQuestionOf(question.params, joined.trace().trace));
  std::vector<analysis::StackWeight> weights =
      analysis::diffWeights(joined, diff.by_stack, width == "change");
  analysis::Flame flame = analysis::flameOf(joined.trace(), weights, asked.usableOptions());
  FrameTable frames(joined.trace());
  json tree = treeJson(flame, frames);
  json same = json::array();
  json same_blocks = json::array();
  for (const analysis::FlameNode& node : flame.nodes) {
    same.push_back(node.weight.same_bytes);
    same_blocks.push_back(node.weight.same_blocks);
  }
  tree["same_bytes"] = std::move(same);
  tree["same_blocks"] = std::move(same_blocks);
  return jsonResponse({{"width", width},
                       {"stacks", weights.size()},
                       {"tree", std::move(tree)},
                       {"frames", frames.take()}});
}

}  // namespace tidegauge::server
