// Values: the meaning of a Value. Stores the parts that do not fit into eight bytes (wide numbers,
// pairs, the tree) and converts values to texts, numbers and interned strings.
//
// One object per file being read. Cost: 16 bytes per wide number, 16 per distinct pair.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/string_pool.h"
#include "readers/torch/values/tree.h"
#include "readers/torch/values/value.h"

namespace tidegauge::readers::torch {

class Values {
 public:
  Values(std::span<const uint8_t> input, base::StringPool& strings)
      : Values(input, strings, input.size()) {}
  // `input_bytes` if the values are not read from `input`.
  Values(std::span<const uint8_t> input, base::StringPool& strings, uint64_t input_bytes)
      : input_(input),
        input_bytes_(input_bytes),
        strings_(strings),
        text_bytes_left_(kFreeText + 2 * input_bytes) {}

  // ---- making values
  Value integer(int64_t number);
  Value unsignedInteger(uint64_t number);
  Value hugeInteger(bool negative);  // beyond 64 bits: stored as such, without its digits
  Value floating(double number);
  Value text(std::string_view text);  // a string that is not stored verbatim in the input
  Value pair(uint64_t first, uint64_t second);

  // ---- reading values
  // The text of a string, empty for anything else. Valid until the next string is interned.
  std::string_view textOf(Value value) const;
  // The string in the trace's pool, as valid UTF-8; an invalid id if `value` is not a string.
  base::StringId intern(Value value);
  // A text for a value that should be one: for a dict or number, its description.
  base::StringId internDescribed(Value value);
  std::optional<int64_t> signedOf(Value value) const;
  std::optional<uint64_t> unsignedOf(Value value) const;
  // An address: negative numbers are read as two's complement, as torch's own pickler writes them.
  std::optional<uint64_t> addressOf(Value value) const;
  std::optional<double> floatOf(Value value) const;
  std::optional<bool> boolOf(Value value) const;
  std::pair<uint64_t, uint64_t> pairOf(Value value) const { return pairs_[value.index()]; }
  // What a dict is by its keys, whether or not it has become a row.
  enum class Shape : uint8_t { kNoDict, kEvent, kFrame, kOther };
  Shape shapeOf(Value value) const;
  // A short text for people: "3", "True", "{1: 0, 2: 0}". Bounded in depth and length.
  std::string describe(Value value);

  // ---- texts that are created here, not found in the input. A file can combine the same long
  // parts repeatedly, so all of them together are limited to twice the input's size.
  bool hasRoomForText() const { return text_bytes_left_ > 0; }
  bool takeText(size_t bytes);  // false if the limit is reached; the text then counts as cut
  void reportCutText() { ++cut_texts_; }
  uint64_t cutTexts() const { return cut_texts_; }

  Tree& tree() { return tree_; }
  const Tree& tree() const { return tree_; }
  std::span<const uint8_t> input() const { return input_; }
  // What may be made of it is limited by its size.
  uint64_t inputBytes() const { return input_bytes_; }
  base::StringPool& strings() { return strings_; }
  uint64_t repairedTexts() const { return repaired_texts_; }

 private:
  static constexpr uint64_t kFreeText = uint64_t{1} << 20;
  enum class Wide : uint8_t { kUnsigned, kSigned, kFloat, kAbove, kBelow };
  struct WideNumber {
    uint64_t bits;
    Wide kind;
  };

  Value wide(Wide kind, uint64_t bits);
  base::StringId internText(std::string_view text);
  std::string describeAll(Value value);
  std::string describeFlat(Value value);
  // "…" for omitted parts.
  std::string cutText();
  bool isStack(Value list) const;

  std::span<const uint8_t> input_;
  uint64_t input_bytes_;
  base::StringPool& strings_;
  Tree tree_;
  std::vector<WideNumber> wide_;
  std::vector<std::pair<uint64_t, uint64_t>> pairs_;
  boost::unordered_flat_map<std::pair<uint64_t, uint64_t>, uint32_t> pair_ids_;
  // Long strings and containers that were interned already: a hostile file can refer to one long
  // string from every event, and hashing it each time would take quadratic time.
  boost::unordered_flat_map<uint64_t, base::StringId> long_texts_;
  uint64_t repaired_texts_ = 0;
  uint64_t text_bytes_left_;
  uint64_t cut_texts_ = 0;
};

// The text of the string that begins at `offset`: a pickle opcode, or the quote of a JSON string
// without escapes. Its bounds were checked when it was read.
std::string_view storedText(std::span<const uint8_t> input, uint64_t offset);

}  // namespace tidegauge::readers::torch
