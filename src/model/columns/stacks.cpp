#include "model/columns/stacks.h"

#include <algorithm>
#include <limits>

namespace tidegauge::model {
namespace {

constexpr uint32_t kWidestNarrow = std::numeric_limits<uint16_t>::max();

}  // namespace

void Stacks::widen() {
  wide_.reserve(std::max(narrow_.capacity(), narrow_.size() + 1));
  wide_.assign(narrow_.begin(), narrow_.end());
  narrow_ = {};
}

StackId Stacks::add(std::span<const FrameId> frames) {
  StackId id(static_cast<uint32_t>(size()));
  if (!isWide() && !addNarrow(frames)) widen();
  if (isWide()) {
    for (FrameId frame : frames) wide_.push_back(frame.value);
    begin_.push_back(wide_.size());
  } else {
    begin_.push_back(narrow_.size());
  }
  return id;
}

// Adds nothing if a frame does not fit. Without a branch per frame.
bool Stacks::addNarrow(std::span<const FrameId> frames) {
  size_t begin = narrow_.size();
  pages_.upTo(begin + frames.size(), narrow_);
  narrow_.resize(begin + frames.size());
  uint16_t* to = narrow_.data() + begin;
  uint32_t bits = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    bits |= frames[i].value;
    to[i] = static_cast<uint16_t>(frames[i].value);
  }
  if (bits <= kWidestNarrow) return true;
  narrow_.resize(begin);
  return false;
}

void Stacks::setFrame(StackId id, size_t place, FrameId frame) {
  if (!isWide() && frame.value > kWidestNarrow) widen();
  uint64_t at = begin_[id.index()] + place;
  if (isWide()) {
    wide_[at] = frame.value;
  } else {
    narrow_[at] = static_cast<uint16_t>(frame.value);
  }
}

bool Stacks::equals(StackId id, std::span<const FrameId> frames) const {
  if (depth(id) != frames.size()) return false;
  uint64_t begin = begin_[id.index()];
  uint32_t differences = 0;  // without a branch per frame
  if (isWide()) {
    for (size_t i = 0; i < frames.size(); ++i) differences |= wide_[begin + i] ^ frames[i].value;
  } else {
    for (size_t i = 0; i < frames.size(); ++i) differences |= narrow_[begin + i] ^ frames[i].value;
  }
  return differences == 0;
}

}  // namespace tidegauge::model
