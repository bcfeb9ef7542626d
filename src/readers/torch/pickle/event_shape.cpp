#include "readers/torch/pickle/event_shape.h"

#include <bit>
#include <cstring>

#include "readers/torch/values/opcodes.h"

static_assert(std::endian::native == std::endian::little, "words are compared with the input");

namespace tidegauge::readers::torch {
namespace {

using Varies = EventShape::Varies;

std::optional<Varies> variesBy(Word key) {
  switch (key) {
    case Word::kAction:
      return Varies::kAction;
    case Word::kAddr:
      return Varies::kAddress;
    case Word::kSize:
      return Varies::kSize;
    case Word::kTimeUs:
      return Varies::kTime;
    case Word::kFrames:
      return Varies::kStack;
    default:
      return std::nullopt;
  }
}

// The bytes from `begin` to `end` and the values that they memoized, slots `first` to `last`.
bool fill(EventShape::Part& part, const uint8_t* begin, const uint8_t* end, uint64_t first,
          uint64_t last, const Memo& memo) {
  auto bytes = static_cast<size_t>(end - begin);
  // A whole word is left for the incomplete one.
  if (bytes + 8 > EventShape::kMaxFixed || last - first > EventShape::kMaxMemoized) return false;
  std::memcpy(part.fixed.data(), begin, bytes);
  part.fixed_bytes = static_cast<uint8_t>(bytes);
  part.words = static_cast<uint8_t>(bytes / 8);
  part.last_mask = (uint64_t{1} << (8 * (bytes % 8))) - 1;
  for (uint64_t slot = first; slot < last; ++slot) {
    Memo::Entry entry = memo.entryAt(slot);
    bool is_event = Memo::isEvent(entry);
    Tag tag = memo.at(slot).tag();
    if (!is_event && tag != Tag::kString && tag != Tag::kPair) return false;
    part.memoized[part.memoized_count++] = {is_event ? Memo::eventEntry(0) : entry, is_event};
  }
  return true;
}

}  // namespace

std::optional<EventShape> EventShape::learn(const ScannedEvent& event, const EventRow& row,
                                            const Memo& memo) {
  EventShape shape;
  // An event with other fields may be usual for one action, and not for that of the next event.
  bool ordinary = row.action != model::Action::kOom && row.has(Word::kAddr) &&
                  row.has(Word::kSize) && !row.has(Word::kDeviceFree) &&
                  row.forward == ForwardStacks::kNone;
  if (!ordinary || event.memo_after > memo.size()) return std::nullopt;
  shape.common_ = row;
  const uint8_t* begin = event.begin;
  uint64_t slot = event.memo_before;
  auto close = [&](const uint8_t* end, uint64_t last, Varies varies) {
    if (shape.part_count_ == kMaxParts) return false;
    Part& part = shape.parts_[shape.part_count_++];
    part.varies = varies;
    return fill(part, begin, end, slot, last, memo);
  };
  for (size_t i = 0; i < event.fields.size(); ++i) {
    const ScannedField& field = event.fields[i];
    std::optional<Varies> varies = variesBy(field.key);
    if (!varies) continue;
    // Its text would be memoized here, and referred to by the events that follow.
    bool spelled = field.key == Word::kAction && *field.begin != opcode::kBinGet &&
                   *field.begin != opcode::kLongBinGet;
    if (spelled || !close(field.begin, field.memo_before, *varies)) return std::nullopt;
    bool counted = *field.begin == opcode::kLong1 && *varies != Varies::kStack;
    if (counted) shape.parts_[shape.part_count_ - 1].likely_bytes = field.begin[1];
    begin = field.end;
    slot = i + 1 < event.fields.size() ? event.fields[i + 1].memo_before : event.memo_after;
  }
  if (!close(event.end, event.memo_after, Varies::kNothing)) return std::nullopt;
  return shape;
}

}  // namespace tidegauge::readers::torch
