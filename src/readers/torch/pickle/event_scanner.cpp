#include "readers/torch/pickle/event_scanner.h"

#include <bit>

#include "readers/torch/pickle/scan.h"

namespace tidegauge::readers::torch {

bool EventScanner::scanEvent(const uint8_t*& at, EventRow& row) {
  if (!memo_.dense() || columns_.roomForEvents() == 0) return false;
  at_ = at;
  mark_ = memo_.mark();
  first_slot_ = mark_.size;
  numbered_ = false;
  memo_.makeRoom(2 * kMaxKeys + 1);
  auto number = static_cast<uint32_t>(columns_.events());
  if (end_ - at_ < kLookAhead || !scanMemo(Value::of(Tag::kEvent, number)) ||
      *at_++ != opcode::kMark || !scanFields(row) || !row.isUsual()) {
    memo_.dropTo(mark_);
    return false;
  }
  columns_.addEvent(row);
  begin_of_event_ = at;
  at = at_;
  return true;
}

std::optional<ScannedEvent> EventScanner::lastEvent() const {
  if (numbered_) return std::nullopt;
  return ScannedEvent{begin_of_event_, at_, first_slot_, memo_.size(), fields_};
}

bool EventScanner::scanFields(EventRow& row) {
  uint32_t keys = 0;
  fields_.clear();
  for (int count = 0; count < kMaxKeys; ++count) {
    if (end_ - at_ < kLookAhead) return false;
    if (*at_ == opcode::kSetItems) {
      ++at_;
      row.keys = keys;
      return std::popcount(keys) == count;  // each key once
    }
    Value key;
    if (!scanReference(key)) return false;
    const uint8_t* begin = at_;
    uint64_t memo_before = memo_.size();
    if (!scanField(row, key.word())) return false;
    fields_.push_back({key.word(), begin, at_, memo_before});
    keys |= EventRow::bit(key.word());  // scanField() accepts only keys of events, which have a bit
  }
  return false;
}

// (Inline: once or more per field. The compiler leaves it as a call where a folder is compiled as
// one.)
[[gnu::always_inline]] inline bool EventScanner::scanMemo(Value value) {
  numbered_ |= *at_ == opcode::kBinPut || *at_ == opcode::kLongBinPut;
  return takeMemo(at_, memo_, value);
}

inline bool EventScanner::scanReference(Value& value) {
  const uint8_t* next = at_;
  uint64_t slot = 0;
  if (!takeSlot(next, slot) || slot >= first_slot_) return false;
  at_ = next;
  value = memo_.at(slot);
  if (value.tag() == Tag::kEmptyList) {
    value.bits |= Value::kSharedBit;
    memo_.update(slot, value);
  }
  return true;
}

inline bool EventScanner::scanString(Value& value) {
  const uint8_t* start = at_;
  uint64_t length = 0;
  if (*at_ == opcode::kShortBinUnicode) {
    length = at_[1];
    at_ += 2;
  } else if (*at_ == opcode::kBinUnicode) {
    length = loadAt<uint32_t>(at_ + 1);
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

// A reference to a known list, or a list of known frames.
bool EventScanner::scanStack(EventRow& row) {
  Value value;
  if (scanReference(value)) {
    if (value.tag() == Tag::kStack) row.stack = model::StackId(value.index());
    return value.tag() == Tag::kStack || value.tag() == Tag::kEmptyList;
  }
  return *at_ == opcode::kEmptyList && stacks_.scan(at_, first_slot_, row.stack);
}

// The items of a list of texts, after EMPTY_LIST, into texts_.
bool EventScanner::scanTexts() {
  texts_.clear();
  bool many = *at_ == opcode::kMark;
  if (many) ++at_;
  Value value;
  for (;;) {
    if (end_ - at_ < kLookAhead || texts_.size() == StackScanner::kMaxFrames) return false;
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
    if (remembered) memo_.update(slot, list);
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
      if (!takeInteger(at_, number) || !Columns::isSize(number)) return false;
      row.device_free_bytes = static_cast<uint64_t>(number);
      return true;
    case Word::kAddr:
      if (!takeInteger(at_, number)) return false;
      row.address = static_cast<uint64_t>(number);
      return true;
    case Word::kSize:
      if (!takeInteger(at_, number) || !Columns::isSize(number)) return false;
      row.size_bytes = static_cast<uint64_t>(number);
      return true;
    case Word::kStream:
      if (!takeInteger(at_, number)) return false;
      row.stream = columns_.streamOf(static_cast<uint64_t>(number));
      return true;
    case Word::kTimeUs:
      return takeInteger(at_, row.time_us) && Columns::isTime(row.time_us);
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
      if (!takeInteger(at_, number) || !takeInteger(at_, second) || *at_++ != opcode::kTuple2)
        return false;
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
