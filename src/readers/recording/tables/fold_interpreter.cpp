#include "readers/recording/tables/fold_interpreter.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "model/call_site.h"

namespace tidegauge::readers::recording {
namespace {

enum class Code : uint8_t { kOther, kPython, kInterpreter };

Code codeOf(const RecordedTables& tables, const RecordedFrame& frame) {
  if (model::isPythonFile(tables.texts.text(frame.file))) return Code::kPython;
  return model::isInterpreter(tables.texts.text(frame.module)) ? Code::kInterpreter : Code::kOther;
}

std::u32string textOf(const uint32_t* begin, const uint32_t* end) { return {begin, end}; }

}  // namespace

void foldInterpreter(RecordedTables& tables) {
  std::vector<Code> code;
  code.reserve(tables.frames.size());
  for (const RecordedFrame& frame : tables.frames) code.push_back(codeOf(tables, frame));
  if (std::find(code.begin(), code.end(), Code::kPython) == code.end()) return;

  size_t stacks = tables.stack_begin.size() - 1;
  std::vector<uint64_t> folded_begin{0};
  std::vector<uint32_t> folded, row_of(stacks);
  folded.reserve(tables.stack_frames.size());
  std::unordered_map<std::u32string, uint32_t> known;
  for (size_t row = 0; row < stacks; ++row) {
    const uint32_t* begin = tables.stack_frames.data() + tables.stack_begin[row];
    const uint32_t* end = tables.stack_frames.data() + tables.stack_begin[row + 1];
    size_t at = folded.size();
    auto fresh = static_cast<uint32_t>(folded_begin.size() - 1);
    row_of[row] = fresh;
    if (std::any_of(begin, end, [&](uint32_t frame) { return code[frame] == Code::kPython; })) {
      std::copy_if(begin, end, std::back_inserter(folded),
                   [&](uint32_t frame) { return code[frame] != Code::kInterpreter; });
      const uint32_t* own = folded.data();
      row_of[row] = known.try_emplace(textOf(own + at, own + folded.size()), fresh).first->second;
    } else {
      folded.insert(folded.end(), begin, end);
    }
    if (row_of[row] == fresh) {
      folded_begin.push_back(folded.size());
    } else {
      folded.resize(at);
    }
  }
  tables.stack_begin = std::move(folded_begin);
  tables.stack_frames = std::move(folded);
  for (auto& [id, row] : tables.stack_rows) row = row_of[row];
}

}  // namespace tidegauge::readers::recording
