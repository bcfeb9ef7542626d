#include "readers/torch/pickle/pickle.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "readers/torch/pickle/event_runs.h"
#include "readers/torch/pickle/event_scanner.h"
#include "readers/torch/values/opcodes.h"

namespace tidegauge::readers::torch {
namespace {

struct RefusedOpcode {
  uint8_t code;
  const char* name;
};
constexpr RefusedOpcode kExecuting[] = {
    {'c', "GLOBAL"}, {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},  {'b', "BUILD"},
    {'i', "INST"},   {'o', "OBJ"},           {0x81, "NEWOBJ"}, {0x92, "NEWOBJ_EX"},
    {'P', "PERSID"}, {'Q', "BINPERSID"},     {0x82, "EXT1"},   {0x83, "EXT2"},
    {0x84, "EXT4"},
};
constexpr RefusedOpcode kTextual[] = {
    {'I', "INT"},
    {'L', "LONG"},
    {'F', "FLOAT"},
    {'S', "STRING"},
    {'V', "UNICODE"},
    {'d', "DICT"},
    {'l', "LIST"},
    {'p', "PUT"},
    {'g', "GET"},
    {'T', "BINSTRING"},
    {'U', "SHORT_BINSTRING"},
};
constexpr RefusedOpcode kNeverWritten[] = {
    {0x8f, "EMPTY_SET"},  {0x90, "ADDITEMS"},    {0x91, "FROZENSET"},
    {0x96, "BYTEARRAY8"}, {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"},
};

class PickleReader {
 public:
  PickleReader(std::span<const uint8_t> input, Machine& machine, Columns& columns)
      : begin_(input.data()),
        at_(input.data()),
        end_(input.data() + input.size()),
        machine_(machine),
        columns_(columns),
        values_(columns.values()),
        stacks_(columns, machine.memo(), begin_, end_),
        scanner_(columns, machine.memo(), stacks_, begin_, end_),
        runs_(columns, machine.memo(), stacks_, end_) {}

  bool run(const BytesDone& bytes_done, PickleEnd& end);

 private:
  enum class Flow : uint8_t { kGo, kStop, kFail };

  size_t left() const { return static_cast<size_t>(end_ - at_); }
  uint64_t offsetOf(const uint8_t* place) const { return static_cast<uint64_t>(place - begin_); }
  template <class T>
  T peek() const {
    T value;
    std::memcpy(&value, at_, sizeof value);
    return value;
  }
  template <class T>
  bool take(T& value) {
    if (left() < sizeof(T)) return endsInside();
    value = peek<T>();
    at_ += sizeof(T);
    return true;
  }
  bool endsInside() {
    return machine_.failCutOff(offsetOf(end_), "the pickle ends in the middle of a value");
  }
  // Are this many bytes left? No file has more than kMaxBytes: then the length itself is damaged.
  bool hasLeft(uint64_t bytes) {
    constexpr uint64_t kMaxBytes = uint64_t{1} << 48;
    if (bytes <= left()) return true;
    if (bytes <= kMaxBytes) return endsInside();
    return machine_.fail(
        op_offset_,
        fmt::format("the pickle contains a length of {} bytes, more than any file has", bytes),
        "The file is damaged: copy it again.");
  }
  Flow step();
  template <class Length>
  bool pushString();
  template <class Length>
  bool pushBytes();
  template <class Length>
  bool pushLong();
  bool pushFloat();
  bool protocol();
  bool refuse(uint8_t code);
  void pushDict();

  const uint8_t* begin_;
  const uint8_t* at_;
  const uint8_t* end_;
  Machine& machine_;
  Columns& columns_;
  Values& values_;
  StackScanner stacks_;
  EventScanner scanner_;
  EventRuns runs_;
  uint64_t op_offset_ = 0;
  int protocol_ = 0;
};

template <class Length>
bool PickleReader::pushString() {
  Length length = 0;
  if (!take(length)) return false;
  if (!hasLeft(length)) return false;
  std::string_view text(reinterpret_cast<const char*>(at_), length);
  machine_.push(Value::ofString(Tag::kString, wordOf(text), op_offset_));
  at_ += length;
  return true;
}

template <class Length>
bool PickleReader::pushBytes() {
  Length length = 0;
  if (!take(length)) return false;
  if (!hasLeft(length)) return false;
  machine_.push(Value::of(Tag::kBytes, op_offset_));
  at_ += length;
  return true;
}

// Little-endian two's complement of any length.
template <class Length>
bool PickleReader::pushLong() {
  Length length = 0;
  if (!take(length)) return false;
  // LONG4's length is signed.
  if (length > static_cast<Length>(-1) / 2 && sizeof length == 4) {
    return machine_.fail(op_offset_, "the pickle contains a number with a negative length",
                         "The file is damaged: copy it again.");
  }
  if (!hasLeft(length)) return false;
  const uint8_t* digits = at_;
  at_ += length;
  if (length == 0) {
    machine_.push(Value::ofInt(0));
    return true;
  }
  bool negative = digits[length - 1] >= 0x80;
  uint8_t fill = negative ? 0xff : 0;
  uint64_t low = negative ? ~uint64_t{0} : 0;
  std::memcpy(&low, digits, length < 8 ? length : 8);
  bool beyond = false;
  for (size_t i = 8; i < length; ++i) beyond |= digits[i] != fill;
  if (beyond || (negative && low >> 63 == 0)) {
    machine_.push(values_.hugeInteger(negative));
  } else if (negative || low >> 63 == 0) {
    machine_.push(values_.integer(static_cast<int64_t>(low)));
  } else {
    machine_.push(values_.unsignedInteger(low));
  }
  return true;
}

bool PickleReader::pushFloat() {
  uint64_t bits = 0;
  if (!take(bits)) return false;
  machine_.push(values_.floating(std::bit_cast<double>(__builtin_bswap64(bits))));
  return true;
}

bool PickleReader::protocol() {
  uint8_t number = 0;
  if (!take(number)) return false;
  protocol_ = number;
  if (number >= 2 && number <= 5) return true;
  return machine_.fail(op_offset_, fmt::format("pickle protocol {} is not supported", number),
                       "Snapshots use protocols 2 to 5.");
}

bool PickleReader::refuse(uint8_t code) {
  for (const RefusedOpcode& refused : kExecuting) {
    if (refused.code != code) continue;
    return machine_.fail(
        op_offset_,
        fmt::format("Tidegauge refuses this pickle, because {} would execute code", refused.name),
        "A memory snapshot contains only data, so this is another kind of file.");
  }
  for (const RefusedOpcode& refused : kTextual) {
    if (refused.code != code) continue;
    return machine_.fail(op_offset_,
                         fmt::format("{} belongs to pickle protocol 0 or 1", refused.name),
                         "Save the snapshot again with protocol 2 or newer.");
  }
  for (const RefusedOpcode& refused : kNeverWritten) {
    if (refused.code != code) continue;
    return machine_.fail(op_offset_, fmt::format("{} does not occur in snapshots", refused.name));
  }
  return machine_.fail(op_offset_, fmt::format("0x{:02x} is not a pickle opcode", code),
                       "The file is damaged, or it is not a pickle.");
}

// An empty dict, or whole events if it begins one.
void PickleReader::pushDict() {
  if (machine_.mode() == Mode::kCareful) {
    machine_.pushEmptyDict(op_offset_);
    return;
  }
  uint32_t row = 0;
  size_t rows = runs_.scan(at_, row);
  if (rows == 0) {
    EventRow event;
    row = static_cast<uint32_t>(columns_.events());
    if (!scanner_.scanEvent(at_, event)) {
      machine_.pushEmptyDict(op_offset_);
      return;
    }
    rows = 1;
    if (auto scanned = scanner_.lastEvent()) runs_.learn(*scanned, event);
  }
  bool more = at_ < end_ && (*at_ == opcode::kEmptyDict || *at_ == opcode::kAppends);
  machine_.pushRows(row, rows, more);
  columns_.handOn(offsetOf(at_));
}

PickleReader::Flow PickleReader::step() {
  auto flow = [](bool ok) { return ok ? Flow::kGo : Flow::kFail; };
  op_offset_ = offsetOf(at_);
  if (at_ == end_) return flow(endsInside());
  uint8_t code = *at_++;
  switch (code) {
    // Sorted by frequency, for readers of this code.
    case opcode::kBinGet: {
      uint8_t slot = 0;
      return flow(take(slot) && machine_.get(op_offset_, slot));
    }
    case opcode::kLongBinGet: {
      uint32_t slot = 0;
      return flow(take(slot) && machine_.get(op_offset_, slot));
    }
    case opcode::kMemoize:
      return flow(machine_.memoize(op_offset_));
    case opcode::kBinPut: {
      uint8_t slot = 0;
      return flow(take(slot) && machine_.put(op_offset_, slot));
    }
    case opcode::kLongBinPut: {
      uint32_t slot = 0;
      return flow(take(slot) && machine_.put(op_offset_, slot));
    }
    case opcode::kBinInt1: {
      uint8_t number = 0;
      if (!take(number)) return Flow::kFail;
      machine_.push(Value::ofInt(number));
      return Flow::kGo;
    }
    case opcode::kBinInt2: {
      uint16_t number = 0;
      if (!take(number)) return Flow::kFail;
      machine_.push(Value::ofInt(number));
      return Flow::kGo;
    }
    case opcode::kBinInt: {
      int32_t number = 0;
      if (!take(number)) return Flow::kFail;
      machine_.push(Value::ofInt(number));
      return Flow::kGo;
    }
    case opcode::kLong1:
      return flow(pushLong<uint8_t>());
    case opcode::kLong4:
      return flow(pushLong<uint32_t>());
    case opcode::kShortBinUnicode:
      return flow(pushString<uint8_t>());
    case opcode::kBinUnicode:
      return flow(pushString<uint32_t>());
    case opcode::kBinUnicode8:
      return flow(pushString<uint64_t>());
    case opcode::kShortBinBytes:
      return flow(pushBytes<uint8_t>());
    case opcode::kBinBytes:
      return flow(pushBytes<uint32_t>());
    case opcode::kBinBytes8:
      return flow(pushBytes<uint64_t>());
    case opcode::kMark:
      machine_.mark();
      return Flow::kGo;
    case opcode::kEmptyDict:
      pushDict();
      return Flow::kGo;
    case opcode::kEmptyList:
      machine_.pushEmptyList(op_offset_);
      return Flow::kGo;
    case opcode::kSetItems:
      return flow(machine_.setItems(op_offset_));
    case opcode::kSetItem:
      return flow(machine_.setItem(op_offset_));
    case opcode::kAppends:
      return flow(machine_.appends(op_offset_));
    case opcode::kAppend:
      return flow(machine_.append(op_offset_));
    case opcode::kEmptyTuple:
      return flow(machine_.tuple(op_offset_, 0));
    case opcode::kTuple1:
      return flow(machine_.tuple(op_offset_, 1));
    case opcode::kTuple2:
      return flow(machine_.tuple(op_offset_, 2));
    case opcode::kTuple3:
      return flow(machine_.tuple(op_offset_, 3));
    case opcode::kTuple:
      return flow(machine_.tupleFromMark(op_offset_));
    case opcode::kNone:
      machine_.push(Value::of(Tag::kNone, 0));
      return Flow::kGo;
    case opcode::kNewTrue:
      machine_.push(Value::of(Tag::kBool, 1));
      return Flow::kGo;
    case opcode::kNewFalse:
      machine_.push(Value::of(Tag::kBool, 0));
      return Flow::kGo;
    case opcode::kBinFloat:
      return flow(pushFloat());
    case opcode::kPop:
      return flow(machine_.pop(op_offset_));
    case opcode::kPopMark:
      return flow(machine_.popMark(op_offset_));
    case opcode::kDup:
      return flow(machine_.dup(op_offset_));
    case opcode::kFrame: {
      uint64_t length = 0;  // where the pickler flushed its buffer; nothing to do
      return flow(take(length) && hasLeft(length));
    }
    case opcode::kProto:
      return flow(protocol());
    case opcode::kStop:
      return Flow::kStop;
    default:
      return flow(refuse(code));
  }
}

bool PickleReader::run(const BytesDone& bytes_done, PickleEnd& end) {
  constexpr uint64_t kMaxNodes = 0xfffffff0;  // node numbers have 32 bits
  uint64_t next_report = kProgressBytes;
  for (;;) {
    Flow flow = step();
    if (flow == Flow::kFail) return false;
    if (flow == Flow::kStop) break;
    if (op_offset_ < next_report) continue;
    next_report = op_offset_ + kProgressBytes;
    if (bytes_done) bytes_done(op_offset_);
    if (values_.tree().size() + kProgressBytes > kMaxNodes) {
      return machine_.fail(op_offset_, "the pickle contains more objects than any snapshot");
    }
  }
  if (!machine_.hasTop()) {
    return machine_.fail(op_offset_, "the pickle ends without a value", "The file is damaged.");
  }
  end = {machine_.top(), op_offset_ + 1, protocol_};
  return true;
}

}  // namespace

bool looksLikePickle(std::span<const uint8_t> input) {
  constexpr uint8_t kAnyProtocol = 15;  // higher ones may follow: they are refused by number
  if (input.empty() || input[0] != opcode::kProto) return false;
  return input.size() == 1 || input[1] <= kAnyProtocol;
}

bool readPickle(std::span<const uint8_t> input, Machine& machine, Columns& columns,
                const BytesDone& bytes_done, PickleEnd& end) {
  return PickleReader(input, machine, columns).run(bytes_done, end);
}

}  // namespace tidegauge::readers::torch
