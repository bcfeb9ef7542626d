#include "readers/torch/stack_table.h"

#define XXH_INLINE_ALL  // most stacks are short: a call would cost as much as the hash
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>

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
  uint64_t key[3] = {uint64_t{row.function.value} << 32 | row.file.value, row.line, row.note.value};
  return XXH3_64bits(key, sizeof key);
}

model::FrameId FrameTable::intern(const FrameRow& row) {
  auto [place, added] =
      ids_.try_emplace(row, model::FrameId(static_cast<uint32_t>(frames_.size())));
  if (added) {
    frames_.function.push_back(row.function);
    frames_.file.push_back(row.file);
    frames_.line.push_back(row.line);
    frames_.kind.push_back(frameKindOf(strings_.text(row.file), strings_.text(row.function)));
    frames_.note.push_back(row.note);
  }
  return place->second;
}

model::StackId StackTable::intern(std::span<const model::FrameId> frames) {
  if (frames.empty()) return {};
  // Two different lists with one hash: the second goes to the next free key.
  for (uint64_t key = XXH3_64bits(frames.data(), frames.size_bytes());; ++key) {
    auto [place, added] = ids_.try_emplace(key, static_cast<uint32_t>(stacks_.size()));
    model::StackId id(place->second);
    if (added) {
      stacks_.frame.insert(stacks_.frame.end(), frames.begin(), frames.end());
      stacks_.begin.push_back(stacks_.frame.size());
      return id;
    }
    bool equal = stacks_.depth(id) == frames.size() &&
                 std::memcmp(stacks_.framesOf(id), frames.data(), frames.size_bytes()) == 0;
    if (equal) return id;
  }
}

}  // namespace tidegauge::readers::torch
