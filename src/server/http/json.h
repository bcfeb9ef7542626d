// JSON for the page. Texts of a file may be any bytes: what is no UTF-8 is replaced, never thrown
// at.
#pragma once

#include <nlohmann/json.hpp>

#include "analysis/trace/analysed_trace.h"
#include "report/story/report_json.h"
#include "server/http/message.h"

namespace tidegauge::server {

using nlohmann::json;

std::string dump(const json& value);
Response jsonResponse(const json& value);

// The value, or null for what is unknown.
template <class Id>
json idOrNull(Id id) {
  return id.valid() ? json(id.value) : json();
}
inline json bytesOrNull(uint64_t bytes) {
  return bytes == model::kUnknownBytes ? json() : json(bytes);
}
inline json stepOrNull(model::Step step) { return step == model::kNoStep ? json() : json(step); }
inline json timeOrNull(int64_t us) { return us == model::kNoTime ? json() : json(us); }
json textOrNull(const model::Trace& trace, const std::vector<model::StringId>& column,
                uint64_t row);

// Names and texts of a hostile file may be of any length, and may be shown many times: what is
// longer than any real one is cut, with "…" at its end.
inline constexpr size_t kMostTextBytes = 4000;
std::string shownText(std::string_view text);

using exporting::totalsJson;
// At most kMostFrames rows; "depth" tells how many frames there are.
inline constexpr size_t kMostFrames = 2000;
json stackJson(const analysis::AnalysedTrace& analysed, model::StackId stack);
// Who asks for many answers asks for each stack once: {"shared": id}, or null.
enum class Stacks : uint8_t { kWhole, kShared };
json stackJson(const analysis::AnalysedTrace& analysed, model::StackId stack, Stacks how);
json streamJson(const model::Trace& trace, model::StreamId stream);
json poolJson(const model::Trace& trace, model::PoolId pool);

}  // namespace tidegauge::server
