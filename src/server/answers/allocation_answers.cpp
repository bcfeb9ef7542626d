// One allocation: by its position in the picture, by its id, or as a neighbour of another.
#include "server/session/questions.h"
#include "server/wire/allocation_json.h"
#include "view/timeline/block_at.h"

namespace tidegauge::server {
namespace {

base::Result<view::Step> stepOf(const Question& question) {
  TG_ASSIGN_OR_RETURN(int64_t step, question.params.integer("step", 0, model::kNoStep - 1));
  return static_cast<view::Step>(step);
}

}  // namespace

base::Result<Response> answerPick(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  TG_ASSIGN_OR_RETURN(view::Step step, stepOf(question));
  TG_ASSIGN_OR_RETURN(double y, question.params.number("y"));
  std::optional<uint32_t> row = view::blockAt(*place.file->analysed, *place.device, step, y);
  return jsonResponse({{"allocation", allocationJson(*place.file, row)}});
}

base::Result<Response> answerAllocation(const Question& question) {
  TG_ASSIGN_OR_RETURN(OpenFile * file, fileOf(question));
  TG_ASSIGN_OR_RETURN(uint32_t row, allocationOf(question, *file));
  TG_ASSIGN_OR_RETURN(Stacks stacks, stacksOf(question));
  return jsonResponse(allocationJson(*file, row, stacks));
}

base::Result<Response> answerStack(const Question& question) {
  TG_ASSIGN_OR_RETURN(OpenFile * file, fileOf(question));
  auto total = static_cast<int64_t>(file->analysed->trace.stacks.size());
  if (total == 0) return notUsable("This file has no stacks");
  TG_ASSIGN_OR_RETURN(int64_t id, question.params.integer("id", 0, total - 1));
  return jsonResponse(stackJson(*file->analysed, model::StackId(static_cast<uint32_t>(id))));
}

base::Result<Response> answerNeighbour(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  TG_ASSIGN_OR_RETURN(view::Step step, stepOf(question));
  TG_ASSIGN_OR_RETURN(uint32_t row, allocationOf(question, *place.file));
  std::string direction = question.params.text("direction", "up");
  if (direction != "up" && direction != "down") return notUsable("direction must be up or down");
  std::optional<uint32_t> neighbour =
      view::neighbourOf(*place.file->analysed, *place.device, step, row,
                        direction == "up" ? view::Direction::kUp : view::Direction::kDown);
  return jsonResponse(allocationJson(*place.file, neighbour));
}

}  // namespace tidegauge::server
