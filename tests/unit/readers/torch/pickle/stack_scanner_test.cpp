// Lists of frames, four long references at a time (stack_scanner.h), against one reference at a
// time: with both kinds of reference, in runs of every length, and with one reference that is no
// frame or no slot yet.
#include "readers/torch/pickle/stack_scanner.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <vector>

#include "readers/torch/values/opcodes.h"

namespace tidegauge::readers::torch {
namespace {

constexpr uint32_t kFrameSlots = 700;    // slot n holds frame 2n
constexpr uint32_t kText = kFrameSlots;  // this slot holds no frame
constexpr uint32_t kFirst = kText + 1;   // from here on slots are incomplete

class Lists {
 public:
  Lists() {
    memo_.makeRoom(kFirst);
    for (uint32_t i = 0; i < kFrameSlots; ++i) memo_.push(Value::of(Tag::kFrame, uint64_t{2} * i));
    memo_.push(Value::of(Tag::kEmptyList, 0));
  }

  // A list of these slots. A short reference has room for slots below 256 only.
  void add(const std::vector<uint32_t>& slots) {
    begins_.push_back(bytes_.size());
    bytes_.push_back(opcode::kEmptyList);
    bytes_.push_back(opcode::kMark);
    for (uint32_t slot : slots) {
      bytes_.push_back(slot < 256 ? opcode::kBinGet : opcode::kLongBinGet);
      for (int i = 0; i < (slot < 256 ? 1 : 4); ++i)
        bytes_.push_back(static_cast<uint8_t>(slot >> (8 * i)));
    }
    bytes_.push_back(opcode::kAppends);
    lists_.push_back(slots);
  }

  void expectRead() {
    // A scanner leaves what is near the end of the input to the machine.
    bytes_.resize(bytes_.size() + (StackScanner::kMaxFrames + 1) * 5);
    Values values(bytes_, trace_.strings);
    Oddities oddities(values);
    Columns columns(trace_, values, oddities);
    StackScanner scanner(columns, memo_, bytes_.data(), bytes_.data() + bytes_.size());
    for (size_t i = 0; i < lists_.size(); ++i) {
      const uint8_t* at = bytes_.data() + begins_[i];
      model::StackId stack;
      bool read = scanner.scan(at, kFirst, stack);
      auto wanted = framesOf(lists_[i]);
      ASSERT_EQ(read, wanted.has_value()) << "list " << i;
      if (!read) continue;
      ASSERT_EQ(at, bytes_.data() + begins_[i] + bytesOf(lists_[i])) << "list " << i;
      ASSERT_EQ(trace_.stacks.depth(stack), wanted->size()) << "list " << i;
      for (size_t frame = 0; frame < wanted->size(); ++frame)
        ASSERT_EQ(trace_.stacks.framesOf(stack)[frame].value, (*wanted)[frame]) << "list " << i;
    }
  }

 private:
  static size_t bytesOf(const std::vector<uint32_t>& slots) {
    size_t bytes = 3;
    for (uint32_t slot : slots) bytes += slot < 256 ? 2 : 5;
    return bytes;
  }
  static std::optional<std::vector<uint32_t>> framesOf(const std::vector<uint32_t>& slots) {
    if (slots.size() >= StackScanner::kMaxFrames) return {};
    std::vector<uint32_t> frames;
    for (uint32_t slot : slots) {
      if (slot >= kFrameSlots) return {};
      frames.push_back(2 * slot);
    }
    return frames;
  }

  model::Trace trace_;
  Memo memo_;
  std::vector<uint8_t> bytes_;
  std::vector<size_t> begins_;
  std::vector<std::vector<uint32_t>> lists_;
};

TEST(StackScanner, ReadsRunsAsSingleReferences) {
  std::mt19937 random(1);
  auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
  Lists lists;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<uint32_t> slots;
    for (uint32_t runs = below(6) + 1; runs > 0; --runs) {
      bool is_short = below(2) == 0;
      for (uint32_t left = below(12) + 1; left > 0; --left)
        slots.push_back(is_short ? below(256) : 256 + below(kFrameSlots - 256));
    }
    constexpr uint32_t kBad[] = {kText, kFirst, kFirst + 1, UINT32_MAX};
    if (below(3) == 0) slots[below(static_cast<uint32_t>(slots.size()))] = kBad[below(4)];
    lists.add(slots);
  }
  lists.expectRead();
}

TEST(StackScanner, LeavesLongerListsToTheMachine) {
  for (uint32_t slot : {3U, 300U}) {
    Lists lists;
    for (size_t less = 0; less < 6; ++less)
      lists.add(std::vector<uint32_t>(StackScanner::kMaxFrames + 1 - less, slot));
    lists.expectRead();
  }
}

}  // namespace
}  // namespace tidegauge::readers::torch
