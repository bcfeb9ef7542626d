#include "readers/recording/tables/fold_interpreter.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "model/call_site.h"

namespace tidegauge::readers::recording {
namespace {

std::u32string textOf(const uint32_t* begin, const uint32_t* end) { return {begin, end}; }

}  // namespace

InterpreterFold::Code InterpreterFold::codeOf(const RecordedTables& tables,
                                              const RecordedFrame& frame) {
  if (model::isPythonFile(tables.texts.text(frame.file))) return Code::kPython;
  return model::isInterpreter(tables.texts.text(frame.module)) ? Code::kInterpreter : Code::kOther;
}

bool InterpreterFold::takeFrames(const RecordedTables& tables) {
  std::vector<Code> code;
  code.reserve(tables.frames.size());
  for (const RecordedFrame& frame : tables.frames) code.push_back(codeOf(tables, frame));
  bool continues =
      code.size() >= code_.size() && std::equal(code_.begin(), code_.end(), code.begin());
  code_ = std::move(code);
  has_python_ = std::find(code_.begin(), code_.end(), Code::kPython) != code_.end();
  return continues;
}

void InterpreterFold::fold(RecordedTables& tables, size_t first,
                           std::vector<std::pair<int64_t, uint32_t>>& fresh) {
  if (!has_python_) return;
  std::vector<uint64_t> begins(tables.stack_begin.begin() + static_cast<ptrdiff_t>(first),
                               tables.stack_begin.end());
  std::vector<uint32_t> frames(tables.stack_frames.begin() + static_cast<ptrdiff_t>(begins.front()),
                               tables.stack_frames.end());
  tables.stack_begin.resize(first + 1);
  tables.stack_frames.resize(begins.front());
  std::vector<uint32_t> row_of(begins.size() - 1);
  for (size_t i = 0; i < row_of.size(); ++i) {
    const uint32_t* begin = frames.data() + (begins[i] - begins.front());
    const uint32_t* end = frames.data() + (begins[i + 1] - begins.front());
    std::vector<uint32_t>& folded = tables.stack_frames;
    size_t at = folded.size();
    auto row = static_cast<uint32_t>(tables.stack_begin.size() - 1);
    row_of[i] = row;
    if (std::any_of(begin, end, [&](uint32_t frame) { return code_[frame] == Code::kPython; })) {
      std::copy_if(begin, end, std::back_inserter(folded),
                   [&](uint32_t frame) { return code_[frame] != Code::kInterpreter; });
      const uint32_t* own = folded.data();
      row_of[i] = known_.try_emplace(textOf(own + at, own + folded.size()), row).first->second;
    } else {
      folded.insert(folded.end(), begin, end);
    }
    if (row_of[i] == row) {
      tables.stack_begin.push_back(folded.size());
    } else {
      folded.resize(at);
    }
  }
  for (auto& [id, row] : fresh) row = row_of[row - first];
}

void foldInterpreter(RecordedTables& tables) {
  InterpreterFold folding;
  folding.takeFrames(tables);
  std::vector<std::pair<int64_t, uint32_t>> all(tables.stack_rows.begin(), tables.stack_rows.end());
  folding.fold(tables, 0, all);
  for (const auto& [id, row] : all) tables.stack_rows[id] = row;
}

}  // namespace tidegauge::readers::recording
