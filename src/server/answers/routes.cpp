#include <fmt/format.h>

#include "server/session/questions.h"

namespace tidegauge::server {
namespace {

// The files of an application are open; opening.h answers before that.
base::Result<Response> answerOpening(const Question&) { return jsonResponse({{"open", true}}); }

}  // namespace

std::span<const Route> routes() {
  static constexpr Route kRoutes[] = {
      {"session", Method::kGet, Lane::kText, answerSession},
      {"opening", Method::kGet, Lane::kPicture, answerOpening},
      {"follow", Method::kGet, Lane::kPicture, answerFollow},
      {"moved", Method::kGet, Lane::kPicture, answerMoved},
      {"overview", Method::kGet, Lane::kText, answerOverview},
      {"annotations", Method::kGet, Lane::kText, answerAnnotations},
      {"at", Method::kGet, Lane::kPicture, answerAt},
      {"tile", Method::kGet, Lane::kPicture, answerTile},
      {"lines", Method::kGet, Lane::kPicture, answerLines},
      {"shape", Method::kGet, Lane::kPicture, answerShape},
      {"pick", Method::kGet, Lane::kPicture, answerPick},
      {"allocation", Method::kGet, Lane::kPicture, answerAllocation},
      {"stack", Method::kGet, Lane::kPicture, answerStack},
      {"neighbour", Method::kGet, Lane::kPicture, answerNeighbour},
      {"search", Method::kGet, Lane::kText, answerSearch},
      {"hit", Method::kGet, Lane::kText, answerHit},
      {"legend", Method::kGet, Lane::kText, answerLegend},
      {"state", Method::kGet, Lane::kPicture, answerState},
      {"map", Method::kGet, Lane::kPicture, answerMap},
      {"ranges", Method::kGet, Lane::kPicture, answerRanges},
      {"map_pick", Method::kGet, Lane::kPicture, answerMapPick},
      {"events", Method::kGet, Lane::kText, answerEvents},
      {"oom", Method::kGet, Lane::kText, answerOom},
      {"flame", Method::kGet, Lane::kText, answerFlame},
      {"sandwich", Method::kGet, Lane::kText, answerSandwich},
      {"diff", Method::kGet, Lane::kText, answerDiff},
      {"diff_flame", Method::kGet, Lane::kText, answerDiffFlame},
      {"filter", Method::kGet, Lane::kText, answerFilter},
      {"categories", Method::kGet, Lane::kText, answerCategories},
      {"growth", Method::kGet, Lane::kText, answerGrowth},
      {"what_if", Method::kGet, Lane::kText, answerWhatIf},
      {"what_if_progress", Method::kGet, Lane::kPicture, answerWhatIfProgress},
      {"proof", Method::kGet, Lane::kText, answerProof},
      {"replay", Method::kPost, Lane::kQuery, answerReplay},
      {"table", Method::kGet, Lane::kText, answerTable},
      {"schema", Method::kGet, Lane::kText, answerSchema},
      {"frag", Method::kGet, Lane::kText, answerFrag},
      {"forecast", Method::kGet, Lane::kText, answerForecast},
      {"frag_at", Method::kGet, Lane::kText, answerFragAt},
      {"fit", Method::kGet, Lane::kText, answerFit},
      {"live", Method::kGet, Lane::kText, answerLive},
      {"working_set", Method::kGet, Lane::kText, answerWorkingSet},
      {"sql", Method::kPost, Lane::kQuery, answerSql},
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
