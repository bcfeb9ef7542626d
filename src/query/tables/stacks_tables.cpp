// stacks, frames, stack_frames.
#include "query/scan/columns.h"
#include "query/scan/stack_text.h"
#include "query/tables/tables.h"

namespace tidegauge::query {
namespace {

using model::FrameId;
using model::StackId;

StackId stackOf(Row row) { return StackId(static_cast<uint32_t>(row)); }

// The stack that each row of stack_frames belongs to. Rows come in order, so the last answer is
// usually right again.
Fill stackOfFrameRow(const model::Stacks& stacks) {
  return [&stacks](const Row* rows, size_t count, int64_t* keys) {
    std::span<const uint64_t> begin = stacks.begins();
    size_t at = 0;
    for (size_t i = 0; i < count; ++i) {
      if (i == 0 || rows[i] < begin[at] || rows[i] >= begin[at + 1]) {
        at = static_cast<size_t>(std::upper_bound(begin.begin(), begin.end(), rows[i]) -
                                 begin.begin()) -
             1;
      }
      keys[i] = static_cast<int64_t>(at);
    }
  };
}

}  // namespace

Table stacksTable(const AnalysedTrace& analysed) {
  const model::Stacks& stacks = analysed.trace.stacks;
  Table table;
  table.name = "stacks";
  table.doc = "One row per distinct stack.";
  setRows(table, stacks.size());
  addId(table, "");
  add(table, ColumnKind::kInteger, "depth", "number of frames",
      eachRow([&stacks](Row row) { return static_cast<int64_t>(stacks.depth(stackOf(row))); }));
  addStackText(table, "text", analysed, rowNumber());
  addReference(
      table, "top_frame_id", "→ frames.id: the innermost frame", eachRow([&stacks](Row row) {
        return stacks.depth(stackOf(row)) == 0 ? kNull
                                               : keyOf(stacks.framesOf(stackOf(row)).front());
      }),
      analysed.trace.frames.size());
  addReference(table, "top_user_frame_id",
               "→ frames.id: the innermost frame of the program's own code",
               eachRow([&labels = analysed.labels](Row row) {
                 return keyOf(labels.topUserFrame(stackOf(row)));
               }),
               analysed.trace.frames.size());
  addMadeText(table, "label", "that frame in short form: \"loss.py:30 log_softmax\"", rowNumber(),
              [&labels = analysed.labels](int64_t key) {
                return labels.label(StackId(static_cast<uint32_t>(key)));
              });
  addMadeText(
      table, "caller",
      "the next outer frame of the program, or the frame that distinguishes this stack from "
      "others with the same label; may be empty",
      rowNumber(), [&names = analysed.names](int64_t key) {
        return names.caller(StackId(static_cast<uint32_t>(key)));
      });
  return table;
}

Table framesTable(const AnalysedTrace& analysed) {
  const model::Trace& trace = analysed.trace;
  const model::Frames& frames = trace.frames;
  Table table;
  table.name = "frames";
  table.doc = "One row per distinct frame.";
  setRows(table, frames.size());
  addId(table, "");
  addPoolText(table, "function", "", storedIds(frames.function), trace.strings);
  addPoolText(table, "file", "", storedIds(frames.file), trace.strings);
  add(table, ColumnKind::kInteger, "line", "line number as in the file; 2^64 - 1 is shown as -1",
      stored(frames.line, [](uint64_t line) { return static_cast<int64_t>(line); }));
  std::vector<std::string> kinds;
  for (auto kind : {model::FrameKind::kPython, model::FrameKind::kCpp, model::FrameKind::kOther,
                    model::FrameKind::kForward}) {
    kinds.emplace_back(model::name(kind));
  }
  addEnum(table, "kind", "python, cpp, other; forward: of the forward pass, see stack_frames",
          stored(frames.kind, [](model::FrameKind kind) { return static_cast<int64_t>(kind); }),
          std::move(kinds));
  return table;
}

Table stackFramesTable(const AnalysedTrace& analysed) {
  const model::Stacks& stacks = analysed.trace.stacks;
  Table table;
  table.name = "stack_frames";
  table.doc =
      "One row per frame of each stack. For memory of the backward pass, the frames of the stack "
      "are followed by those of the forward pass (forward_frames), with the kind forward.";
  setRows(table, stacks.totalFrames());
  Column& stack =
      addReference(table, "stack_id", "→ stacks.id", stackOfFrameRow(stacks), stacks.size());
  stack.sorted = Sorted::kWithinDevices;
  add(table, ColumnKind::kInteger, "position", "0 = innermost",
      [stack_of = stackOfFrameRow(stacks), &stacks](const Row* rows, size_t count, int64_t* keys) {
        stack_of(rows, count, keys);
        for (size_t i = 0; i < count; ++i) {
          keys[i] = static_cast<int64_t>(rows[i] - stacks.begins()[static_cast<size_t>(keys[i])]);
        }
      });
  addReference(table, "frame_id", "→ frames.id",
               eachRow([&stacks](Row row) { return keyOf(stacks.frameAt(row)); }),
               analysed.trace.frames.size());
  table.natural_order = {0, 1};
  return table;
}

}  // namespace tidegauge::query
