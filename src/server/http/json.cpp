#include "server/http/json.h"

#include <fmt/format.h>

namespace tidegauge::server {

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

Response jsonResponse(const json& value) {
  Response response;
  response.body = dump(value);
  return response;
}

Response errorResponse(int status, std::string_view what, std::string_view hint) {
  Response response = jsonResponse({{"error", {{"what", what}, {"hint", hint}}}});
  response.status = status;
  return response;
}

Response errorResponse(const base::Error& error) {
  int status = error.kind == base::ErrorKind::kLimit ? 422 : 400;
  json what = {{"what", error.what}, {"hint", error.hint}};
  if (error.byte_offset) what["byte_offset"] = *error.byte_offset;
  Response response = jsonResponse({{"error", what}});
  response.status = status;
  return response;
}

json textOrNull(const model::Trace& trace, model::StringId text) {
  return text.valid() ? json(shownText(trace.strings.text(text))) : json();
}

std::string shownText(std::string_view text) {
  if (text.size() <= kMaxTextBytes) return std::string(text);
  size_t end = kMaxTextBytes;
  while (end > 0 && (text[end] & 0xc0) == 0x80) --end;  // not inside a character
  return std::string(text.substr(0, end)) + "…";
}

json stackJson(const analysis::AnalysedTrace& analysed, model::StackId stack) {
  if (!stack.valid()) return nullptr;
  const model::Trace& trace = analysed.trace;
  json frames = json::array();
  for (const analysis::FoldedFrame& folded : analysis::foldStack(trace, analysed.labels, stack)) {
    if (frames.size() == kMaxFrames) break;
    size_t f = folded.frame.index();
    frames.push_back({{"function", shownText(trace.strings.text(trace.frames.function[f]))},
                      {"file", shownText(trace.strings.text(trace.frames.file[f]))},
                      {"line", trace.frames.line[f]},
                      {"kind", model::name(trace.frames.kind[f])},
                      {"noise", folded.noise},
                      {"user", folded.user},
                      {"repeat", folded.repeat},
                      {"note", shownText(trace.strings.text(trace.frames.note[f]))}});
  }
  return {{"id", stack.value}, {"depth", trace.stacks.depth(stack)}, {"frames", std::move(frames)}};
}

json stackJson(const analysis::AnalysedTrace& analysed, model::StackId stack, Stacks how) {
  if (how == Stacks::kWhole || !stack.valid()) return stackJson(analysed, stack);
  return {{"shared", stack.value}};
}

json streamJson(const model::Trace& trace, model::StreamId stream) {
  if (!stream.valid()) return nullptr;
  return {{"id", stream.value}, {"raw", fmt::format("{:#x}", trace.streams[stream.index()].raw)}};
}

json poolJson(const model::Trace& trace, model::PoolId pool) {
  if (!pool.valid()) return nullptr;
  const model::Pool& p = trace.pools[pool.index()];
  bool is_default = p.first == 0 && p.second == 0;
  return {{"id", pool.value},
          {"text", is_default ? "default" : fmt::format("({}, {})", p.first, p.second)}};
}

}  // namespace tidegauge::server
