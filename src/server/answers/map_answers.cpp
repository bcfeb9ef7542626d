// The address map: its axis, its tiles, and the block at a point.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/format.h"
#include "server/session/questions.h"
#include "server/session/recording_board.h"
#include "server/wire/allocation_json.h"
#include "server/wire/wire.h"

namespace tidegauge::server {
namespace {

constexpr size_t kMaxRanges = 4000;

std::string mapKey(const Question& question, const Place& place) {
  return question.params.text("axis_y", "owned") + std::to_string(place.device->device.ordinal);
}

bool isGrowing(const Session& session, const OpenFile& file) {
  if (session.board == nullptr || file.recording.empty()) return false;
  std::vector<RecordingStatus> all = session.board->all();
  return std::any_of(all.begin(), all.end(), [&](const RecordingStatus& one) {
    return one.path == file.recording && one.state != RecordingState::kEnded;
  });
}

base::Result<std::shared_ptr<const view::AddressMap>> mapOf(const Question& question,
                                                            const Place& place) {
  std::string y = question.params.text("axis_y", "owned");
  if (y != "owned" && y != "plain") return notUsable("axis_y must be owned or plain");
  std::string key = mapKey(question, place);
  OpenFile& file = *place.file;
  return file.maps.get(key, [&]() -> std::shared_ptr<const view::AddressMap> {
    bool plain = y == "plain";
    bool is_first = place.device == file.analysed->devices.front().get();
    if (!is_first || !isGrowing(question.session, file))
      return std::make_shared<const view::AddressMap>(*file.analysed, *place.device, plain);
    return view::AddressMap::following(*file.analysed, *place.device, plain,
                                       file.earlier_maps.take(key),
                                       file.earlier_maps.continuation());
  });
}

}  // namespace

base::Result<Response> answerRanges(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  TG_ASSIGN_OR_RETURN(std::shared_ptr<const view::AddressMap> map, mapOf(question, place));
  const std::vector<view::OwnedRange>& ranges = map->axis().ranges();
  json rows = json::array();
  for (size_t i = 0; i < std::min(ranges.size(), kMaxRanges); ++i) {
    rows.push_back({{"address", base::hexAddress(ranges[i].address)},
                    {"bytes", ranges[i].size_bytes},
                    {"y", ranges[i].axis_bytes}});
  }
  return jsonResponse({{"axis_bytes", map->axis().totalBytes()},
                       {"total", ranges.size()},
                       {"rows", std::move(rows)}});
}

base::Result<Response> answerMap(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  view::MapQuestion asked;
  TG_ASSIGN_OR_RETURN(asked.x, rangeOf(question, place, view::kMaxMapColumns));
  TG_ASSIGN_OR_RETURN(int64_t rows, question.params.integer("rows", 1, view::kMaxMapRows));
  TG_ASSIGN_OR_RETURN(asked.y0_bytes, question.params.number("y0", 0));
  TG_ASSIGN_OR_RETURN(asked.y1_bytes, question.params.number("y1"));
  asked.rows = static_cast<uint32_t>(rows);
  double row_bytes = (asked.y1_bytes - asked.y0_bytes) / static_cast<double>(rows);
  if (!(row_bytes > 0) || !std::isfinite(row_bytes)) return notUsable("y0 must be less than y1");
  TG_ASSIGN_OR_RETURN(std::shared_ptr<const view::FilterSet> filter,
                      filterOf(question, *place.file));
  TG_ASSIGN_OR_RETURN(std::shared_ptr<const view::MarkSet> mark, markOf(question, *place.file));
  asked.filter = filter.get();
  asked.mark = mark.get();
  TG_ASSIGN_OR_RETURN(std::shared_ptr<const view::AddressMap> map, mapOf(question, place));
  std::shared_ptr<const view::MapGrid> grid;
  if (filter) {
    std::string key = mapKey(question, place) + " " + question.params.text("filter", "");
    grid = place.file->map_grids.get(
        key, [&] { return std::shared_ptr<const view::MapGrid>(map->gridOf(*filter)); });
    asked.passing_grid = grid.get();
  }
  auto begin = std::chrono::steady_clock::now();
  view::MapTile tile = map->tile(asked);
  std::chrono::duration<double, std::milli> engine = std::chrono::steady_clock::now() - begin;
  Response response;
  response.content_type = kBinaryType;
  response.body =
      mapBytes(tile, asked, static_cast<double>(map->axis().totalBytes()), engine.count());
  return response;
}

// Small blocks have no quads, so a click sends a step and a place on the axis.
base::Result<Response> answerMapPick(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  TG_ASSIGN_OR_RETURN(int64_t step, question.params.integer("step", 0, model::kNoStep - 1));
  TG_ASSIGN_OR_RETURN(double at, question.params.number("at"));
  TG_ASSIGN_OR_RETURN(std::shared_ptr<const view::AddressMap> map, mapOf(question, place));
  auto total = static_cast<double>(map->axis().totalBytes());
  if (!(at >= 0 && at < total)) {
    return jsonResponse({{"address", nullptr}, {"allocation", nullptr}});
  }
  uint64_t address = map->axis().addressAt(static_cast<uint64_t>(at));
  const model::Allocations& a = place.file->analysed->trace.allocations;
  std::optional<uint32_t> found;
  for (uint32_t row : place.device->live.liveAt(static_cast<model::Step>(step))) {
    if (a.address[row] <= address && address - a.address[row] < a.block_bytes[row]) found = row;
  }
  return jsonResponse(
      {{"address", base::hexAddress(address)}, {"allocation", allocationJson(*place.file, found)}});
}

}  // namespace tidegauge::server
