#include "readers/torch/columns/forward_stacks.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "base/utf8.h"

namespace tidegauge::readers::torch {
namespace {

constexpr size_t kMaxCode = 512;  // bytes of a line's code that are kept

std::string_view trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

struct FrameLine {
  std::string_view file, function;
  uint64_t line = 0;
};

// A line of a traceback: `  File "/x/model.py", line 77, in forward`.
std::optional<FrameLine> frameLineOf(std::string_view text) {
  constexpr std::string_view kFile = "File \"", kLine = "\", line ", kIn = ", in ";
  text = trimmed(text);
  if (!text.starts_with(kFile)) return std::nullopt;
  size_t line = text.rfind(kLine);
  if (line == std::string_view::npos || line < kFile.size()) return std::nullopt;
  FrameLine frame;
  frame.file = text.substr(kFile.size(), line - kFile.size());
  std::string_view rest = text.substr(line + kLine.size());
  auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), frame.line);
  if (error != std::errc()) return std::nullopt;
  rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  if (rest.starts_with(kIn)) frame.function = rest.substr(kIn.size());
  return frame;
}

}  // namespace

bool ForwardStacks::isFrameText(std::string_view text) {
  return frameLineOf(text.substr(0, text.find('\n'))).has_value();
}

// One text holds one frame, or (from torch.fx) a whole traceback. The line after a frame is its
// code.
void ForwardStacks::parse(std::string_view text) {
  std::optional<FrameLine> open;
  std::string_view code;
  auto intern = [&](std::string_view part) {
    return trace_.strings.intern(base::repairedUtf8(part));
  };
  auto close = [&] {
    if (!open) return;
    FrameRow row;
    row.function = intern(open->function);
    row.file = intern(open->file);
    row.line = open->line;
    row.forward = true;
    std::string_view kept = code.substr(0, kMaxCode);
    if (!kept.empty() && values_.takeText(kept.size())) row.note = intern(kept);
    parsed_frames_.push_back(frames_.intern(row));
    open.reset();
    code = {};
  };
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (std::optional<FrameLine> frame = frameLineOf(line)) {
      close();
      open = frame;
    } else if (open && code.empty()) {
      code = trimmed(line);
    }
    begin = end + 1;
  }
  close();
}

ForwardStacks::Parsed ForwardStacks::framesOf(std::string_view text) {
  auto [known, added] = of_text_.try_emplace({XXH3_64bits(text.data(), text.size()), text.size()});
  if (added) {
    auto begin = static_cast<uint32_t>(parsed_frames_.size());
    parse(std::string(text));  // a copy, because interning may move the text
    known->second = {begin, static_cast<uint32_t>(parsed_frames_.size()) - begin};
  }
  return known->second;
}

uint32_t ForwardStacks::intern(std::span<const Value> texts) {
  scratch_.clear();
  for (Value text : texts) {
    if (!text.isString()) continue;
    Parsed part = framesOf(values_.textOf(text));
    for (uint32_t i = 0; i < part.count; ++i) scratch_.push_back(parsed_frames_[part.begin + i]);
  }
  return lists_.intern(scratch_).value;
}

model::StackId ForwardStacks::join(model::StackId own, uint32_t list) {
  if (list == kNone) return own;
  auto [known, added] = joined_.try_emplace({own.value, list});
  if (!added) return known->second;
  model::StackId id(list);
  uint64_t depth = list_frames_.depth(id) + (own.valid() ? trace_.stacks.depth(own) : 0);
  if (depth > frames_left_) {  // a hostile file joins a long list with every stack
    values_.reportCutText();
    known->second = own;
    return own;
  }
  frames_left_ -= depth;
  scratch_.clear();
  if (own.valid()) {
    model::FrameList frames = trace_.stacks.framesOf(own);
    scratch_.assign(frames.begin(), frames.end());
  }
  model::FrameList forward = list_frames_.framesOf(id);
  scratch_.insert(scratch_.end(), forward.begin(), forward.end());
  known->second = stacks_.intern(scratch_);
  return known->second;
}

// A vote of the lists; without one, PyTorch's order.
bool ForwardStacks::isOutermostFirst() const {
  const model::Frames& frames = trace_.frames;
  using Files = std::pair<uint32_t, uint32_t>;        // inner, outer
  boost::unordered_flat_map<Files, int64_t> callers;  // among neighbours in other stacks
  constexpr size_t kMaxStacks = 20000;
  for (uint32_t s = 0; s < std::min(trace_.stacks.size(), kMaxStacks); ++s) {
    model::FrameList frame = trace_.stacks.framesOf(model::StackId(s));
    for (size_t i = 0; i + 1 < trace_.stacks.depth(model::StackId(s)); ++i) {
      if (frames.kind[frame[i + 1].index()] == model::FrameKind::kForward) break;
      uint32_t inner = frames.file[frame[i].index()].value;
      uint32_t outer = frames.file[frame[i + 1].index()].value;
      if (inner != outer) ++callers[{inner, outer}];
    }
  }
  auto seen = [&](uint32_t inner, uint32_t outer) {
    auto at = callers.find({inner, outer});
    return at == callers.end() ? int64_t{0} : at->second;
  };
  base::StringId module = trace_.strings.find("<module>");
  constexpr int64_t kModuleWeight = 4;
  int64_t votes = 0;  // above 0: outermost first
  for (uint32_t l = 0; l < list_frames_.size(); ++l) {
    model::FrameList frame = list_frames_.framesOf(model::StackId(l));
    size_t depth = list_frames_.depth(model::StackId(l));
    if (depth < 2) continue;
    if (module.valid()) {
      if (frames.function[frame[0].index()] == module) votes += kModuleWeight;
      if (frames.function[frame[depth - 1].index()] == module) votes -= kModuleWeight;
    }
    for (size_t i = 0; i + 1 < depth; ++i) {
      uint32_t first = frames.file[frame[i].index()].value;
      uint32_t second = frames.file[frame[i + 1].index()].value;
      int64_t as_inner = seen(first, second), as_outer = seen(second, first);
      votes += as_outer > as_inner ? 1 : as_outer < as_inner ? -1 : 0;
    }
  }
  return votes >= 0;
}

void ForwardStacks::finish() {
  if (joined_.empty() || !isOutermostFirst()) return;
  std::vector<model::StackId> stacks;
  for (const auto& [pair, stack] : joined_) stacks.push_back(stack);
  std::sort(stacks.begin(), stacks.end());
  stacks.erase(std::unique(stacks.begin(), stacks.end()), stacks.end());
  for (model::StackId stack : stacks) {
    model::FrameList frames = trace_.stacks.framesOf(stack);
    scratch_.assign(frames.begin(), frames.end());
    auto forward = std::find_if(scratch_.begin(), scratch_.end(), [&](model::FrameId frame) {
      return trace_.frames.kind[frame.index()] == model::FrameKind::kForward;
    });
    std::reverse(forward, scratch_.end());
    for (size_t i = 0; i < scratch_.size(); ++i) trace_.stacks.setFrame(stack, i, scratch_[i]);
  }
}

}  // namespace tidegauge::readers::torch
