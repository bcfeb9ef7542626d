// The inside of the segments after a step.
#include <fmt/compile.h>
#include <fmt/format.h>

#include "base/format.h"
#include "server/session/questions.h"
#include "server/wire/allocation_json.h"
#include "view/state_at.h"
#include "view/timeline/slots.h"

namespace tidegauge::server {
namespace {

constexpr int64_t kMaxSegments = 500;
enum PartFlag : uint8_t { kMarked = 1, kFiltered = 2 };

json sumsJson(const view::SegmentSums& sums) {
  return {{"owned_bytes", sums.owned_bytes},
          {"live_bytes", sums.live_bytes},
          {"requested_bytes", sums.requested_bytes},
          {"rounding_bytes", sums.rounding_bytes},
          {"pending_bytes", sums.pending_bytes},
          {"free_bytes", sums.free_bytes},
          {"largest_free_bytes", sums.largest_free_bytes},
          {"pinned_bytes", sums.pinned_bytes},
          {"releasable_bytes", sums.releasable_bytes},
          {"held_in_pools_bytes", sums.held_in_pools_bytes},
          {"blocks", sums.blocks},
          {"free_parts", sums.free_parts},
          {"passing_bytes", sums.passing_bytes}};
}

json groupJson(const model::Trace& trace, const view::StateGroup& group) {
  json j = sumsJson(group.sums);
  j["pool"] = poolJson(trace, group.pool);
  j["stream"] = streamJson(trace, group.stream);
  j["known"] = group.known;
  j["first"] = group.first;
  j["count"] = group.count;
  return j;
}

json barJson(const analysis::AnalysedTrace& analysed, const view::StateSegment& bar) {
  const model::Trace& trace = analysed.trace;
  json j = sumsJson(bar.sums);
  j["address"] = base::hexAddress(bar.address);
  j["span_bytes"] = bar.span_bytes;
  j["segment"] = segmentJson(trace, bar.segment);
  bool known = bar.segment.valid();
  size_t i = known ? bar.segment.index() : 0;
  j["pool"] = known ? poolJson(trace, trace.segments.pool[i]) : json();
  j["stream"] = known ? streamJson(trace, trace.segments.stream[i]) : json();
  j["first_step"] = known ? json(trace.segments.first_step[i]) : json();
  j["small_pool"] = known ? json(static_cast<bool>(trace.segments.small_pool[i])) : json();
  j["pin_count"] = bar.pin_count;
  json pins = json::array();
  for (const view::Pin& pin : bar.pins) {
    const model::Allocations& a = trace.allocations;
    pins.push_back({{"id", pin.row},
                    {"address_id", base::addressId(a.address[pin.row], a.version[pin.row])},
                    {"block_bytes", pin.block_bytes},
                    {"pins_bytes", pin.pins_bytes},
                    {"label", shownText(analysed.labels.label(a.stack[pin.row]))},
                    {"first_step", a.first_step[pin.row]}});
  }
  j["pins"] = std::move(pins);
  return j;
}

// Thousands of numbers: written as text directly, not as a tree of values.
class ColumnText {
 public:
  template <class F>
  void add(std::string_view name, const std::vector<view::StatePart>& parts, F&& value) {
    fmt::format_to(std::back_inserter(text_), "{}\"{}\":[", text_.empty() ? "" : ",", name);
    for (size_t i = 0; i < parts.size(); ++i) {
      fmt::format_to(std::back_inserter(text_), FMT_COMPILE("{}{}"), i == 0 ? "" : ",",
                     value(parts[i]));
    }
    text_ += ']';
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string partsText(const analysis::AnalysedTrace& analysed,
                      const std::vector<view::StatePart>& parts) {
  using view::StatePart;
  auto ofRow = [](const StatePart& part, auto&& value) -> int64_t {
    return part.row == UINT32_MAX ? -1 : static_cast<int64_t>(value(part.row));
  };
  ColumnText columns;
  columns.add("segment", parts, [](const StatePart& p) { return p.segment; });
  columns.add("offset", parts, [](const StatePart& p) { return p.offset_bytes; });
  columns.add("bytes", parts, [](const StatePart& p) { return p.size_bytes; });
  columns.add("live_bytes", parts, [](const StatePart& p) { return p.live_bytes; });
  columns.add("rounding_bytes", parts, [](const StatePart& p) { return p.rounding_bytes; });
  columns.add("kind", parts, [](const StatePart& p) { return static_cast<int>(p.kind); });
  columns.add("blocks", parts, [](const StatePart& p) { return p.blocks; });
  columns.add("allocation", parts,
              [&](const StatePart& p) { return ofRow(p, [](uint32_t row) { return row; }); });
  columns.add("stack_slot", parts, [&](const StatePart& p) {
    return ofRow(p, [&](uint32_t row) { return view::stackSlot(analysed, row); });
  });
  columns.add("category_slot", parts, [&](const StatePart& p) {
    return ofRow(p, [&](uint32_t row) { return view::categorySlot(analysed, row); });
  });
  columns.add("provenance", parts, [&](const StatePart& p) {
    return ofRow(p, [&](uint32_t row) {
      return static_cast<int>(analysed.trace.allocations.provenance[row]);
    });
  });
  columns.add("first_step", parts, [&](const StatePart& p) {
    return ofRow(p, [&](uint32_t row) { return analysed.trace.allocations.first_step[row]; });
  });
  columns.add("flags", parts, [](const StatePart& p) {
    return (p.marked ? kMarked : 0) | (p.filtered ? kFiltered : 0);
  });
  return columns.text();
}

}  // namespace

base::Result<Response> answerState(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  const Params& params = question.params;
  view::StateQuestion asked;
  TG_ASSIGN_OR_RETURN(int64_t step, params.integer("step", 0, model::kNoStep - 1));
  TG_ASSIGN_OR_RETURN(int64_t offset, params.integer("offset", 0, UINT32_MAX, 0));
  TG_ASSIGN_OR_RETURN(int64_t limit, params.integer("limit", 0, kMaxSegments, 50));
  TG_ASSIGN_OR_RETURN(asked.pixel_bytes, params.number("px", 1));
  std::optional<view::StateSort> sort = view::stateSortByName(params.text("sort", "size"));
  if (!sort) return notUsable("sort must be size, age, waste, pinned or address");
  std::string group = params.text("group", "pool");
  if (group != "pool" && group != "none") return notUsable("group must be pool or none");
  TG_ASSIGN_OR_RETURN(std::shared_ptr<const view::FilterSet> filter,
                      filterOf(question, *place.file));
  TG_ASSIGN_OR_RETURN(std::shared_ptr<const view::MarkSet> mark, markOf(question, *place.file));
  asked.step = static_cast<model::Step>(step);
  asked.offset = static_cast<size_t>(offset);
  asked.limit = static_cast<size_t>(limit);
  asked.sort = *sort;
  asked.grouped = group == "pool";
  asked.filter = filter.get();
  asked.mark = mark.get();
  const analysis::AnalysedTrace& analysed = *place.file->analysed;
  view::State state = view::stateAt(analysed, *place.device, asked);
  json groups = json::array();
  for (const view::StateGroup& g : state.groups) groups.push_back(groupJson(analysed.trace, g));
  json segments = json::array();
  for (const view::StateSegment& bar : state.segments) segments.push_back(barJson(analysed, bar));
  json head = {{"step", state.step},
               {"time_us", timeOrNull(place.device->time.timeOf(state.step))},
               {"sums", sumsJson(state.sums)},
               {"groups", std::move(groups)},
               {"total", state.segments_total},
               {"offset", state.offset},
               {"widest_bytes", state.widest_bytes},
               {"px", state.pixel_bytes},
               {"segments", std::move(segments)}};
  Response response;
  response.body = dump(head);
  response.body.pop_back();
  response.body += fmt::format(",\"parts\":{{{}}}}}", partsText(analysed, state.parts));
  return response;
}

}  // namespace tidegauge::server
