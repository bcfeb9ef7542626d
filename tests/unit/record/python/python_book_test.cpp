#include "record/python/python_book.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace tidegauge::record {
namespace {

constexpr uint32_t kTgid = 42;

template <class T>
std::span<const uint8_t> bytesOf(const T& record) {
  return {reinterpret_cast<const uint8_t*>(&record), sizeof(record)};
}

void setText(python_text& head, uint8_t* room, std::string_view text) {
  head.length = text.size();
  head.state = 1U << 2 | 1U << 5 | 1U << 6;  // one byte each, compact, ASCII
  head.copied_bytes = static_cast<uint32_t>(text.size());
  std::memcpy(room, text.data(), text.size());
}

struct Book : testing::Test {
  PythonBook book;
  void code(uint32_t number, std::string_view function, int32_t traceable = 0, uint32_t space = 0) {
    struct {
      python_code_record head{};
      uint8_t lines[4] = {0x80 | 13 << 3 | 7, 0, 0x80 | 13 << 3 | 7, 2};  // 8 instructions each
    } record;
    record.head.kind = PYTHON_CODE;
    record.head.number = number;
    record.head.tgid = kTgid;
    record.head.minor = 11;
    record.head.first_line = static_cast<int32_t>(number) * 10;
    record.head.first_traceable = traceable;
    record.head.copied_bytes = record.head.lines_bytes = sizeof(record.lines);
    setText(record.head.name_head, record.head.name, function);
    setText(record.head.file_head, record.head.file, "train.py");
    book.add(bytesOf(record), space);
  }
  void stack(uint32_t id, const std::vector<uint64_t>& frames, uint32_t space = 0) {
    python_stack_record record{};
    record.kind = PYTHON_STACK;
    record.id = id;
    record.tgid = kTgid;
    record.frames = static_cast<uint32_t>(frames.size());
    std::copy(frames.begin(), frames.end(), record.frame);
    book.add(bytesOf(record), space);
  }
  static std::vector<std::string> words(const SeenStack& seen) {
    std::vector<std::string> words;
    for (const PythonFrame& it : seen.python)
      words.push_back(std::to_string(it.at) + " " + it.file + ":" + std::to_string(it.line) + " " +
                      it.function);
    return words;
  }
};

constexpr uint64_t frame(uint64_t number, uint64_t place, uint64_t flags = 0) {
  return number << 32 | flags | place;
}

using Words = std::vector<std::string>;

TEST_F(Book, EachLoopHasTheFramesUpToItsMark) {
  book.setLoops(kTgid, {{0x1000, 0x2000}});
  code(1, "empty");
  code(2, "forward");
  code(3, "train");
  stack(7, {frame(1, 0), frame(2, 8, PYTHON_ENTRY), frame(3, 0), frame(0, 0, PYTHON_ENTRY)});
  SeenStack seen = book.take(7, {0x9000, 0x1500, 0x9100, 0x2000, 0x9200});
  EXPECT_EQ(words(seen),
            (Words{"1 train.py:10 empty", "1 train.py:21 forward", "3 train.py:30 train"}));
  EXPECT_EQ(words(book.take(7, {0x1500})), Words{});  // only once
}

TEST_F(Book, AFrameThatHasNotBegunIsNoneUnlessItIsAGenerator) {
  book.setLoops(kTgid, {{0x1000, 0x2000}});
  code(1, "begins", 3);
  stack(7, {frame(1, 2, PYTHON_ENTRY), frame(1, 2, PYTHON_ENTRY | PYTHON_GENERATOR)});
  EXPECT_EQ(words(book.take(7, {0x1500, 0x1501})), (Words{"1 train.py:10 begins"}));
}

TEST_F(Book, FramesWhoseLoopIsMissingComeLast) {
  book.setLoops(kTgid, {{0x1000, 0x2000}});
  code(1, "inner");
  code(2, "outer");
  stack(7, {frame(1, 0, PYTHON_ENTRY), frame(2, 0, PYTHON_ENTRY)});
  EXPECT_EQ(words(book.take(7, {0x1500, 0x9000})),
            (Words{"0 train.py:10 inner", "2 train.py:20 outer"}));
}

TEST_F(Book, WhatIsNotAStackOrUnknownIsIgnored) {
  book.add({});
  std::vector<uint8_t> junk(100, 1);
  book.add(junk);
  EXPECT_FALSE(book.has(7));
  stack(7, {frame(99, 0, PYTHON_ENTRY)});  // a code object that did not arrive
  EXPECT_TRUE(book.has(7));
  EXPECT_EQ(words(book.take(7, {0x1500})), Words{});
}

TEST_F(Book, AProcessThatEndedIsForgotten) {
  code(1, "gone");
  stack(7, {frame(1, 0, PYTHON_ENTRY)});
  book.forget(kTgid);
  EXPECT_FALSE(book.has(7));
}

TEST(PythonText, IsUtf8) {
  std::vector<uint8_t> latin{'g', 'r', 0xf6}, two{0x77, 0x95, 0x55, 0x30},
      four{0x00, 0xf6, 0x01, 0};
  EXPECT_EQ(pythonText(latin, 1), "grö");
  EXPECT_EQ(pythonText(two, 2), "\xe9\x95\xb7\xe3\x81\x95");
  EXPECT_EQ(pythonText(four, 4), "\xf0\x9f\x98\x80");
  EXPECT_EQ(pythonText(latin, 0), "");
}

TEST_F(Book, NumbersOfTwoProgramsAreApart) {
  code(1, "of five", 0, 5);
  code(1, "of six", 0, 6);
  stack(7, {frame(1, 0)}, 5);
  stack(7, {frame(1, 0)}, 6);
  EXPECT_EQ(words(book.take(7, {}, 6)), Words{"0 train.py:10 of six"});
  EXPECT_EQ(words(book.take(7, {}, 5)), Words{"0 train.py:10 of five"});
}

}  // namespace
}  // namespace tidegauge::record
