#include "readers/torch/columns/stack_table.h"

#define XXH_INLINE_ALL  // most stacks are short: a call would cost as much as the hash
#include <xxhash.h>

#include <algorithm>
#include <array>

namespace tidegauge::readers::torch {
namespace {

bool endsWithAny(std::string_view text, std::span<const std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return text.ends_with(ending); });
}

}  // namespace

model::FrameKind frameKindOf(std::string_view file, std::string_view function) {
  constexpr std::array<std::string_view, 4> kPython = {".py", ".pyx", ".pyc", ".pyi"};
  constexpr std::array<std::string_view, 11> kCpp = {".cpp", ".cc",  ".cxx", ".c",  ".h",  ".hpp",
                                                     ".cu",  ".cuh", ".inl", ".so", ".hip"};
  if (endsWithAny(file, kPython) || file.starts_with('<')) return model::FrameKind::kPython;
  bool shared_library = file.find(".so.") != std::string_view::npos;
  if (file == "??" || shared_library || endsWithAny(file, kCpp)) return model::FrameKind::kCpp;
  bool cpp_name = function.find("::") != std::string_view::npos;
  return cpp_name ? model::FrameKind::kCpp : model::FrameKind::kOther;
}

size_t FrameTable::Hash::operator()(const FrameRow& row) const {
  uint64_t key[3] = {uint64_t{row.function.value} << 32 | row.file.value, row.line,
                     uint64_t{row.note.value} << 1 | uint64_t{row.forward}};
  return XXH3_64bits(key, sizeof key);
}

model::FrameId FrameTable::intern(const FrameRow& row) {
  auto [place, added] =
      ids_.try_emplace(row, model::FrameId(static_cast<uint32_t>(frames_.size())));
  if (added) {
    frames_.function.push_back(row.function);
    frames_.file.push_back(row.file);
    frames_.line.push_back(row.line);
    frames_.kind.push_back(row.forward
                               ? model::FrameKind::kForward
                               : frameKindOf(strings_.text(row.file), strings_.text(row.function)));
    frames_.note.push_back(row.note);
  }
  return place->second;
}

model::StackId StackTable::intern(std::span<const model::FrameId> frames) {
  if (frames.empty()) return {};
  List list{static_cast<uint32_t>(XXH3_64bits(frames.data(), frames.size_bytes())), frames};
  if (auto found = known_.find(list); found != known_.end()) return found->id;
  model::StackId id = stacks_.add(frames);
  known_.insert({list.hash, id});
  return id;
}

}  // namespace tidegauge::readers::torch
