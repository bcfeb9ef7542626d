#include "readers/torch/pickle/event_runs.h"

#include <algorithm>

#include "readers/torch/pickle/scan.h"

namespace tidegauge::readers::torch {

EventRuns::EventRuns(Columns& columns, Memo& memo, StackScanner& stacks, const uint8_t* end)
    : columns_(columns), memo_(memo), stacks_(stacks), end_(end) {}

void EventRuns::forgetIfReplaced() {
  if (memo_.replaced() == replaced_) return;
  shapes_.clear();
  last_ = replace_ = 0;
  replaced_ = memo_.replaced();
}

void EventRuns::learn(const ScannedEvent& event, const EventRow& row) {
  if (credit_ < kLearnCost) {
    ++credit_;
    return;
  }
  forgetIfReplaced();
  std::optional<EventShape> shape = EventShape::learn(event, row, memo_);
  credit_ -= kLearnCost;
  if (!shape) return;
  auto learnt = std::make_unique<EventShape>(*shape);
  if (shapes_.size() < kMaxShapes) {
    shapes_.push_back({std::move(learnt), shapes_.size()});
    last_ = shapes_.size() - 1;
    return;
  }
  shapes_[replace_].shape = std::move(learnt);
  last_ = replace_;
  replace_ = (replace_ + 1) % kMaxShapes;
}

size_t EventRuns::scan(const uint8_t*& at, uint32_t& first_row) {
  forgetIfReplaced();
  if (shapes_.empty() || !memo_.dense()) return 0;
  if (columns_.events() + RowBlock::kRows > Memo::maxRows()) return 0;
  first_row_ = first_row = static_cast<uint32_t>(columns_.events());
  const uint8_t* start = at;
  Memo::Mark mark = memo_.mark();
  size_t rows = scanBlock(at, most_rows_);
  size_t good = lookUpStacks();
  if (good < rows) {
    // One of them refers to something else. Those before it are read again, without it.
    at = start;
    memo_.dropTo(mark);
    rows = scanBlock(at, good);
    lookUpStacks();
    most_rows_ = 1;
  } else {
    most_rows_ = std::min(2 * most_rows_, RowBlock::kRows);
  }
  if (rows > 0) columns_.addEvents(block_);
  if (credit_ < kMaxCredit) credit_ += static_cast<int>(rows);
  return rows;
}

size_t EventRuns::scanBlock(const uint8_t*& at, size_t most) {
  constexpr uint64_t kMostSlots = EventShape::kMaxMemoized * 8 + 1;  // of one event
  block_.rows = reference_count_ = 0;
  most = std::min<size_t>(most, columns_.roomForEvents());
  memo_.makeRoom(kMostSlots * (most + 1));
  const uint8_t* next = at;
  while (block_.rows < most && scanKnown(next)) {
    ++block_.rows;
    at = next;
    if (next == end_ || *next != opcode::kEmptyDict) break;
    ++next;
  }
  return block_.rows;
}

bool EventRuns::scanKnown(const uint8_t*& at) {
  size_t likely = shapes_[last_].next;
  if (scanEvent(*shapes_[likely].shape, at)) {
    last_ = likely;
    return true;
  }
  for (size_t i = 0; i < shapes_.size(); ++i) {
    if (i == likely || !scanEvent(*shapes_[i].shape, at)) continue;
    shapes_[last_].next = i;
    last_ = i;
    return true;
  }
  return false;
}

bool EventRuns::scanEvent(const EventShape& shape, const uint8_t*& place) {
  constexpr ptrdiff_t kMostBytes = EventShape::kMaxFixed + kLookAhead;
  const uint8_t* at = place;
  size_t row = block_.rows;
  Memo::Mark mark = memo_.mark();
  uint64_t first_slot = mark.size;
  auto refuse = [&] {
    memo_.dropTo(mark);
    return false;
  };
  block_.common[row] = &shape.common();
  block_.time_us[row] = model::kNoTime;
  block_.stack[row] = {};
  bool refers = false;
  for (const EventShape::Part& part : shape.parts()) {
    if (end_ - at < kMostBytes || !part.matches(at)) return refuse();
    for (size_t i = 0; i < part.memoized_count; ++i) {
      const EventShape::Memoized& memoized = part.memoized[i];
      Memo::Entry plus = memoized.plus_row ? first_row_ + static_cast<uint32_t>(row) : 0;
      memo_.pushEntry(memoized.entry + plus);
    }
    at += part.fixed_bytes;
    int64_t number = 0;
    uint64_t slot = 0;
    switch (part.varies) {
      case EventShape::Varies::kAction: {
        if (!takeSlot(at, slot) || slot >= first_slot) return refuse();
        Value value = memo_.at(slot);
        if (!value.isString() || !isAction(value.word())) return refuse();
        block_.action[row] = actionOf(value.word());
        if (block_.action[row] == model::Action::kOom) return refuse();
        break;
      }
      case EventShape::Varies::kAddress:
        if (!takeLikelyInteger(at, part.likely_bytes, number)) return refuse();
        block_.address[row] = static_cast<uint64_t>(number);
        break;
      case EventShape::Varies::kSize:
        if (!takeInteger(at, number) || !Columns::isSize(number)) return refuse();
        block_.size_bytes[row] = static_cast<uint64_t>(number);
        break;
      case EventShape::Varies::kTime:
        if (!takeLikelyInteger(at, part.likely_bytes, number) || !Columns::isTime(number))
          return refuse();
        block_.time_us[row] = number;
        break;
      case EventShape::Varies::kStack:
        if (takeSlot(at, slot)) {
          if (slot >= first_slot) return refuse();
          references_[reference_count_] = {static_cast<uint32_t>(row), static_cast<uint32_t>(slot)};
          refers = true;
        } else if (*at != opcode::kEmptyList || !stacks_.scan(at, first_slot, block_.stack[row])) {
          return refuse();
        }
        break;
      case EventShape::Varies::kNothing:
        break;
    }
  }
  reference_count_ += refers;
  place = at;
  return true;
}

size_t EventRuns::lookUpStacks() {
  for (size_t i = 0; i < reference_count_; ++i) {
    auto [row, slot] = references_[i];
    Memo::Entry entry = memo_.entryAt(slot);
    if (Memo::isStack(entry)) {
      block_.stack[row] = model::StackId(Memo::indexOf(entry));
      continue;
    }
    Value value = memo_.at(slot);
    if (value.tag() != Tag::kEmptyList) return row;
    value.bits |= Value::kSharedBit;
    memo_.update(slot, value);
  }
  return block_.rows;
}

}  // namespace tidegauge::readers::torch
