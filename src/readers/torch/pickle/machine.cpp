#include "readers/torch/pickle/machine.h"

#include <algorithm>

namespace tidegauge::readers::torch {
namespace {

// Python writes longer lists in batches of this size, so a full batch may not be the last.
constexpr size_t kBatchSize = 1000;

}  // namespace

Machine::Machine(Columns& columns, Mode mode) : columns_(columns), mode_(mode) {
  stack_.reserve(4096);
}

bool Machine::fail(uint64_t offset, std::string what, std::string hint) {
  failed_ = true;
  error_ = {base::ErrorKind::kUnreadable, std::move(what), offset, std::move(hint)};
  return false;
}

bool Machine::failCutOff(uint64_t end, std::string what) {
  cut_off_ = true;
  return fail(end, std::move(what), "The file is truncated, so copy it again.");
}

bool Machine::needCareful() {
  needs_careful_ = true;
  return false;
}

bool Machine::takeMark(uint64_t offset, size_t& begin) {
  if (marks_.empty()) return fail(offset, "the pickle closes something that it never opened");
  begin = marks_.back();
  marks_.pop_back();
  return true;
}

Items Machine::itemsFrom(size_t begin) const {
  return {&(stack_.data() + begin)->value, stack_.size() - begin, sizeof(Entry)};
}

// ---- containers ---------------------------------------------------------------------------------

bool Machine::hasRuns(Items items) {
  for (size_t i = 0; i < items.count; ++i) {
    if (items[i].moreRows() > 0) return true;
  }
  return false;
}

bool Machine::topHasRuns(size_t count) const {
  return hasRuns(itemsFrom(stack_.size() - std::min(count, stack_.size() - floor())));
}

void Machine::pushEmptyDict(uint64_t offset) {
  Value value = mode_ == Mode::kQuick ? Value::of(Tag::kEmptyDict, offset & Value::kOffsetMask)
                                      : Value::of(Tag::kDict, columns_.values().tree().addNode());
  stack_.push_back({value, kNoSlot, true});
}

void Machine::pushEmptyList(uint64_t offset) {
  // A list beside the one that holds the events is the next device's.
  if (event_depth_ != kNoDepth && stack_.size() <= event_depth_) {
    columns_.endList(offset);
    event_depth_ = kNoDepth;
  }
  Value value = mode_ == Mode::kQuick ? Value::of(Tag::kEmptyList, offset & Value::kOffsetMask)
                                      : Value::of(Tag::kList, columns_.values().tree().addNode());
  stack_.push_back({value, kNoSlot, true});
}

bool Machine::become(Entry& entry, Value value) {
  if (entry.slot != kNoSlot) {
    Value remembered = memo_.at(entry.slot);
    // Fetched from the memo while it was empty: its other references must see it filled.
    if (remembered.bits == (entry.value.bits | Value::kSharedBit)) return needCareful();
    if (remembered == entry.value) memo_.update(entry.slot, value);
  }
  entry.value = value;
  return true;
}

bool Machine::appendToNode(Entry& target, Items items) {
  Tree& tree = columns_.values().tree();
  Value node = target.value;
  if (mode_ == Mode::kQuick && (!target.owner || columns_.isFrozen(node.index()))) {
    return needCareful();
  }
  if (node.tag() == Tag::kDict) {
    tree.appendPairs(node.index(), items);
  } else {
    tree.appendItems(node.index(), items);
  }
  return true;
}

bool Machine::fillDict(uint64_t offset, Entry& dict, Items items) {
  if (dict.value.moreRows() > 0 || hasRuns(items)) return needCareful();
  if (items.count % 2 != 0) return fail(offset, "a dict has a key without a value");
  columns_.oddities().setOffset(offset);
  switch (dict.value.tag()) {
    case Tag::kEmptyDict:
      break;
    case Tag::kDict:
      return appendToNode(dict, items);
    case Tag::kEvent:
    case Tag::kFrame:
      return needCareful();
    default:
      return fail(offset, "the pickle sets items of a value that is not a dict");
  }
  if (!dict.owner) return needCareful();
  if (items.count == 0) return true;
  bool event = false;
  for (size_t i = 0; i < items.count; i += 2) event |= items[i].word() == Word::kAction;
  if (event) {
    if (columns_.events() >= Value::kPayloadMask >> 24) {
      return fail(offset, "the file contains more than 4,294,967,295 events");
    }
    noteEvent(static_cast<size_t>(&dict - stack_.data()));
    if (!become(dict, Value::of(Tag::kEvent, columns_.addEvent(items)))) return false;
    columns_.handOn(offset);
    return true;
  }
  if (auto frame = columns_.addFrame(items)) {
    return become(dict, Value::of(Tag::kFrame, frame->value));
  }
  Tree& tree = columns_.values().tree();
  if (!become(dict, Value::of(Tag::kDict, tree.addNode()))) return false;
  tree.appendPairs(dict.value.index(), items);
  return true;
}

bool Machine::allFrames(Items items) {
  frames_.clear();
  for (size_t i = 0; i < items.count; ++i) {
    if (items[i].tag() != Tag::kFrame) return false;
    frames_.push_back(model::FrameId(items[i].index()));
  }
  return true;
}

bool Machine::fillList(uint64_t offset, Entry& list, Items items) {
  switch (list.value.tag()) {
    case Tag::kEmptyList:
      break;
    case Tag::kList:
      return appendToNode(list, items);
    case Tag::kStack:
    case Tag::kForward:
      return needCareful();
    default:
      return fail(offset, "the pickle appends items to a value that is not a list");
  }
  if (!list.owner) return needCareful();
  if (items.count == 0) return true;
  if (items[0].tag() == Tag::kFrame && items.count != kBatchSize && allFrames(items)) {
    return become(list, Value::of(Tag::kStack, columns_.addStack(frames_).value));
  }
  if (items[0].isString() && items.count != kBatchSize && columns_.isForwardText(items[0])) {
    return become(list, Value::of(Tag::kForward, columns_.addForward(items)));
  }
  Tree& tree = columns_.values().tree();
  if (!become(list, Value::of(Tag::kList, tree.addNode()))) return false;
  tree.appendItems(list.value.index(), items);
  return true;
}

bool Machine::setItem(uint64_t offset) {
  if (topHasRuns(3)) return needCareful();
  if (stack_.size() < floor() + 3) return fail(offset, "too few values on the stack");
  // Items one at a time never make a row, since the dict may get more.
  Items items = itemsFrom(stack_.size() - 2);
  Entry& dict = stack_[stack_.size() - 3];
  bool ok = true;
  if (dict.value.tag() == Tag::kEmptyDict && dict.owner) {
    ok = become(dict, Value::of(Tag::kDict, columns_.values().tree().addNode()));
  }
  ok = ok && fillDict(offset, dict, items);
  if (ok) stack_.resize(stack_.size() - 2);
  return ok;
}

bool Machine::setItems(uint64_t offset) {
  size_t begin = 0;
  if (!takeMark(offset, begin)) return false;
  if (begin <= floor()) return fail(offset, "too few values on the stack");
  if (!fillDict(offset, stack_[begin - 1], itemsFrom(begin))) return false;
  stack_.resize(begin);
  return true;
}

bool Machine::append(uint64_t offset) {
  if (topHasRuns(2)) return needCareful();
  if (stack_.size() < floor() + 2) return fail(offset, "too few values on the stack");
  if (!fillList(offset, stack_[stack_.size() - 2], itemsFrom(stack_.size() - 1))) return false;
  stack_.pop_back();
  return true;
}

bool Machine::appends(uint64_t offset) {
  size_t begin = 0;
  if (!takeMark(offset, begin)) return false;
  if (begin <= floor()) return fail(offset, "too few values on the stack");
  if (!fillList(offset, stack_[begin - 1], itemsFrom(begin))) return false;
  stack_.resize(begin);
  return true;
}

// The two integers from `begin` on as a pair; absent if they are something else.
Value Machine::pairAt(size_t begin) {
  auto first = columns_.values().addressOf(stack_[begin].value);
  auto second = columns_.values().addressOf(stack_[begin + 1].value);
  return first && second ? columns_.values().pair(*first, *second) : Value();
}

bool Machine::appendsOrPair(uint64_t offset) {
  bool two = !marks_.empty() && marks_.back() > 0 && stack_.size() - marks_.back() == 2;
  Value pair = two ? pairAt(marks_.back()) : Value();
  if (pair.tag() == Tag::kNothing) return appends(offset);
  stack_.resize(marks_.back() - 1);
  marks_.pop_back();
  push(pair);
  return true;
}

bool Machine::tuple(uint64_t offset, size_t count) {
  if (topHasRuns(count)) return needCareful();
  if (stack_.size() < floor() + count) return fail(offset, "too few values on the stack");
  size_t begin = stack_.size() - count;
  Values& values = columns_.values();
  Value value = count == 2 ? pairAt(begin) : Value();
  if (value.tag() == Tag::kNothing) {
    value = Value::of(Tag::kTuple, values.tree().addNode());
    values.tree().appendItems(value.index(), itemsFrom(begin));
  }
  stack_.resize(begin);
  push(value);
  return true;
}

bool Machine::tupleFromMark(uint64_t offset) {
  size_t begin = 0;
  return takeMark(offset, begin) && tuple(offset, stack_.size() - begin);
}

// ---- the stack and the memo ---------------------------------------------------------------------

bool Machine::pop(uint64_t offset) {
  // In Python, POP also removes a mark.
  if (!marks_.empty() && marks_.back() == stack_.size()) {
    marks_.pop_back();
    return true;
  }
  if (!hasTop()) return fail(offset, "too few values on the stack");
  if (top().moreRows() > 0) return needCareful();
  stack_.pop_back();
  return true;
}

bool Machine::popMark(uint64_t offset) {
  size_t begin = 0;
  if (!takeMark(offset, begin)) return false;
  stack_.resize(begin);
  return true;
}

bool Machine::dup(uint64_t offset) {
  if (!hasTop()) return fail(offset, "too few values on the stack");
  if (top().tag() <= Tag::kEmptyList || top().moreRows() > 0) return needCareful();
  push(top());
  return true;
}

bool Machine::put(uint64_t offset, uint64_t slot) {
  if (!hasTop()) return fail(offset, "the pickle stores a value that does not exist");
  // A pickler numbers its slots 0, 1, 2 …, and each takes at least two bytes.
  if (slot > offset || slot >= kNoSlot) {
    return fail(offset, "the pickle uses a memo slot far beyond those before it");
  }
  memo_.ensure(slot);
  Entry& entry = stack_.back();
  if (entry.value.moreRows() > 0) return needCareful();
  bool unfilled = entry.value.tag() <= Tag::kEmptyList;
  Tag replaced = memo_.at(slot).tag();
  bool replaces_unfilled = replaced != Tag::kNothing && replaced <= Tag::kEmptyList;
  if (replaces_unfilled || (unfilled && (entry.slot != kNoSlot || !entry.owner)))
    return needCareful();
  memo_.set(slot, entry.value);
  if (unfilled) entry.slot = static_cast<uint32_t>(slot);
  return true;
}

bool Machine::getUnusual(uint64_t offset, uint64_t slot) {
  Value value = slot < memo_.size() ? memo_.at(slot) : Value();
  if (value.tag() == Tag::kNothing) {
    return fail(offset, "the pickle reads a value that it never stored");
  }
  value.bits |= Value::kSharedBit;
  memo_.update(slot, value);
  push(value);
  return true;
}

}  // namespace tidegauge::readers::torch
