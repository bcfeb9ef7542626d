// Tiles, lines and shapes: what the page draws.
#include <fmt/format.h>

#include <chrono>

#include "server/session/questions.h"
#include "server/wire/wire.h"
#include "view/timeline/block_at.h"

namespace tidegauge::server {
namespace {

constexpr uint32_t kMaxLineColumns = 8192;
constexpr int64_t kFewestQuads = 100;

Response binaryResponse(std::string bytes) {
  Response response;
  response.content_type = kBinaryType;
  response.body = std::move(bytes);
  return response;
}

}  // namespace

base::Result<Response> answerTile(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  view::TileRequest request;
  TG_ASSIGN_OR_RETURN(request.x, rangeOf(question, place, view::kMaxTileColumns));
  TG_ASSIGN_OR_RETURN(request.y0_bytes, question.params.number("y0", 0));
  TG_ASSIGN_OR_RETURN(request.y1_bytes, question.params.number("y1"));
  TG_ASSIGN_OR_RETURN(request.row_bytes, question.params.number("px"));
  if (!(request.y0_bytes < request.y1_bytes)) return notUsable("y0 must be less than y1");
  if (!(request.row_bytes > 0)) return notUsable("px, bytes per pixel row, must be more than 0");
  request.row_bytes = std::max(request.row_bytes, 1.0);
  // Pictures in one frame share its quads.
  auto most = static_cast<int64_t>(request.most_quads);
  TG_ASSIGN_OR_RETURN(int64_t quads, question.params.integer("quads", kFewestQuads, most, most));
  request.most_quads = static_cast<size_t>(quads);
  TG_ASSIGN_OR_RETURN(std::shared_ptr<const view::MarkSet> mark, markOf(question, *place.file));
  request.mark = mark.get();
  TG_ASSIGN_OR_RETURN(std::shared_ptr<const view::FilterSet> filter,
                      filterOf(question, *place.file));
  request.filter = filter.get();
  request.stop = question.stop;
  const view::XRange& x = request.x;
  std::string key = fmt::format("{} {} {} {} {} {} {} {} {} {} {}", place.device->device.ordinal,
                                static_cast<int>(x.axis), x.x0, x.x1, x.columns, request.y0_bytes,
                                request.y1_bytes, request.row_bytes, quads,
                                mark == nullptr ? "" : question.params.text("mark", ""),
                                filter == nullptr ? "" : question.params.text("filter", ""));
  TileShelf::Tile bytes = place.file->tiles.get(key, question.stop, [&]() -> TileShelf::Tile {
    auto begin = std::chrono::steady_clock::now();
    view::StackTile tile = view::stackTile(*place.file->analysed, *place.device, request);
    if (tile.stopped) return nullptr;
    std::chrono::duration<double, std::milli> engine = std::chrono::steady_clock::now() - begin;
    return std::make_shared<const std::string>(tileBytes(tile, x, engine.count()));
  });
  if (bytes == nullptr) return errorResponse(503, "The client closed the connection");
  return binaryResponse(*bytes);
}

base::Result<Response> answerLines(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  TG_ASSIGN_OR_RETURN(view::XRange range, rangeOf(question, place, kMaxLineColumns));
  return binaryResponse(linesBytes(view::columnStates(*place.device, range), range));
}

base::Result<Response> answerShape(const Question& question) {
  Place place;
  TG_ASSIGN_OR_RETURN(place.file, fileOf(question));
  TG_ASSIGN_OR_RETURN(uint32_t row, allocationOf(question, *place.file));
  const model::Trace& trace = place.file->analysed->trace;
  place.device =
      place.file->analysed->findDevice(trace.deviceOfAllocation(model::AllocationId(row)).ordinal);
  TG_ASSIGN_OR_RETURN(view::XRange range, rangeOf(question, place, kMaxLineColumns));
  std::vector<double> lower = view::lowerEdges(*place.file->analysed, *place.device, row, range);
  return binaryResponse(shapeBytes(lower, trace.allocations.block_bytes[row]));
}

}  // namespace tidegauge::server
