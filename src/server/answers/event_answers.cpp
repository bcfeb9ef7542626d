// The list of events: a window of up to millions of rows.
#include "base/ascii.h"
#include "base/format.h"
#include "server/session/questions.h"
#include "view/tables/event_list.h"

namespace tidegauge::server {
namespace {

constexpr int64_t kMaxEventRows = 1000;

struct EventQuestion {
  view::EventFilter filter;
  std::optional<analysis::TextPattern> stack;
  std::string key;  // of the cached list
};

// "alloc,oom"; "unknown" = actions that this version does not know.
base::Result<uint32_t> actionsOf(const model::Trace& trace, std::string_view text) {
  uint32_t bits = 0;
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    uint32_t bit = word == "unknown" ? view::actionBit(model::Action::kFirstUnknown) : 0;
    for (uint8_t i = 0; i < static_cast<uint8_t>(model::Action::kFirstUnknown); ++i) {
      auto action = static_cast<model::Action>(i);
      if (trace.actionName(action) == word) bit = view::actionBit(action);
    }
    if (bit == 0) {
      return notUsable(
          "“" + std::string(word) + "” is not an action",
          "alloc, free_requested, free_completed, free, segment_alloc, segment_free, "
          "segment_map, segment_unmap, oom, snapshot, annotate, user_defined, unknown");
    }
    bits |= bit;
  }
  return bits;
}

base::Result<EventQuestion> eventQuestionOf(const Question& question, const Place& place) {
  const Params& params = question.params;
  EventQuestion asked;
  std::string actions = params.text("action");
  std::string address = params.text("address");
  std::string size = params.text("size");
  std::string stack = params.text("stack");
  TG_ASSIGN_OR_RETURN(asked.filter.actions, actionsOf(place.file->analysed->trace, actions));
  if (!address.empty()) {
    std::vector<view::SearchWord> words = view::searchWords(address);
    if (words.size() != 1 || !words[0].address) {
      return notUsable("“" + address + "” is not an address",
                       "Write an address such as 0x7f0586000000 or b7f0586000000_1");
    }
    asked.filter.address = words[0].address->address;
    asked.filter.version = words[0].address->version;
  }
  if (!size.empty()) {
    asked.filter.size = view::sizeRangeOf(base::lowerAscii(size));
    if (!asked.filter.size)
      return notUsable("size must be a comparison, such as >1MiB, <=4k or =512");
  }
  if (!stack.empty()) {
    TG_ASSIGN_OR_RETURN(analysis::TextPattern pattern, analysis::TextPattern::compile(stack));
    asked.stack = std::move(pattern);
  }
  asked.key = std::to_string(place.device->device.ordinal);
  for (const std::string& part : {actions, address, size, stack}) asked.key += '\n' + part;
  return asked;
}

json rowJson(const Place& place, view::Step step) {
  const analysis::AnalysedTrace& analysed = *place.file->analysed;
  const model::Trace& trace = analysed.trace;
  const model::Events& e = trace.events;
  uint64_t event = place.device->device.event_begin + step;
  model::Action action = e.action[event];
  bool of_block = action <= model::Action::kFree;
  bool of_segment =
      action >= model::Action::kSegmentAlloc && action <= model::Action::kSegmentUnmap;
  bool is_oom = action == model::Action::kOom;
  bool has_subject = e.subject[event] != UINT32_MAX;
  json address_id = nullptr;
  if (of_block && has_subject) {
    address_id = base::addressId(e.address[event], trace.allocations.version[e.subject[event]]);
  }
  return {{"step", step},
          {"time_us", e.time_us.empty() ? json() : timeOrNull(e.time_us[event])},
          {"action", trace.actionName(action)},
          {"address", of_block || of_segment ? json(base::hexAddress(e.address[event])) : json()},
          {"address_id", std::move(address_id)},
          {"size_bytes", bytesOrNull(e.size_bytes[event])},
          {"device_free_bytes", is_oom ? bytesOrNull(e.address[event]) : json()},
          {"stream", e.stream[event].value},
          {"allocation_id", of_block && has_subject ? json(e.subject[event]) : json()},
          {"segment_id", of_segment && has_subject ? json(e.subject[event]) : json()},
          {"stack_id", idOrNull(e.stack[event])},
          {"label", e.stack[event].valid() ? json(shownText(analysed.labels.label(e.stack[event])))
                                           : json()},
          {"slot", analysed.labels.colourSlot(e.stack[event])}};
}

}  // namespace

base::Result<Response> answerEvents(const Question& question) {
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  TG_ASSIGN_OR_RETURN(int64_t offset, question.params.integer("offset", 0, UINT32_MAX, 0));
  TG_ASSIGN_OR_RETURN(int64_t limit, question.params.integer("limit", 0, kMaxEventRows, 100));
  TG_ASSIGN_OR_RETURN(int64_t step, question.params.integer("step", 0, model::kNoStep, 0));
  TG_ASSIGN_OR_RETURN(EventQuestion asked, eventQuestionOf(question, place));
  asked.filter.stack = asked.stack ? &*asked.stack : nullptr;
  size_t total = place.device->device.steps();
  auto nearest = std::min(static_cast<size_t>(step), total == 0 ? 0 : total - 1);
  std::shared_ptr<const std::vector<view::Step>> steps;  // null: all events
  if (!asked.filter.everything()) {
    steps = place.file->event_lists.get(asked.key, [&] {
      return std::make_shared<const std::vector<view::Step>>(
          view::matchingSteps(*place.file->analysed, place.device->device, asked.filter));
    });
    total = steps->size();
    nearest = view::nearestIndex(*steps, static_cast<view::Step>(step));
  }
  json rows = json::array();
  auto end = std::min(total, static_cast<size_t>(offset) + static_cast<size_t>(limit));
  for (auto i = static_cast<size_t>(offset); i < end; ++i) {
    rows.push_back(rowJson(place, steps ? (*steps)[i] : static_cast<view::Step>(i)));
  }
  return jsonResponse({{"total", total},
                       {"events", place.device->device.steps()},
                       {"offset", offset},
                       {"nearest", nearest},
                       {"rows", std::move(rows)}});
}

}  // namespace tidegauge::server
