#include "readers/torch/pickle/stack_scanner.h"

#include <algorithm>

#include "readers/torch/pickle/scan.h"

namespace tidegauge::readers::torch {

namespace {

constexpr size_t kBytesOfLong = 5;  // LONG_BINGET and the number of the slot

// Are these two LONG_BINGET, one after the other?
bool areTwoLong(const uint8_t* at) {
  constexpr uint64_t kOpcodes = 0x0000ff00000000ff;
  constexpr uint64_t kTwo = uint64_t{opcode::kLongBinGet} << 40 | opcode::kLongBinGet;
  return (loadAt<uint64_t>(at) & kOpcodes) == kTwo;
}

}  // namespace

// Reads references to frames until something else follows; at least kLookAhead bytes are left then.
// Near the end of the input, the machine continues.
bool StackScanner::scanFrames(const uint8_t*& place, uint64_t first_slot, size_t& count) {
  if (end_ - place <= kLookAhead) return false;
  // This number of references certainly fits, so the loops need not check for the end of the input.
  size_t most =
      std::min<size_t>(kMaxFrames, static_cast<size_t>(end_ - place - kLookAhead) / kBytesOfLong);
  const uint8_t* at = place;
  std::span<const Memo::Entry> entries = memo_.all();
  model::FrameId* frames = frames_.data();
  Memo::Entry others = 0;  // has bits of a kind if a value was not a frame
  size_t found = 0;
  auto take = [&](uint64_t slot) {
    others |= Memo::unlikeFrame(entries[slot]);
    frames[found++] = model::FrameId(Memo::indexOf(entries[slot]));
  };
  while (found < most) {
    // C++ frames are mostly long runs of the longer kind of reference: four need one check.
    if (found + 4 <= most && areTwoLong(at) && areTwoLong(at + 2 * kBytesOfLong)) {
      auto slotAt = [&](size_t i) { return loadAt<uint32_t>(at + i * kBytesOfLong + 1); };
      if (std::max({slotAt(0), slotAt(1), slotAt(2), slotAt(3)}) >= first_slot) return false;
      take(slotAt(0));
      take(slotAt(1));
      take(slotAt(2));
      take(slotAt(3));
      at += 4 * kBytesOfLong;
      continue;
    }
    // Two branches, not one computed length: the processor predicts runs of either kind well, and
    // need not wait for this reference's bytes before it looks at the next.
    uint64_t slot = 0;
    if (*at == opcode::kLongBinGet) {
      slot = loadAt<uint32_t>(at + 1);
      at += kBytesOfLong;
    } else if (*at == opcode::kBinGet) {
      slot = at[1];
      at += 2;
    } else {
      break;
    }
    if (slot >= first_slot) return false;
    take(slot);
  }
  place = at;
  count = found;
  return found < most && Memo::isLikeFrame(others);
}

bool StackScanner::scanLikely(const uint8_t*& at, model::StackId& stack) {
  if (memo_.replaced() != replaced_) {  // then equal bytes may be other frames
    seen_.clear();
    replaced_ = memo_.replaced();
  }
  if (last_.index() >= seen_.size()) return false;
  model::StackId likely = seen_[last_.index()].next;
  if (likely.index() >= seen_.size()) return false;
  Seen& seen = seen_[likely.index()];
  auto left = static_cast<size_t>(end_ - at);
  bool fits = seen.bytes > 0 && left > seen.bytes + size_t{kLookAhead};
  if (!fits || std::memcmp(at, begin_ + seen.offset, seen.bytes) != 0) return false;
  seen.offset = static_cast<uint64_t>(at - begin_);  // the next comparison is near the last one
  at += seen.bytes;
  stack = last_ = likely;
  return true;
}

void StackScanner::remember(model::StackId stack, const uint8_t* begin, const uint8_t* end) {
  if (stack.index() >= seen_.size()) seen_.resize(stack.index() + stack.index() / 2 + 1024);
  if (last_.index() < seen_.size()) seen_[last_.index()].next = stack;
  seen_[stack.index()].offset = static_cast<uint64_t>(begin - begin_);
  seen_[stack.index()].bytes = static_cast<uint32_t>(end - begin);  // of at most kMaxFrames
  last_ = stack;
}

bool StackScanner::scan(const uint8_t*& at, uint64_t first_slot, model::StackId& stack) {
  Value list = Value::of(Tag::kEmptyList, static_cast<uint64_t>(at - begin_));
  ++at;
  // Frames are references, so the list has the same slot if it is memoized when it is complete, as
  // torch's own pickler does.
  const uint8_t* memo_opcode = at;
  bool memoized = skipMemo(at);
  size_t count = 0;
  if (*at == opcode::kMark) {
    if (scanLikely(at, stack)) {
      return takeMemo(memoized ? memo_opcode : at, memo_, Value::of(Tag::kStack, stack.value));
    }
    const uint8_t* mark = at++;
    if (!scanFrames(at, first_slot, count) || *at != opcode::kAppends) return false;
    ++at;
    if (count > 0) {
      stack = columns_.addStack(std::span(frames_).first(count));
      remember(stack, mark, at);
      return takeMemo(memoized ? memo_opcode : at, memo_, Value::of(Tag::kStack, stack.value));
    }
  } else {
    // One frame and APPEND; else this is the next key of an event whose list is empty.
    const uint8_t* next = at;
    uint64_t reference = 0;
    if (takeSlot(next, reference) && *next == opcode::kAppend) {
      if (reference >= first_slot || !Memo::isFrame(memo_.entryAt(reference))) return false;
      frames_[count++] = model::FrameId(Memo::indexOf(memo_.entryAt(reference)));
      at = next + 1;
    }
  }
  if (count > 0) {
    stack = columns_.addStack(std::span(frames_).first(count));
    list = Value::of(Tag::kStack, stack.value);
  }
  return takeMemo(memoized ? memo_opcode : at, memo_, list);
}

}  // namespace tidegauge::readers::torch
