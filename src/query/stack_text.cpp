#include "query/stack_text.h"

#include <fmt/format.h>

#include "query/columns.h"

namespace tidegauge::query {

Column& addStackText(Table& table, std::string name, const analysis::AnalysedTrace& trace,
                     Fill stack_ids) {
  Column& column =
      addMadeText(table, std::move(name), "file:line function, one frame per line, innermost first",
                  std::move(stack_ids), [&labels = trace.labels](int64_t key) {
                    return labels.text(model::StackId(static_cast<uint32_t>(key)));
                  });
  column.distinct = trace.trace.stacks.size();
  column.contains = [&trace](std::string_view literal) {
    return stacksContaining(trace.trace, literal);
  };
  return column;
}

std::vector<bool> stacksContaining(const model::Trace& trace, std::string_view literal) {
  const model::Frames& frames = trace.frames;
  std::vector<bool> frame_matches(frames.size());
  for (size_t f = 0; f < frames.size(); ++f) {
    std::string line = fmt::format("{}:{} {}", trace.strings.text(frames.file[f]), frames.line[f],
                                   trace.strings.text(frames.function[f]));
    frame_matches[f] = lowerAscii(line).find(literal) != std::string::npos;
  }
  std::vector<bool> matches(trace.stacks.size());
  for (uint32_t s = 0; s < matches.size(); ++s) {
    const model::FrameId* frame = trace.stacks.framesOf(model::StackId(s));
    const model::FrameId* end = frame + trace.stacks.depth(model::StackId(s));
    matches[s] =
        std::any_of(frame, end, [&](model::FrameId f) { return frame_matches[f.index()]; });
  }
  return matches;
}

}  // namespace tidegauge::query
