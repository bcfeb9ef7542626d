#include "readers/torch/pickle/event_scanner.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "readers/torch/pickle/opcodes.h"

namespace tidegauge::readers::torch {
namespace {

template <class T>
T load(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

bool EventScanner::scanEvent(const uint8_t*& at, uint32_t& row_number) {
  if (!memo_.dense() || !columns_.hasRoomForEvent()) return false;
  at_ = at;
  first_slot_ = memo_.size();
  memo_.makeRoom(2 * kMaxKeys + 1);
  auto number = static_cast<uint32_t>(columns_.events());
  EventRow row;
  if (end_ - at_ < kLookAhead || !scanMemo(Value::of(Tag::kEvent, number)) ||
      *at_++ != opcode::kMark || !scanFields(row) || !row.isUsual()) {
    memo_.dropFrom(first_slot_);
    return false;
  }
  columns_.addEvent(row);
  row_number = number;
  at = at_;
  return true;
}

bool EventScanner::scanFields(EventRow& row) {
  uint32_t keys = 0;
  for (int count = 0; count < kMaxKeys; ++count) {
    if (end_ - at_ < kLookAhead) return false;
    if (*at_ == opcode::kSetItems) {
      ++at_;
      row.keys = keys;
      return std::popcount(keys) == count;  // each key once
    }
    Value key;
    if (!scanReference(key) || !scanField(row, key.word())) return false;
    keys |= EventRow::bit(key.word());  // scanField() accepts only keys of events, which have a bit
  }
  return false;
}

// MEMOIZE, or BINPUT of the next free slot, if present. (Inline: once or more per field. The
// compiler leaves it as a call where a folder is compiled as one.)
[[gnu::always_inline]] inline bool EventScanner::scanMemo(Value value) {
  if (*at_ == opcode::kMemoize) {
    at_ += 1;
  } else if (*at_ == opcode::kBinPut) {
    if (at_[1] != memo_.size()) return false;
    at_ += 2;
  } else if (*at_ == opcode::kLongBinPut) {
    if (load<uint32_t>(at_ + 1) != memo_.size()) return false;
    at_ += 5;
  } else {
    return true;
  }
  memo_.push(value);
  return true;
}

inline bool EventScanner::scanReference(Value& value) {
  static_assert((opcode::kBinGet ^ opcode::kLongBinGet) == 2);
  if ((*at_ & ~2) != opcode::kBinGet) return false;
  bool wide = *at_ == opcode::kLongBinGet;
  uint64_t slot = load<uint32_t>(at_ + 1) & (wide ? 0xffffffffu : 0xffu);
  if (slot >= first_slot_) return false;
  at_ += wide ? 5 : 2;
  Value& remembered = memo_[slot];
  if (remembered.tag() == Tag::kEmptyList) remembered.bits |= Value::kSharedBit;
  value = remembered;
  return true;
}

[[gnu::always_inline]] inline bool EventScanner::scanInteger(int64_t& number) {
  switch (*at_) {
    case opcode::kBinInt1:
      number = at_[1];
      at_ += 2;
      return true;
    case opcode::kBinInt2:
      number = load<uint16_t>(at_ + 1);
      at_ += 3;
      return true;
    case opcode::kBinInt:
      number = load<int32_t>(at_ + 1);
      at_ += 5;
      return true;
    case opcode::kLong1: {
      uint8_t length = at_[1];
      if (length == 0 || length > 8) return false;
      int unused_bits = 64 - 8 * length;
      number = static_cast<int64_t>(load<uint64_t>(at_ + 2) << unused_bits) >> unused_bits;
      at_ += 2 + length;
      return true;
    }
    default:
      return false;
  }
}

inline bool EventScanner::scanString(Value& value) {
  const uint8_t* start = at_;
  uint64_t length = 0;
  if (*at_ == opcode::kShortBinUnicode) {
    length = at_[1];
    at_ += 2;
  } else if (*at_ == opcode::kBinUnicode) {
    length = load<uint32_t>(at_ + 1);
    at_ += 5;
  } else {
    return false;
  }
  if (static_cast<uint64_t>(end_ - at_) < length + kLookAhead) return false;
  std::string_view text(reinterpret_cast<const char*>(at_), length);
  value = Value::ofString(Tag::kString, wordOf(text), static_cast<uint64_t>(start - begin_));
  at_ += length;
  return scanMemo(value);
}

inline bool EventScanner::scanTextOrReference(Value& value) {
  return (scanReference(value) || scanString(value)) && value.isString();
}

// Reads references to frames until something else follows; at least kLookAhead bytes are left then.
// Near the end of the input, the machine continues.
bool EventScanner::scanFrames(size_t& count) {
  if (end_ - at_ <= kLookAhead) return false;
  // This number of references certainly fits, so the loop need not check for the end of the input.
  size_t most = std::min<size_t>(kMaxFrames, static_cast<size_t>(end_ - at_ - kLookAhead) / 5);
  const uint8_t* at = at_;
  unsigned others = 0;  // not 0 if a value was not a frame
  size_t found = 0;
  for (; found < most; ++found) {
    // Two branches, not one computed length: the processor predicts runs of either kind well, and
    // need not wait for this reference's bytes before it looks at the next.
    uint64_t slot = 0;
    if (*at == opcode::kLongBinGet) {
      slot = load<uint32_t>(at + 1);
      at += 5;
    } else if (*at == opcode::kBinGet) {
      slot = at[1];
      at += 2;
    } else {
      break;
    }
    if (slot >= first_slot_) return false;
    Value value = memo_[slot];
    others |= static_cast<unsigned>(value.tag()) ^ static_cast<unsigned>(Tag::kFrame);
    frames_[found] = model::FrameId(value.index());
  }
  at_ = at;
  count = found;
  return found < most && others == 0;
}

// A reference to a known list, or a list of known frames.
bool EventScanner::scanStack(EventRow& row) {
  Value value;
  if (scanReference(value)) {
    if (value.tag() == Tag::kStack) row.stack = model::StackId(value.index());
    return value.tag() == Tag::kStack || value.tag() == Tag::kEmptyList;
  }
  if (*at_ != opcode::kEmptyList) return false;
  Value list = Value::of(Tag::kEmptyList, static_cast<uint64_t>(at_ - begin_));
  ++at_;
  uint64_t slot = memo_.size();
  if (!scanMemo(list)) return false;
  size_t count = 0;
  if (*at_ == opcode::kMark) {
    ++at_;
    if (!scanFrames(count) || *at_ != opcode::kAppends) return false;
    ++at_;
  } else if (const uint8_t* next = at_; scanReference(value)) {
    // One frame and APPEND; else this is the next key of an event whose list is empty.
    if (value.tag() == Tag::kFrame && *at_ == opcode::kAppend) {
      frames_[count++] = model::FrameId(value.index());
      ++at_;
    } else {
      at_ = next;
    }
  }
  if (count > 0) {
    row.stack = columns_.addStack(std::span(frames_).first(count));
    list = Value::of(Tag::kStack, row.stack.value);
    if (memo_.size() > slot) memo_[slot] = list;
  }
  // torch's own pickler memoizes a list when it is complete.
  return memo_.size() > slot || scanMemo(list);
}

// The items of a list of texts, after EMPTY_LIST, into texts_.
bool EventScanner::scanTexts() {
  texts_.clear();
  bool many = *at_ == opcode::kMark;
  if (many) ++at_;
  Value value;
  for (;;) {
    if (end_ - at_ < kLookAhead || texts_.size() == kMaxFrames) return false;
    if (many && *at_ == opcode::kAppends) break;
    memo_.makeRoom(2 * kMaxKeys + 2);  // for this text and the rest of the event
    const uint8_t* next = at_;
    if (!scanTextOrReference(value)) return false;
    texts_.push_back(value);
    if (many) continue;
    if (*at_ == opcode::kAppend) break;
    at_ = next;  // the next key of an event whose list is empty
    texts_.clear();
    return *at_ == opcode::kBinGet || *at_ == opcode::kLongBinGet;
  }
  ++at_;
  return true;
}

// A reference to a known list of the forward pass's frames, or such a list.
bool EventScanner::scanForward(EventRow& row) {
  Value value;
  if (scanReference(value)) {
    if (value.tag() == Tag::kForward) row.forward = value.index();
    return value.tag() == Tag::kForward || value.tag() == Tag::kEmptyList;
  }
  if (*at_ != opcode::kEmptyList) return false;
  Value list = Value::of(Tag::kEmptyList, static_cast<uint64_t>(at_ - begin_));
  ++at_;
  uint64_t slot = memo_.size();
  if (!scanMemo(list)) return false;
  bool remembered = memo_.size() > slot;
  if (!scanTexts()) return false;
  if (!texts_.empty()) {
    if (!columns_.isForwardText(texts_.front())) return false;
    row.forward = columns_.addForward(texts_);
    list = Value::of(Tag::kForward, row.forward);
    if (remembered) memo_[slot] = list;
  }
  // torch's own pickler memoizes a list when it is complete.
  return remembered || scanMemo(list);
}

bool EventScanner::scanField(EventRow& row, Word word) {
  int64_t number = 0;
  Value value;
  switch (word) {
    case Word::kAction:
      if (!scanTextOrReference(value) || !isAction(value.word())) return false;
      row.action = actionOf(value.word());
      return true;
    case Word::kDeviceFree:
      if (!scanInteger(number) || !Columns::isSize(number)) return false;
      row.device_free_bytes = static_cast<uint64_t>(number);
      return true;
    case Word::kAddr:
      if (!scanInteger(number)) return false;
      row.address = static_cast<uint64_t>(number);
      return true;
    case Word::kSize:
      if (!scanInteger(number) || !Columns::isSize(number)) return false;
      row.size_bytes = static_cast<uint64_t>(number);
      return true;
    case Word::kStream:
      if (!scanInteger(number)) return false;
      row.stream = columns_.streamOf(static_cast<uint64_t>(number));
      return true;
    case Word::kTimeUs:
      return scanInteger(row.time_us) && Columns::isTime(row.time_us);
    case Word::kCompileContext:
      if (!scanTextOrReference(value)) return false;
      row.compile_context = columns_.compileContextOf(value);
      return true;
    case Word::kUserMetadata:
      if (!scanTextOrReference(value)) return false;
      row.metadata = columns_.metadataOf(value);
      return true;
    case Word::kPoolId: {
      int64_t second = 0;
      if (!scanInteger(number) || !scanInteger(second) || *at_++ != opcode::kTuple2) return false;
      value = columns_.pairOf(static_cast<uint64_t>(number), static_cast<uint64_t>(second));
      row.pool = columns_.poolOf(value, Place::kEvent);
      return scanMemo(value);
    }
    case Word::kFrames:
      return scanStack(row);
    case Word::kForwardFrames:
      return scanForward(row);
    default:
      return false;
  }
}

}  // namespace tidegauge::readers::torch
