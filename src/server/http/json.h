// JSON for the page. Texts of a file may be any bytes: invalid UTF-8 is replaced, and never throws.
#pragma once

#include <nlohmann/json.hpp>

#include "analysis/trace/analysed_trace.h"
#include "report/story/report_json.h"
#include "report/words/holders_json.h"
#include "server/http/message.h"

namespace tidegauge::server {

using nlohmann::json;

std::string dump(const json& value);
Response jsonResponse(const json& value);

// The value, or null if it is unknown.
template <class Id>
json idOrNull(Id id) {
  return id.valid() ? json(id.value) : json();
}
inline json bytesOrNull(uint64_t bytes) {
  return bytes == model::kUnknownBytes ? json() : json(bytes);
}
inline json stepOrNull(model::Step step) { return step == model::kNoStep ? json() : json(step); }
inline json timeOrNull(int64_t us) { return us == model::kNoTime ? json() : json(us); }
json textOrNull(const model::Trace& trace, model::StringId text);
// The text of a row, for a column that is empty if the file lacks that field.
template <class Column>
json textOrNull(const model::Trace& trace, const Column& column, uint64_t row) {
  return column.empty() ? json() : textOrNull(trace, column[row]);
}

// Names and texts in a hostile file may have any length, and may be shown repeatedly: texts longer
// than any real one are cut, with "…" at the end.
inline constexpr size_t kMaxTextBytes = 4000;
std::string shownText(std::string_view text);

using report::totalsJson;
// At most kMaxFrames rows; "depth" is the number of frames.
inline constexpr size_t kMaxFrames = 2000;
json stackJson(const analysis::AnalysedTrace& analysed, model::StackId stack);
// A client with many questions requests each stack once: {"shared": id}, or null.
enum class Stacks : uint8_t { kWhole, kShared };
json stackJson(const analysis::AnalysedTrace& analysed, model::StackId stack, Stacks how);
json streamJson(const model::Trace& trace, model::StreamId stream);
json poolJson(const model::Trace& trace, model::PoolId pool);

}  // namespace tidegauge::server
