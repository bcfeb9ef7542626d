#include "readers/torch/values/values.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "base/utf8.h"
#include "readers/torch/values/opcodes.h"

namespace tidegauge::readers::torch {
namespace {

constexpr size_t kLongText = 64;           // texts of this length or more are remembered by offset
constexpr size_t kMaxDescribed = 64;       // items of a container that describe() writes
constexpr size_t kMaxDescribedText = 256;  // bytes of a nested text that describe() writes

}  // namespace

std::string_view storedText(std::span<const uint8_t> input, uint64_t offset) {
  const uint8_t* at = input.data() + offset;
  uint64_t length = 0;
  uint64_t header = 0;
  switch (*at) {
    case opcode::kShortBinUnicode:
      length = at[1];
      header = 2;
      break;
    case opcode::kBinUnicode: {
      uint32_t length32 = 0;
      std::memcpy(&length32, at + 1, sizeof length32);
      length = length32;
      header = 5;
      break;
    }
    case opcode::kBinUnicode8:
      std::memcpy(&length, at + 1, sizeof length);
      header = 9;
      break;
    default: {  // JSON
      const void* quote = std::memchr(at + 1, '"', input.size() - offset - 1);
      length = static_cast<uint64_t>(static_cast<const uint8_t*>(quote) - at - 1);
      header = 1;
      break;
    }
  }
  return {reinterpret_cast<const char*>(at + header), length};
}

Value Values::wide(Wide kind, uint64_t bits) {
  wide_.push_back({bits, kind});
  return Value::of(Tag::kWide, wide_.size() - 1);
}

Value Values::integer(int64_t number) {
  if (Value::fitsInt(number)) return Value::ofInt(number);
  return wide(Wide::kSigned, static_cast<uint64_t>(number));
}

Value Values::unsignedInteger(uint64_t number) {
  if (number < (uint64_t{1} << 55)) return Value::ofInt(static_cast<int64_t>(number));
  return wide(Wide::kUnsigned, number);
}

Value Values::hugeInteger(bool negative) { return wide(negative ? Wide::kBelow : Wide::kAbove, 0); }

Value Values::floating(double number) {
  Value value = wide(Wide::kFloat, std::bit_cast<uint64_t>(number));
  return Value::of(Tag::kFloat, value.payload());
}

Value Values::text(std::string_view text) {
  return Value::ofString(Tag::kText, wordOf(text), internText(text).value);
}

Value Values::pair(uint64_t first, uint64_t second) {
  auto [place, added] =
      pair_ids_.try_emplace({first, second}, static_cast<uint32_t>(pairs_.size()));
  if (added) pairs_.emplace_back(first, second);
  return Value::of(Tag::kPair, place->second);
}

std::string_view Values::textOf(Value value) const {
  if (value.tag() == Tag::kString) return storedText(input_, value.offset());
  if (value.tag() == Tag::kText) return strings_.text(base::StringId(value.index()));
  return {};
}

base::StringId Values::internText(std::string_view text) {
  if (base::isUtf8(text)) return strings_.intern(text);
  ++repaired_texts_;
  return strings_.intern(base::repairedUtf8(text));
}

base::StringId Values::intern(Value value) {
  if (value.tag() == Tag::kText) return base::StringId(value.index());
  if (value.tag() != Tag::kString) return {};
  std::string_view text = storedText(input_, value.offset());
  if (text.size() < kLongText) return internText(text);
  auto [place, added] = long_texts_.try_emplace(value.bits);
  if (added) place->second = internText(text);
  return place->second;
}

base::StringId Values::internDescribed(Value value) {
  if (value.isString()) return intern(value);
  if (value.tag() != Tag::kDict && !value.isSequence()) return internText(describeFlat(value));
  auto [place, added] = long_texts_.try_emplace(value.bits);
  if (added) place->second = internText(describe(value));
  return place->second;
}

std::optional<int64_t> Values::signedOf(Value value) const {
  if (value.tag() == Tag::kInt) return value.integer();
  if (value.tag() != Tag::kWide) return std::nullopt;
  const WideNumber& number = wide_[value.index()];
  if (number.kind == Wide::kSigned) return static_cast<int64_t>(number.bits);
  if (number.kind == Wide::kUnsigned && number.bits >> 63 == 0) {
    return static_cast<int64_t>(number.bits);
  }
  return std::nullopt;
}

std::optional<uint64_t> Values::unsignedOf(Value value) const {
  if (value.tag() == Tag::kInt && value.integer() >= 0) return value.payload();
  if (value.tag() != Tag::kWide) return std::nullopt;
  const WideNumber& number = wide_[value.index()];
  if (number.kind == Wide::kUnsigned) return number.bits;
  if (number.kind == Wide::kSigned && number.bits >> 63 == 0) return number.bits;
  return std::nullopt;
}

std::optional<uint64_t> Values::addressOf(Value value) const {
  if (auto number = unsignedOf(value)) return number;
  if (auto number = signedOf(value)) return static_cast<uint64_t>(*number);
  return std::nullopt;
}

std::optional<double> Values::floatOf(Value value) const {
  if (value.tag() == Tag::kFloat) return std::bit_cast<double>(wide_[value.index()].bits);
  if (auto number = signedOf(value)) return static_cast<double>(*number);
  return std::nullopt;
}

std::optional<bool> Values::boolOf(Value value) const {
  if (value.tag() == Tag::kBool || value.tag() == Tag::kInt) return value.payload() != 0;
  return std::nullopt;
}

Values::Shape Values::shapeOf(Value value) const {
  switch (value.tag()) {
    case Tag::kEvent:
      return Shape::kEvent;
    case Tag::kFrame:
      return Shape::kFrame;
    case Tag::kEmptyDict:
      return Shape::kOther;
    case Tag::kDict:
      break;
    default:
      return Shape::kNoDict;
  }
  bool action = false, file = false, name = false;
  tree_.forEachPair(value.index(), [&](Value key, Value) {
    action |= key.word() == Word::kAction;
    file |= key.word() == Word::kFilename;
    name |= key.word() == Word::kName;
  });
  if (action) return Shape::kEvent;
  return file && name ? Shape::kFrame : Shape::kOther;
}

bool Values::isStack(Value list) const {
  if (list.tag() == Tag::kStack) return true;
  bool frames = list.tag() == Tag::kList && tree_.itemCount(list.index()) > 0;
  if (!frames) return false;
  tree_.forEachItem(list.index(), [&](Value item) { frames &= shapeOf(item) == Shape::kFrame; });
  return frames;
}

bool Values::takeText(size_t bytes) {
  bool fits = bytes <= text_bytes_left_;
  text_bytes_left_ = fits ? text_bytes_left_ - bytes : 0;
  if (!fits) ++cut_texts_;
  return fits;
}

std::string Values::cutText() {
  ++cut_texts_;
  return "…";
}

std::string Values::describeFlat(Value value) {
  switch (value.tag()) {
    case Tag::kNone:
      return "None";
    case Tag::kBool:
      return value.payload() != 0 ? "True" : "False";
    case Tag::kFloat:
      return fmt::format("{}", *floatOf(value));
    case Tag::kInt:
      return fmt::format("{}", value.integer());
    case Tag::kWide: {
      if (auto number = unsignedOf(value)) return fmt::format("{}", *number);
      if (auto number = signedOf(value)) return fmt::format("{}", *number);
      return "a number beyond 64 bits";
    }
    case Tag::kString:
    case Tag::kText: {
      std::string_view text = textOf(value);
      if (text.size() > kMaxDescribedText) ++cut_texts_;
      return base::repairedUtf8(text.substr(0, kMaxDescribedText));
    }
    case Tag::kPair: {
      auto [first, second] = pairOf(value);
      return fmt::format("({}, {})", first, second);
    }
    case Tag::kEmptyDict:
      return "{}";
    case Tag::kEmptyList:
      return "[]";
    case Tag::kBytes:
      return "bytes";
    case Tag::kDict:
      return tree_.itemCount(value.index()) == 0 ? "{}" : cutText();
    case Tag::kList:
      return tree_.itemCount(value.index()) == 0 ? "[]" : cutText();
    case Tag::kTuple:
      return tree_.itemCount(value.index()) == 0 ? "()" : cutText();
    default:
      return cutText();
  }
}

std::string Values::describe(Value value) {
  if (!hasRoomForText()) return cutText();
  std::string text = describeAll(value);
  return takeText(text.size()) ? text : "…";
}

std::string Values::describeAll(Value value) {
  if (value.isString()) return base::repairedUtf8(textOf(value));
  bool container = (value.tag() == Tag::kDict && shapeOf(value) == Shape::kOther) ||
                   (value.isSequence() && !isStack(value));
  if (!container) return describeFlat(value);
  std::string text;
  size_t written = 0;
  auto separate = [&] {
    if (written > 0 && written <= kMaxDescribed) text += ", ";
    if (written == kMaxDescribed) text += cutText();
    return written++ < kMaxDescribed;
  };
  if (value.tag() == Tag::kDict) {
    tree_.forEachPair(value.index(), [&](Value key, Value item) {
      if (!separate()) return;
      text += describeFlat(key);
      text += ": ";
      text += describeFlat(item);
    });
    return fmt::format("{{{}}}", text);
  }
  tree_.forEachItem(value.index(), [&](Value item) {
    if (separate()) text += describeFlat(item);
  });
  return value.tag() == Tag::kList ? fmt::format("[{}]", text) : fmt::format("({})", text);
}

}  // namespace tidegauge::readers::torch
