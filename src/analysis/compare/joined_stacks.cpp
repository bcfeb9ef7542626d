#include "analysis/compare/joined_stacks.h"

#include <array>
#include <map>

#include "model/recorded_work.h"

namespace tidegauge::analysis {
namespace {

// Copies stacks of several traces into one.
class StackJoiner {
 public:
  StackId add(const model::Trace& from, StackId stack) {
    if (!stack.valid() || from.stacks.depth(stack) == 0) return {};
    model::FrameList frames = from.stacks.framesOf(stack);
    std::vector<FrameId> joined;
    for (FrameId frame : frames) joined.push_back(frameOf(from, frame));
    return to_.stacks.add(joined);
  }
  std::unique_ptr<const AnalysedTrace> take() {
    to_.work = work_;
    return std::make_unique<const AnalysedTrace>(std::move(to_));
  }

 private:
  FrameId frameOf(const model::Trace& from, FrameId frame) {
    size_t f = frame.index();
    auto copied = [&](model::StringId text) {
      return text.valid() ? to_.strings.intern(from.strings.text(text)) : model::StringId();
    };
    model::StringId function = copied(from.frames.function[f]);
    model::StringId file = copied(from.frames.file[f]);
    model::StringId note = copied(from.frames.note[f]);
    model::StringId module = from.work && f < from.work->frame_modules.size()
                                 ? copied(from.work->frame_modules[f])
                                 : model::StringId();
    Key key{function.value, file.value, from.frames.line[f],
            static_cast<uint64_t>(from.frames.kind[f]) << 32 | note.value, module.value};
    auto [found, fresh] = frame_of_.try_emplace(key, static_cast<uint32_t>(to_.frames.size()));
    if (fresh) {
      to_.frames.function.push_back(function);
      to_.frames.file.push_back(file);
      to_.frames.line.push_back(from.frames.line[f]);
      to_.frames.kind.push_back(from.frames.kind[f]);
      to_.frames.note.push_back(note);
      work_->frame_modules.push_back(module);
    }
    return FrameId(found->second);
  }

  using Key = std::array<uint64_t, 5>;
  model::Trace to_;
  std::shared_ptr<model::RecordedWork> work_ = std::make_shared<model::RecordedWork>();
  std::map<Key, uint32_t> frame_of_;
};

}  // namespace

JoinedStacks::JoinedStacks(const std::vector<std::pair<const AnalysedTrace*, StackId>>& stacks) {
  StackJoiner joiner;
  for (const auto& [trace, stack] : stacks) stack_of_.push_back(joiner.add(trace->trace, stack));
  joined_ = joiner.take();
}

JoinedStacks::JoinedStacks(const DiffSide& a, const DiffSide& b,
                           const std::vector<StackRow>& rows) {
  StackJoiner joiner;
  for (const StackRow& row : rows) {
    bool in_b = !row.stacks_b.empty();
    const std::vector<StackId>& stacks = in_b ? row.stacks_b : row.stacks_a;
    const model::Trace& from = (in_b ? b : a).analysed->trace;
    stack_of_.push_back(stacks.empty() ? StackId() : joiner.add(from, stacks.front()));
  }
  joined_ = joiner.take();
}

}  // namespace tidegauge::analysis
