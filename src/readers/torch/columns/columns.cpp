#include "readers/torch/columns/columns.h"

#include <algorithm>
#include <new>

#include "base/utf8.h"

namespace tidegauge::readers::torch {
namespace {

using model::IssueKind;

constexpr size_t kMaxNoteBytes = 8192;  // of each part of a frame's note
constexpr size_t kMaxStreams = model::StreamId::kNone;
constexpr size_t kMaxPools = model::PoolId::kNone;
constexpr size_t kMaxUnknownActions = 255 - static_cast<size_t>(model::Action::kFirstUnknown);

// Is the event's own context that of an allocation? (A free's is not.)
bool startsLife(model::Action action) {
  return action == model::Action::kAlloc || action == model::Action::kSegmentAlloc ||
         action == model::Action::kSegmentMap || action == model::Action::kOom;
}

template <class Column, class T>
void beginColumn(Column& column, size_t rows, T absent, size_t capacity) {
  column.reserve(capacity);
  column.assign(rows, absent);
}

// Appends to a column that exists only once an event has a value for it.
template <class T>
void appendOptional(model::UniformColumn<T>& column, size_t row, T value, T absent, size_t capacity,
                    size_t count = 1) {
  if (column.empty()) {
    if (value == absent) return;
    beginColumn(column, row, absent, capacity);
  }
  column.append(value, count);
}

template <class T, size_t Size>
void append(std::vector<T>& column, const std::array<T, Size>& values, size_t count) {
  column.insert(column.end(), values.begin(), values.begin() + count);
}

template <class T>
void fillUp(std::vector<T>& column, size_t rows, T absent) {
  if (!column.empty()) column.resize(rows, absent);
}

template <class T>
void fillUp(model::UniformColumn<T>& column, size_t rows, T absent) {
  if (!column.empty()) column.append(absent, rows - column.size());
}

template <class T>
void copyRows(const std::vector<T>& column, uint64_t begin, uint64_t end, std::vector<T>& rows) {
  auto first = column.begin() + static_cast<ptrdiff_t>(begin);
  rows.assign(first, first + static_cast<ptrdiff_t>(end - begin));
}

template <class T>
void copyRows(const model::UniformColumn<T>& column, uint64_t begin, uint64_t end,
              std::vector<T>& rows) {
  if (column.empty()) return;
  rows.reserve(end - begin);
  // The last rows may have no value yet.
  uint64_t known = std::min<uint64_t>(end, column.size());
  for (uint64_t row = begin; row < known; ++row) rows.push_back(column[row]);
  rows.resize(end - begin);
}

}  // namespace

Columns::Columns(model::Trace& trace, Values& values, Oddities& oddities)
    : trace_(trace),
      values_(values),
      oddities_(oddities),
      frames_(trace.frames, trace.strings),
      stacks_(trace.stacks),
      forward_(trace, values, frames_, stacks_) {
  trace_.streams.push_back({0});
  trace_.pools.push_back({0, 0});
  streams_[0] = model::StreamId(0);
  pools_[values_.pair(0, 0).index()] = model::PoolId(0);
}

void Columns::reserve(uint64_t input_bytes) {
  constexpr uint64_t kBytesPerEvent = 48;   // of the smallest event in a pickle
  constexpr uint64_t kBytesPerFrameId = 8;  // most lists are repeated; a reference takes 2 or 5
  model::Events& events = trace_.events;
  try {
    size_t rows = input_bytes / kBytesPerEvent + 1;
    events.action.reserve(rows);
    events.address.reserve(rows);
    events.size_bytes.reserve(rows);
    events.stack.reserve(rows);
    events.stream.reserve(rows);
    trace_.stacks.reserveFrames(input_bytes / kBytesPerFrameId + 1);
  } catch (const std::bad_alloc&) {
    // If this fails, the columns grow as they are filled.
  }
}

// ---- events -------------------------------------------------------------------------------------

uint32_t Columns::addEvent(const EventRow& row) {
  model::Events& events = trace_.events;
  size_t index = events.action.size();
  size_t capacity = events.action.capacity();
  events.action.push_back(row.action);
  bool oom = row.action == model::Action::kOom;
  events.address.push_back(oom ? row.device_free_bytes : row.address);
  // A block of unknown size counts as 0; an unknown request or checksum stays unknown.
  bool may_be_unknown = oom || row.action == model::Action::kSnapshot;
  bool known = row.size_bytes != model::kUnknownBytes;
  events.size_bytes.push_back(known || may_be_unknown ? row.size_bytes : 0);
  model::StackId stack = row.stack;
  if (row.forward != ForwardStacks::kNone) {
    stack = withForward(stack, row.forward);
  } else if (!stack.valid() && row.compile_context.valid() && startsLife(row.action)) {
    stack = stackOfRegion(row.compile_context);
  }
  events.stack.push_back(stack);
  events.stream.push_back(row.stream);
  if (events.time_us.empty() && row.time_us != model::kNoTime)
    beginColumn(events.time_us, index, model::kNoTime, capacity);
  if (row.time_us != model::kNoTime || !events.time_us.empty())
    events.time_us.push_back(row.time_us);
  appendOptional(events.pool, index, row.pool, model::PoolId(), capacity);
  appendOptional(events.compile_context, index, row.compile_context, model::StringId(), capacity);
  appendOptional(events.metadata, index, row.metadata, model::StringId(), capacity);
  appendOptional(events.category, index, row.category, model::StringId(), capacity);
  appendOptional(events.internal_metadata, index, row.internal, model::StringId(), capacity);
  return static_cast<uint32_t>(index);
}

void Columns::addEvents(const RowBlock& block) {
  model::Events& events = trace_.events;
  size_t index = events.size(), capacity = events.action.capacity();
  pages_.upTo(index + block.rows, events.action, events.address, events.size_bytes, events.stack,
              events.time_us);
  append(events.action, block.action, block.rows);
  append(events.address, block.address, block.rows);
  append(events.size_bytes, block.size_bytes, block.rows);
  append(events.stack, block.stack, block.rows);
  for (size_t row = 0; row < block.rows; ++row) {
    const EventRow& common = *block.common[row];
    if (block.stack[row].valid() || !common.compile_context.valid()) continue;
    if (startsLife(block.action[row]))
      events.stack[index + row] = stackOfRegion(common.compile_context);
  }
  bool timed = std::any_of(block.time_us.begin(), block.time_us.begin() + block.rows,
                           [](int64_t time_us) { return time_us != model::kNoTime; });
  if (timed || !events.time_us.empty()) {
    if (events.time_us.empty()) beginColumn(events.time_us, index, model::kNoTime, capacity);
    append(events.time_us, block.time_us, block.rows);
  }
  for (size_t from = 0, to = 0; from < block.rows; from = to) {
    const EventRow& common = *block.common[from];
    for (to = from + 1; to < block.rows && block.common[to] == &common;) ++to;
    size_t row = index + from, rows = to - from;
    events.stream.append(common.stream, rows);
    appendOptional(events.pool, row, common.pool, model::PoolId(), capacity, rows);
    appendOptional(events.compile_context, row, common.compile_context, model::StringId(), capacity,
                   rows);
    appendOptional(events.metadata, row, common.metadata, model::StringId(), capacity, rows);
    appendOptional(events.category, row, common.category, model::StringId(), capacity, rows);
    appendOptional(events.internal_metadata, row, common.internal, model::StringId(), capacity,
                   rows);
  }
}

void Columns::handOnRows(uint64_t bytes_read) {
  const model::Events& events = trace_.events;
  uint64_t begin = handed_on_, end = events.size();
  EventChunk chunk;
  chunk.first_row = begin;
  chunk.list = list_;
  chunk.bytes_read = bytes_read;
  copyRows(events.action, begin, end, chunk.action);
  copyRows(events.address, begin, end, chunk.address);
  copyRows(events.size_bytes, begin, end, chunk.size_bytes);
  copyRows(events.stack, begin, end, chunk.stack);
  copyRows(events.stream, begin, end, chunk.stream);
  copyRows(events.pool, begin, end, chunk.pool);
  copyRows(events.category, begin, end, chunk.category);
  handed_on_ = end;
  take_(chunk);
}

void Columns::endList(uint64_t bytes_read) {
  if (!take_) return;
  if (events() > handed_on_) handOnRows(bytes_read);
  // Whoever takes chunks keeps something for each list, and a hostile file has many small ones.
  constexpr uint32_t kMaxLists = 64;
  if (++list_ < kMaxLists) return;
  take_ = nullptr;
  rows_moved_ = true;
}

void Columns::setFields(EventRow& row, Items items) {
  for (size_t i = 0; i + 1 < items.count; i += 2) setField(row, items[i], items[i + 1]);
}

uint32_t Columns::addEvent(Items items) {
  EventRow row;
  setFields(row, items);
  if (!row.isUsual()) reportUnusual(row);
  return addEvent(row);
}

uint32_t Columns::addEventFromNode(uint32_t node) {
  EventRow row;
  values_.tree().forEachRun(node, [&](Items items) { setFields(row, items); });
  if (!row.has(Word::kAction)) row.action = actionOf(values_.text(""));
  if (!row.isUsual()) reportUnusual(row);
  return addEvent(row);
}

void Columns::reportUnusual(const EventRow& row) {
  if (!row.has(Word::kAction)) oddities_.missingKey(Place::kEvent, "action");
  if (row.action > model::Action::kOom) return;
  bool oom = row.action == model::Action::kOom;
  if (!row.has(Word::kSize)) oddities_.missingKey(Place::kEvent, "size");
  if (!row.has(Word::kAddr) && !oom) oddities_.missingKey(Place::kEvent, "addr");
  if (!row.has(Word::kDeviceFree) && oom) oddities_.missingKey(Place::kEvent, "device_free");
  if (row.has(Word::kAddr) && oom) oddities_.badValue(Place::kEvent, "addr");
  if (row.has(Word::kDeviceFree) && !oom) oddities_.badValue(Place::kEvent, "device_free");
}

void Columns::finishEvents() {
  model::Events& events = trace_.events;
  size_t rows = events.size();
  fillUp(events.time_us, rows, model::kNoTime);
  fillUp(events.pool, rows, model::PoolId());
  fillUp(events.compile_context, rows, model::StringId());
  fillUp(events.metadata, rows, model::StringId());
  fillUp(events.category, rows, model::StringId());
  fillUp(events.internal_metadata, rows, model::StringId());
}

void Columns::setField(EventRow& row, Value key, Value value) {
  if (!row.meet(key.word())) oddities_.duplicateKey(Place::kEvent, key);
  switch (key.word()) {
    case Word::kAction:
      row.action = actionOf(value);
      break;
    case Word::kDeviceFree: {
      auto bytes = values_.signedOf(value);
      bool known = bytes && isSize(*bytes);
      if (!known) oddities_.badValue(Place::kEvent, "device_free");
      row.device_free_bytes = known ? static_cast<uint64_t>(*bytes) : model::kUnknownBytes;
      break;
    }
    case Word::kAddr: {
      auto address = values_.addressOf(value);
      if (!address) oddities_.badValue(Place::kEvent, "addr");
      row.address = address.value_or(0);
      break;
    }
    case Word::kSize:
      row.size_bytes = sizeOf(value);
      break;
    case Word::kStream:
      row.stream = streamOf(value, Place::kEvent);
      break;
    case Word::kTimeUs: {
      auto time_us = values_.signedOf(value);
      bool known = time_us && isTime(*time_us);
      if (!known) oddities_.badValue(Place::kEvent, "time_us");
      row.time_us = known ? *time_us : model::kNoTime;
      break;
    }
    case Word::kFrames:
      row.stack = stackOf(value, Place::kEvent);
      break;
    case Word::kPoolId:
      row.pool = poolOf(value, Place::kEvent);
      break;
    case Word::kCompileContext:
      row.compile_context = cachedText(last_context_, value);
      break;
    case Word::kUserMetadata:
      row.metadata = cachedText(last_metadata_, value);
      break;
    case Word::kCategory:
      row.category = cachedText(last_category_, value);
      break;
    case Word::kInternalMetadata:
      row.internal = cachedText(last_internal_, value);
      break;
    case Word::kForwardFrames:
      row.forward = forwardOf(value, Place::kEvent);
      break;
    default:
      oddities_.unknownKey(Place::kEvent, key);
      break;
  }
}

model::Action Columns::actionOf(Value value) {
  if (isAction(value.word())) return torch::actionOf(value.word());
  model::StringId name = describedText(value);
  auto& unknown = trace_.unknown_actions;
  auto found = std::find(unknown.begin(), unknown.end(), name);
  if (found == unknown.end()) {
    if (unknown.size() < kMaxUnknownActions) {
      found = unknown.insert(unknown.end(), name);
    } else {
      oddities_.badValue(Place::kEvent, "action");
      found = unknown.end() - 1;
    }
  }
  auto first = static_cast<uint8_t>(model::Action::kFirstUnknown);
  return static_cast<model::Action>(first + (found - unknown.begin()));
}

uint64_t Columns::sizeOf(Value value) {
  auto size_bytes = values_.signedOf(value);
  if (size_bytes && isSize(*size_bytes)) return static_cast<uint64_t>(*size_bytes);
  oddities_.badValue(Place::kEvent, "size");
  return model::kUnknownBytes;
}

model::StringId Columns::cachedText(LastText& last, Value value) {
  if (value == last.value) return last.id;
  std::string_view text = values_.textOf(value);
  // Python writes "N/A" and "" anew with every event: equal texts at other offsets. Only short ones
  // are compared, since comparing long ones repeatedly could take quadratic time.
  constexpr size_t kMaxCompared = 64;
  bool both_in_input = value.tag() == Tag::kString && last.value.tag() == Tag::kString;
  if (both_in_input && text.size() <= kMaxCompared && text == last.text) return last.id;
  last = {value, text, describedText(value)};
  return last.id;
}

model::StringId Columns::describedText(Value value) {
  if (value.tag() == Tag::kDict || value.isSequence()) frozen_.insert(value.index());
  return values_.internDescribed(value);
}

// ---- frames and stacks --------------------------------------------------------------------------

FrameRow Columns::frameRow(Items items) {
  FrameRow row;
  KeySet keys;
  NoteParts note;
  auto partOf = [&](Value value) {
    return value.tag() == Tag::kNone ? model::StringId() : describedText(value);
  };
  for (size_t i = 0; i + 1 < items.count; i += 2) {
    Value value = items[i + 1];
    if (!keys.meet(items[i].word())) oddities_.duplicateKey(Place::kFrame, items[i]);
    switch (items[i].word()) {
      case Word::kFilename:
      case Word::kName: {
        bool file = items[i].word() == Word::kFilename;
        if (!value.isString()) oddities_.badValue(Place::kFrame, file ? "filename" : "name");
        (file ? row.file : row.function) = describedText(value);
        break;
      }
      case Word::kLine: {
        auto line = values_.addressOf(value);  // torch's own pickler writes 2^64 − 1 as −1
        if (!line) oddities_.badValue(Place::kFrame, "line");
        row.line = line.value_or(0);
        break;
      }
      case Word::kFxNodeOp:
        note[0] = partOf(value);
        break;
      case Word::kFxNodeName:
        note[1] = partOf(value);
        break;
      case Word::kFxNodeTarget:
        note[2] = partOf(value);
        break;
      case Word::kFxOriginalTrace:
        note[3] = partOf(value);
        break;
      default:
        oddities_.unknownKey(Place::kFrame, items[i]);
        break;
    }
  }
  row.note = noteOf(note);
  if (!row.file.valid()) row.file = values_.strings().intern("");
  if (!row.function.valid()) row.function = values_.strings().intern("");
  return row;
}

// The parts as one text: "call_function add add
// <original code>". Small frames can combine a few long parts repeatedly, so all notes together may
// not be much longer than the input.
model::StringId Columns::noteOf(const NoteParts& parts) {
  if (std::ranges::none_of(parts, &model::StringId::valid)) return {};
  auto [known, added] = notes_.try_emplace(
      {parts[0].value, parts[1].value, parts[2].value, parts[3].value}, model::StringId());
  if (!added) return known->second;
  if (!values_.hasRoomForText()) {
    values_.reportCutText();
    return {};
  }
  std::string note;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].valid()) continue;
    if (!note.empty()) note += i == 3 ? "\n" : " ";
    std::string_view part = values_.strings().text(parts[i]);
    if (part.size() > kMaxNoteBytes) values_.reportCutText();
    note += part.substr(0, kMaxNoteBytes);
  }
  if (!note.empty() && values_.takeText(note.size())) {
    known->second = values_.strings().intern(base::repairedUtf8(note));
  }
  return known->second;
}

std::optional<model::FrameId> Columns::addFrame(Items items) {
  bool has_file = false, has_name = false;
  for (size_t i = 0; i + 1 < items.count; i += 2) {
    has_file |= items[i].word() == Word::kFilename;
    has_name |= items[i].word() == Word::kName;
  }
  if (!has_file || !has_name) return std::nullopt;
  return frames_.intern(frameRow(items));
}

model::FrameId Columns::frameOf(Value value) {
  if (value.tag() == Tag::kFrame) return model::FrameId(value.index());
  Values::Shape shape = values_.shapeOf(value);
  if (shape != Values::Shape::kFrame && shape != Values::Shape::kOther) return {};
  if (value.tag() == Tag::kEmptyDict) return frames_.intern(frameRow({}));
  auto [place, added] = frame_of_node_.try_emplace(value.index());
  if (added) {
    frozen_.insert(value.index());
    std::vector<Value> items;
    values_.tree().forEachItem(value.index(), [&](Value item) { items.push_back(item); });
    place->second = frames_.intern(frameRow({items.data(), items.size()}));
  }
  return place->second;
}

model::StackId Columns::stackOf(Value value, Place place) {
  if (value.tag() == Tag::kStack) return model::StackId(value.index());
  if (value.tag() == Tag::kEmptyList || value.tag() == Tag::kNone) return {};
  if (!value.isSequence()) {
    oddities_.badValue(place, "frames");
    return {};
  }
  auto [known, added] = stack_of_node_.try_emplace(value.index());
  if (!added) return known->second;
  frozen_.insert(value.index());
  std::vector<model::FrameId> frames;
  values_.tree().forEachItem(value.index(), [&](Value item) {
    model::FrameId frame = frameOf(item);
    if (frame.valid()) {
      frames.push_back(frame);
    } else {
      oddities_.badValue(place, "frames");
    }
  });
  model::StackId stack = addStack(frames);
  stack_of_node_[value.index()] = stack;
  return stack;
}

uint32_t Columns::addForward(Items texts) {
  std::vector<Value> items;
  for (size_t i = 0; i < texts.count; ++i) items.push_back(texts[i]);
  return forward_.intern(items);
}

uint32_t Columns::forwardOf(Value value, Place place) {
  if (value.tag() == Tag::kForward) return value.index();
  if (value.tag() == Tag::kEmptyList || value.tag() == Tag::kNone) return ForwardStacks::kNone;
  if (!value.isSequence()) {
    oddities_.badValue(place, "forward_frames");
    return ForwardStacks::kNone;
  }
  auto [known, added] = forward_of_node_.try_emplace(value.index(), ForwardStacks::kNone);
  if (!added) return known->second;
  frozen_.insert(value.index());
  std::vector<Value> texts;
  values_.tree().forEachItem(value.index(), [&](Value item) { texts.push_back(item); });
  uint32_t list = forward_.intern(texts);
  if (list == ForwardStacks::kNone) oddities_.badValue(place, "forward_frames");
  forward_of_node_[value.index()] = list;
  return list;
}

// "N/A" and "" say that there is none.
model::StackId Columns::stackOfRegion(model::StringId region) {
  if (region == last_region_) return last_region_stack_;
  last_region_ = region;
  auto [known, added] = stack_of_region_.try_emplace(region.value);
  last_region_stack_ = known->second;
  if (!added) return last_region_stack_;
  std::string_view text = values_.strings().text(region);
  if (text.empty() || text == "N/A") return {};
  FrameRow row;
  row.function = region;
  row.file = values_.strings().intern("");
  model::FrameId frame = frames_.intern(row);
  model::StackId stack = addStack({&frame, 1});
  stack_of_region_[region.value] = last_region_stack_ = stack;
  return stack;
}

// ---- streams and pools --------------------------------------------------------------------------

model::StreamId Columns::streamOf(Value value, Place place) {
  auto raw = values_.addressOf(value);
  if (!raw) {
    oddities_.badValue(place, "stream");
    return model::StreamId(0);
  }
  return streamOf(*raw);
}

model::StreamId Columns::otherStreamOf(uint64_t raw) {
  auto [known, added] = streams_.try_emplace(raw, model::StreamId(0));
  if (added) {
    if (trace_.streams.size() < kMaxStreams) {
      known->second = model::StreamId(static_cast<uint16_t>(trace_.streams.size()));
      trace_.streams.push_back({raw});
    } else {
      oddities_.other(IssueKind::kBadValue,
                      "more than 65,535 streams: the rest counts as stream 0");
    }
  }
  last_stream_raw_ = raw;
  last_stream_ = known->second;
  return last_stream_;
}

Value Columns::pairOf(uint64_t first, uint64_t second) {
  bool same = first == last_pair_[0] && second == last_pair_[1];
  if (same && last_pair_value_.tag() == Tag::kPair) return last_pair_value_;
  last_pair_[0] = first;
  last_pair_[1] = second;
  last_pair_value_ = values_.pair(first, second);
  return last_pair_value_;
}

model::PoolId Columns::poolOf(Value value, Place place) {
  if (value.tag() == Tag::kPair && value == last_pool_value_) return last_pool_;
  if (value.isSequence() && values_.tree().itemCount(value.index()) == 2) {
    // JSON has no tuples, and numbers beyond 63 bits are not a pair yet.
    std::vector<Value> parts;
    values_.tree().forEachItem(value.index(), [&](Value part) { parts.push_back(part); });
    auto first = values_.addressOf(parts[0]), second = values_.addressOf(parts[1]);
    if (first && second) value = values_.pair(*first, *second);
  }
  if (value.tag() != Tag::kPair) {
    oddities_.badValue(place, "pool_id");
    return {};
  }
  auto [known, added] = pools_.try_emplace(value.index());
  if (added) {
    if (trace_.pools.size() < kMaxPools) {
      known->second = model::PoolId(static_cast<uint16_t>(trace_.pools.size()));
      auto [first, second] = values_.pairOf(value);
      trace_.pools.push_back({first, second});
    } else {
      oddities_.other(IssueKind::kBadValue, "more than 65,535 pools: the rest counts as unknown");
    }
  }
  last_pool_value_ = value;
  last_pool_ = known->second;
  return last_pool_;
}

}  // namespace tidegauge::readers::torch
