#include "readers/torch/pickle/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>

#include "base/utf8.h"

namespace tidegauge::readers::torch {
namespace {

bool isSpace(uint8_t byte) { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'; }

// Some Windows editors write one at the start. Returns its length.
size_t byteOrderMark(std::span<const uint8_t> input) {
  bool mark = input.size() >= 3 && input[0] == 0xef && input[1] == 0xbb && input[2] == 0xbf;
  return mark ? 3 : 0;
}

class JsonReader {
 public:
  JsonReader(std::span<const uint8_t> input, Machine& machine, Values& values)
      : input_(input), machine_(machine), values_(values) {}

  bool run(const BytesDone& bytes_done, JsonEnd& end);

 private:
  enum class Open : uint8_t { kObject, kArray };

  bool done() const { return at_ >= input_.size(); }
  uint8_t here() const { return done() ? 0 : input_[at_]; }
  void skipSpace() {
    while (!done() && isSpace(input_[at_])) ++at_;
  }
  bool fail(const char* what) {
    return done() ? machine_.failCutOff(at_, what) : machine_.fail(at_, what);
  }
  // The input ends inside a value that was valid so far.
  bool failAtEnd(const char* what) {
    at_ = input_.size();
    return fail(what);
  }
  bool value();
  bool afterValue();
  bool key();
  bool string();
  bool escapedString(uint64_t begin);
  bool escape(std::string& text);
  bool hexDigits(uint32_t& unit);
  bool number();
  bool literal(std::string_view word, Value value);
  bool close(Open open);

  std::span<const uint8_t> input_;
  Machine& machine_;
  Values& values_;
  uint64_t at_ = 0;
  std::vector<Open> open_;
};

bool JsonReader::hexDigits(uint32_t& unit) {
  if (input_.size() - at_ < 4) return failAtEnd("the JSON text ends in the middle of a string");
  const char* digits = reinterpret_cast<const char*>(input_.data() + at_);
  unit = 0;
  auto [end, error] = std::from_chars(digits, digits + 4, unit, 16);
  if (error != std::errc() || end != digits + 4) return fail("a \\u escape without four digits");
  at_ += 4;
  return true;
}

// After the backslash.
bool JsonReader::escape(std::string& text) {
  if (done()) return fail("the JSON text ends in the middle of a string");
  uint8_t kind = input_[at_++];
  switch (kind) {
    case 'b':
      text += '\b';
      return true;
    case 'f':
      text += '\f';
      return true;
    case 'n':
      text += '\n';
      return true;
    case 'r':
      text += '\r';
      return true;
    case 't':
      text += '\t';
      return true;
    case '"':
    case '\\':
    case '/':
      text += static_cast<char>(kind);
      return true;
    case 'u':
      break;
    default:
      --at_;
      return fail("an unknown escape in a string");
  }
  uint32_t unit = 0;
  if (!hexDigits(unit)) return false;
  bool high = unit >= 0xd800 && unit < 0xdc00;
  if (high && input_.size() - at_ >= 6 && input_[at_] == '\\' && input_[at_ + 1] == 'u') {
    uint64_t before = at_;
    at_ += 2;
    uint32_t low = 0;
    if (!hexDigits(low)) return false;
    if (low >= 0xdc00 && low < 0xe000) {
      unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    } else {
      at_ = before;
    }
  }
  bool lone_surrogate = unit >= 0xd800 && unit < 0xe000;
  base::appendUtf8(text, lone_surrogate ? 0xfffd : unit);
  return true;
}

bool JsonReader::escapedString(uint64_t begin) {
  std::string text(reinterpret_cast<const char*>(input_.data() + begin), at_ - begin);
  for (;;) {
    if (done()) return fail("the JSON text ends in the middle of a string");
    uint8_t byte = input_[at_++];
    if (byte == '"') break;
    if (byte != '\\') {
      text += static_cast<char>(byte);
    } else if (!escape(text)) {
      return false;
    }
  }
  machine_.push(values_.text(text));
  return true;
}

// At the opening quote.
bool JsonReader::string() {
  uint64_t quote = at_++;
  const uint8_t* begin = input_.data() + at_;
  const auto* end = static_cast<const uint8_t*>(std::memchr(begin, '"', input_.size() - at_));
  if (end == nullptr) return failAtEnd("the JSON text ends in the middle of a string");
  auto length = static_cast<size_t>(end - begin);
  if (const void* backslash = std::memchr(begin, '\\', length)) {
    uint64_t text_begin = at_;
    at_ += static_cast<uint64_t>(static_cast<const uint8_t*>(backslash) - begin);
    return escapedString(text_begin);
  }
  std::string_view text(reinterpret_cast<const char*>(begin), length);
  machine_.push(Value::ofString(Tag::kString, wordOf(text), quote));
  at_ += length + 1;
  return true;
}

bool JsonReader::literal(std::string_view word, Value value) {
  size_t bytes = std::min(input_.size() - at_, word.size());
  if (std::memcmp(input_.data() + at_, word.data(), bytes) != 0) {
    return fail("neither a value nor the end of the JSON text");
  }
  if (bytes < word.size()) return failAtEnd("the JSON text ends in the middle");
  at_ += word.size();
  machine_.push(value);
  return true;
}

bool JsonReader::number() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const char* begin = reinterpret_cast<const char*>(input_.data() + at_);
  const char* limit = reinterpret_cast<const char*>(input_.data() + input_.size());
  bool negative = *begin == '-';
  if (negative && limit - begin > 1 && begin[1] == 'I') {
    return literal("-Infinity", values_.floating(-kInfinity));
  }
  const char* end = begin + (negative ? 1 : 0);
  while (end < limit && *end >= '0' && *end <= '9') ++end;
  if (end == limit) return failAtEnd("the JSON text ends in the middle");
  bool fraction = end < limit && (*end == '.' || *end == 'e' || *end == 'E');
  if (fraction) {
    double number = 0;
    auto [rest, error] = std::from_chars(begin, limit, number);
    if (error == std::errc::invalid_argument) return fail("a number without digits");
    if (error == std::errc::result_out_of_range) {
      // Like Python: too small is 0, too large is infinite.
      std::string_view digits(begin, static_cast<size_t>(rest - begin));
      bool tiny = digits.find("e-") != std::string_view::npos ||
                  digits.find("E-") != std::string_view::npos;
      number = tiny ? 0 : negative ? -kInfinity : kInfinity;
    }
    machine_.push(values_.floating(number));
    end = rest;
  } else if (negative) {
    int64_t number = 0;
    auto [rest, error] = std::from_chars(begin, end, number);
    if (error == std::errc::invalid_argument) return fail("a number without digits");
    machine_.push(error == std::errc() ? values_.integer(number) : values_.hugeInteger(true));
  } else {
    uint64_t number = 0;
    auto [rest, error] = std::from_chars(begin, end, number);
    if (error == std::errc::invalid_argument) return fail("a number without digits");
    machine_.push(error == std::errc() ? values_.unsignedInteger(number)
                                       : values_.hugeInteger(false));
  }
  at_ += static_cast<uint64_t>(end - begin);
  return true;
}

// One value, or the beginning of a container.
bool JsonReader::value() {
  switch (here()) {
    case '{':
      machine_.pushEmptyDict(at_++);
      machine_.mark();
      open_.push_back(Open::kObject);
      return true;
    case '[':
      machine_.pushEmptyList(at_++);
      machine_.mark();
      open_.push_back(Open::kArray);
      return true;
    case '"':
      return string();
    case 't':
      return literal("true", Value::of(Tag::kBool, 1));
    case 'f':
      return literal("false", Value::of(Tag::kBool, 0));
    case 'n':
      return literal("null", Value::of(Tag::kNone, 0));
    case 'N':
      return literal("NaN", values_.floating(std::numeric_limits<double>::quiet_NaN()));
    case 'I':
      return literal("Infinity", values_.floating(std::numeric_limits<double>::infinity()));
    default:
      break;
  }
  if (here() == '-' || (here() >= '0' && here() <= '9')) return number();
  return fail(done() ? "the JSON text ends in the middle" : "neither a value nor the end of JSON");
}

bool JsonReader::key() {
  if (done()) return fail("the JSON text ends in the middle");
  if (here() != '"') return fail("a key of an object must be a string");
  if (!string()) return false;
  skipSpace();
  if (done()) return fail("the JSON text ends in the middle");
  if (here() != ':') return fail("':' expected after a key");
  ++at_;
  skipSpace();
  return true;
}

bool JsonReader::close(Open open) {
  uint64_t offset = at_++;
  open_.pop_back();
  return open == Open::kObject ? machine_.setItems(offset) : machine_.appendsOrPair(offset);
}

// Between values: closes the containers that end here, and sets at_ to the next value.
bool JsonReader::afterValue() {
  while (!open_.empty()) {
    skipSpace();
    Open open = open_.back();
    uint8_t closing = open == Open::kObject ? '}' : ']';
    if (here() == closing) {
      if (!close(open)) return false;
      continue;
    }
    if (here() != ',') {
      return fail(done() ? "the JSON text ends in the middle"
                         : "',' or a closing bracket expected");
    }
    ++at_;
    skipSpace();
    return open == Open::kArray || key();
  }
  return true;
}

bool JsonReader::run(const BytesDone& bytes_done, JsonEnd& end) {
  constexpr uint64_t kMaxNodes = 0xfffffff0;  // node numbers have 32 bits
  uint64_t next_report = kProgressBytes;
  at_ = byteOrderMark(input_);
  skipSpace();
  do {
    bool opens = here() == '{' || here() == '[';
    if (!value()) return false;
    skipSpace();
    bool empty = opens && here() == static_cast<uint8_t>(open_.back() == Open::kObject ? '}' : ']');
    if (opens && !empty) {
      if (open_.back() == Open::kObject && !key()) return false;
    } else if (!afterValue()) {
      return false;
    }
    if (at_ < next_report) continue;
    next_report = at_ + kProgressBytes;
    if (bytes_done) bytes_done(at_);
    if (values_.tree().size() + kProgressBytes > kMaxNodes) {
      return machine_.fail(at_, "more objects than any snapshot has");
    }
  } while (!open_.empty());
  skipSpace();
  end = {machine_.top(), at_};
  return true;
}

}  // namespace

bool looksLikeJson(std::span<const uint8_t> input) {
  constexpr size_t kMaxSpace = 1 << 16;
  size_t at = byteOrderMark(input);
  input = input.first(std::min(input.size(), kMaxSpace));
  while (at < input.size() && isSpace(input[at])) ++at;
  if (at == input.size()) return false;
  // "[" also starts a list in old pickles; the next byte distinguishes them.
  if (input[at] != '{' && input[at] != '[') return false;
  for (++at; at < input.size() && isSpace(input[at]);) ++at;
  constexpr std::string_view kNext = "\"{}[]-0123456789tfnNI";
  return at == input.size() || kNext.find(static_cast<char>(input[at])) != std::string_view::npos;
}

bool readJson(std::span<const uint8_t> input, Machine& machine, Values& values,
              const BytesDone& bytes_done, JsonEnd& end) {
  return JsonReader(input, machine, values).run(bytes_done, end);
}

}  // namespace tidegauge::readers::torch
