#include "server/wire/allocation_json.h"

#include <algorithm>

#include "base/format.h"
#include "model/pinned_requests.h"
#include "model/tensors/tensors.h"
#include "view/timeline/slots.h"

namespace tidegauge::server {

// PyTorch names segments like blocks: by address and the number of earlier ones there.
json segmentJson(const model::Trace& trace, model::SegmentId segment) {
  if (!segment.valid()) return nullptr;
  const model::Segments& segments = trace.segments;
  const model::Device& device = trace.deviceOfSegment(segment);
  uint64_t address = segments.address[segment.index()];
  auto begin = segments.address.begin() + static_cast<ptrdiff_t>(device.segment_begin);
  auto here = segments.address.begin() + static_cast<ptrdiff_t>(segment.index());
  auto version = static_cast<uint32_t>(std::count(begin, here, address));
  return {{"id", segment.value},
          {"address_id", base::addressId(address, version, 's')},
          {"address", base::hexAddress(address)},
          {"total_bytes", segments.total_bytes[segment.index()]},
          {"kind", model::name(segments.kind[segment.index()])}};
}

namespace {

json siblingsJson(OpenFile& file, uint32_t row) {
  view::SiblingTotals totals = file.siblings().of(file.analysed->trace.allocations.stack[row]);
  return {{"count", totals.count},
          {"bytes", totals.bytes},
          {"live_at_end_count", totals.live_at_end_count},
          {"live_at_end_bytes", totals.live_at_end_bytes}};
}

// The named tensors in it, the main one first.
json tensorsJson(const model::Trace& trace, uint32_t row) {
  constexpr size_t kMaxShown = 50;
  const model::Tensors& t = *trace.tensors;
  std::span<const uint32_t> all = model::tensorsOf(trace, model::AllocationId(row));
  auto text = [&](model::StringId id) {
    return id.valid() ? json(shownText(trace.strings.text(id))) : json();
  };
  json rows = json::array();
  for (uint32_t tensor : all.first(std::min(all.size(), kMaxShown))) {
    rows.push_back({{"id", tensor},
                    {"name", text(t.name[tensor])},
                    {"kind", model::name(t.kind[tensor])},
                    {"of", text(t.of[tensor])},
                    {"state", text(t.state[tensor])},
                    {"shape", text(t.shape[tensor])},
                    {"dtype", text(t.dtype[tensor])}});
  }
  return {{"count", all.size()}, {"rows", std::move(rows)}};
}

}  // namespace

json allocationJson(OpenFile& file, uint32_t row, Stacks stacks) {
  const model::Trace& trace = file.analysed->trace;
  const model::Allocations& a = trace.allocations;
  const model::Device& device = trace.deviceOfAllocation(model::AllocationId(row));
  const analysis::DeviceAnalysis& analysis = *file.analysed->findDevice(device.ordinal);
  bool alloc_seen = a.has(row, model::kAllocSeen);
  bool free_seen = a.has(row, model::kFreeCompletedSeen);
  uint64_t event = device.event_begin + a.first_step[row];
  model::RequestRange requested = model::requestOf(trace, device, a.requested_bytes[row]);
  auto timeOf = [&](model::Step step) { return timeOrNull(analysis.time.timeOf(step)); };
  json j = {{"id", row},
            {"device", device.ordinal},
            {"address", base::hexAddress(a.address[row])},
            {"address_id", base::addressId(a.address[row], a.version[row])},
            {"requested_bytes", requested.isKnown() ? json(requested.most_bytes) : json()},
            {"requested_least_bytes", requested.least_bytes},
            {"requested_most_bytes", requested.most_bytes},
            {"block_bytes", a.block_bytes[row]},
            {"block_inferred", a.has(row, model::kBlockInferred)},
            {"block_uncertain", a.has(row, model::kBlockUncertain)},
            {"segment", segmentJson(trace, a.segment[row])},
            {"stream", streamJson(trace, a.stream[row])},
            {"pool", poolJson(trace, a.pool[row])},
            {"provenance", model::name(a.provenance[row])},
            {"alloc_step", alloc_seen ? json(a.first_step[row]) : json()},
            {"free_requested_step", stepOrNull(a.free_requested_step[row])},
            {"free_completed_step", free_seen ? json(a.last_step[row]) : json()},
            {"first_step", a.first_step[row]},
            {"last_step", a.last_step[row]},
            {"alloc_time_us", alloc_seen ? timeOf(a.first_step[row]) : json()},
            {"free_time_us", free_seen ? timeOf(a.last_step[row]) : json()},
            {"live_at_end", view::liveAtEnd(trace, device, row)},
            {"category", textOrNull(trace, a.category, row)},
            {"stack", stackJson(*file.analysed, a.stack[row], stacks)},
            {"stack_is_of_free", a.has(row, model::kStackIsOfFree)},
            {"label", shownText(file.analysed->labels.label(a.stack[row]))},
            {"compile_context",
             alloc_seen ? textOrNull(trace, trace.events.compile_context, event) : json()},
            {"metadata", alloc_seen ? textOrNull(trace, trace.events.metadata, event) : json()},
            {"slot", view::stackSlot(*file.analysed, row)},
            {"siblings", siblingsJson(file, row)}};
  if (trace.tensors) j["tensors"] = tensorsJson(trace, row);
  return j;
}

json allocationJson(OpenFile& file, std::optional<uint32_t> row) {
  return row ? allocationJson(file, *row) : json();
}

}  // namespace tidegauge::server
