#include <fmt/format.h>

#include "server/session/questions.h"

namespace tidegauge::server {

std::span<const Route> routes() {
  static constexpr Route kRoutes[] = {
      {"session", Method::kGet, answerSession, Lane::kText},
      {"follow", Method::kGet, answerFollow, Lane::kPicture},
      {"moved", Method::kGet, answerMoved, Lane::kPicture},
      {"overview", Method::kGet, answerOverview, Lane::kText},
      {"annotations", Method::kGet, answerAnnotations, Lane::kText},
      {"at", Method::kGet, answerAt, Lane::kPicture},
      {"tile", Method::kGet, answerTile, Lane::kPicture},
      {"lines", Method::kGet, answerLines, Lane::kPicture},
      {"shape", Method::kGet, answerShape, Lane::kPicture},
      {"pick", Method::kGet, answerPick, Lane::kPicture},
      {"allocation", Method::kGet, answerAllocation, Lane::kPicture},
      {"stack", Method::kGet, answerStack, Lane::kPicture},
      {"neighbour", Method::kGet, answerNeighbour, Lane::kPicture},
      {"search", Method::kGet, answerSearch, Lane::kText},
      {"hit", Method::kGet, answerHit, Lane::kText},
      {"legend", Method::kGet, answerLegend, Lane::kText},
      {"state", Method::kGet, answerState, Lane::kPicture},
      {"map", Method::kGet, answerMap, Lane::kPicture},
      {"ranges", Method::kGet, answerRanges, Lane::kPicture},
      {"map_pick", Method::kGet, answerMapPick, Lane::kPicture},
      {"events", Method::kGet, answerEvents, Lane::kText},
      {"oom", Method::kGet, answerOom, Lane::kText},
      {"flame", Method::kGet, answerFlame, Lane::kText},
      {"sandwich", Method::kGet, answerSandwich, Lane::kText},
      {"diff", Method::kGet, answerDiff, Lane::kText},
      {"diff_flame", Method::kGet, answerDiffFlame, Lane::kText},
      {"filter", Method::kGet, answerFilter, Lane::kText},
      {"categories", Method::kGet, answerCategories, Lane::kText},
      {"growth", Method::kGet, answerGrowth, Lane::kText},
      {"what_if", Method::kGet, answerWhatIf, Lane::kText},
      {"proof", Method::kGet, answerProof, Lane::kText},
      {"replay", Method::kPost, answerReplay, Lane::kQuery},
      {"table", Method::kGet, answerTable, Lane::kText},
      {"schema", Method::kGet, answerSchema, Lane::kText},
      {"frag", Method::kGet, answerFrag, Lane::kText},
      {"forecast", Method::kGet, answerForecast, Lane::kText},
      {"frag_at", Method::kGet, answerFragAt, Lane::kText},
      {"fit", Method::kGet, answerFit, Lane::kText},
      {"live", Method::kGet, answerLive, Lane::kText},
      {"working_set", Method::kGet, answerWorkingSet, Lane::kText},
      {"sql", Method::kPost, answerSql, Lane::kQuery},
  };
  return kRoutes;
}

base::Error notUsable(std::string what, std::string hint) {
  return {base::ErrorKind::kUsage, std::move(what), {}, std::move(hint)};
}

base::Result<OpenFile*> fileOf(const Question& question) {
  if (question.session.files.empty()) return notUsable("No file is open");
  auto most = static_cast<int64_t>(question.session.files.size()) - 1;
  TG_ASSIGN_OR_RETURN(int64_t file, question.params.integer("file", 0, most, 0));
  return question.session.files[static_cast<size_t>(file)].get();
}

base::Result<Place> placeOf(const Question& question) {
  TG_ASSIGN_OR_RETURN(OpenFile * file, fileOf(question));
  const auto& devices = file->analysed->devices;
  if (devices.empty()) return notUsable("This file has no device");
  TG_ASSIGN_OR_RETURN(int64_t ordinal, question.params.integer("device", INT32_MIN, INT32_MAX,
                                                               devices.front()->device.ordinal));
  const analysis::DeviceAnalysis* device =
      file->analysed->findDevice(static_cast<int32_t>(ordinal));
  if (device == nullptr) return notUsable(fmt::format("This file has no device {}", ordinal));
  return Place{file, device};
}

base::Result<std::shared_ptr<const view::MarkSet>> markOf(const Question& question,
                                                          const OpenFile& file) {
  TG_ASSIGN_OR_RETURN(int64_t number, question.params.integer("mark", 0, UINT32_MAX, 0));
  return file.marks.find(number);
}

base::Result<view::Axis> axisOf(const Question& question, const Place& place) {
  std::string axis = question.params.text("axis", "step");
  if (axis == "step") return view::Axis::kStep;
  if (axis != "time") return notUsable("axis must be step or time");
  if (!place.device->time.present()) {
    return notUsable("This recording has no times", "Use axis=step");
  }
  return view::Axis::kTime;
}

base::Result<view::XRange> rangeOf(const Question& question, const Place& place,
                                   uint32_t most_columns) {
  view::XRange range;
  TG_ASSIGN_OR_RETURN(range.axis, axisOf(question, place));
  TG_ASSIGN_OR_RETURN(range.x0, question.params.number("x0"));
  TG_ASSIGN_OR_RETURN(range.x1, question.params.number("x1"));
  TG_ASSIGN_OR_RETURN(int64_t columns, question.params.integer("columns", 1, most_columns));
  range.columns = static_cast<uint32_t>(columns);
  if (!view::isUsable(range)) {
    return notUsable("x0 must be less than x1, and both less than 2^53");
  }
  return range;
}

base::Result<Stacks> stacksOf(const Question& question) {
  std::string how = question.params.text("stacks", "whole");
  if (how != "whole" && how != "shared") return notUsable("stacks must be whole or shared");
  return how == "shared" ? Stacks::kShared : Stacks::kWhole;
}

base::Result<uint32_t> allocationOf(const Question& question, const OpenFile& file) {
  size_t total = file.analysed->trace.allocations.size();
  if (total == 0) return notUsable("This file has no allocations");
  TG_ASSIGN_OR_RETURN(int64_t id,
                      question.params.integer("id", 0, static_cast<int64_t>(total) - 1));
  return static_cast<uint32_t>(id);
}

}  // namespace tidegauge::server
