#include "record/code/symbols.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tidegauge::record {
namespace {

// They concern this program, which has thousands of functions and their lines.
constexpr uint32_t kQuestions = 20'000;

void askAll(Symbols& symbols, int descriptor) {
  for (uint32_t i = 0; i < kQuestions; ++i)
    symbols.ask({.frame = i, .descriptor = descriptor, .module = 0, .offset = 0x1000 + i * 16});
}

TEST(Symbols, AnswerEveryQuestionAtTheEnd) {
  int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  {
    Symbols symbols;
    askAll(symbols, self);
    EXPECT_EQ(symbols.finish().size(), kQuestions);
    EXPECT_EQ(symbols.unanswered(), 0U);
  }
  close(self);
}

TEST(Symbols, GiveUpWhatIsMissingWhenToldToEnd) {
  int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  {
    Symbols symbols;
    askAll(symbols, self);
    size_t asked = 0;
    size_t before = symbols.finish([&] { return ++asked > 0; }).size();
    // Either all were found within the first moment, or it gave up when it was first asked.
    if (asked > 0) {
      EXPECT_EQ(asked, 1U);
      EXPECT_LT(before, kQuestions);
    }
    // Nothing is lost that comes later.
    EXPECT_EQ(before + symbols.finish().size(), kQuestions);
  }
  close(self);
}

}  // namespace
}  // namespace tidegauge::record
