#include "base/text_layout.h"

#include <gtest/gtest.h>

namespace tidegauge::base {
namespace {

TEST(TextLayout, WidthCountsColumnsNotBytes) {
  EXPECT_EQ(displayWidth(""), 0U);
  EXPECT_EQ(displayWidth("plain"), 5U);
  EXPECT_EQ(displayWidth("…–·"), 3U);
  EXPECT_EQ(displayWidth("記憶"), 4U);
  EXPECT_EQ(displayWidth("한글"), 4U);
  EXPECT_EQ(displayWidth("🚀"), 2U);
  EXPECT_EQ(displayWidth("\U00020000"), 2U);  // CJK extension B
  EXPECT_EQ(displayWidth("\u2329\ufe19\U00018d08"), 6U);
  EXPECT_EQ(displayWidth("e\u0301"), 1U);  // e and a combining acute
}

TEST(TextLayout, ABadByteIsOneCharacterAndSwallowsNothing) {
  EXPECT_EQ(displayWidth("\xe8"), 1U);
  EXPECT_EQ(displayWidth("\xe8"
                         "ab"),
            3U);
  EXPECT_EQ(displayWidth("\xff\xfe"), 2U);
  EXPECT_EQ(displayWidth("\xc0\x80"), 2U);      // overlong NUL
  EXPECT_EQ(displayWidth("\xed\xa0\x80"), 3U);  // a surrogate
  EXPECT_EQ(displayWidth("\xf4\x90\x80\x80"), 4U);
  EXPECT_EQ(displayWidth("a\xe2\x82"), 3U);  // cut short at the end
}

TEST(TextLayout, CutLeavesWhatFitsAndMarksWhatDoesNot) {
  EXPECT_EQ(cutTo("abc", 3), "abc");
  EXPECT_EQ(cutTo("abcd", 3), "ab…");
  EXPECT_EQ(cutFront("abc", 3), "abc");
  EXPECT_EQ(cutFront("abcdé", 3), "…dé");
  EXPECT_EQ(cutFront("ab漢", 3), "…漢");
  EXPECT_EQ(cutFront("a漢漢", 4), "…漢");
  EXPECT_EQ(cutFront("abcd", 1), "…");
  EXPECT_EQ(cutFront("abcd", 0), "");
  EXPECT_EQ(cutTo("abcd", 1), "…");
  EXPECT_EQ(cutTo("abcd", 0), "");
  EXPECT_EQ(cutTo("", 0), "");
  // A wide character does not fit half.
  EXPECT_EQ(cutTo("記憶", 3), "記…");
  EXPECT_EQ(cutTo("記憶", 2), "…");
  for (size_t columns = 0; columns < 12; ++columns) {
    EXPECT_LE(displayWidth(cutTo("a記\xff憶e\u0301xyz", columns)), columns);
  }
}

TEST(TextLayout, CutInTheMiddleKeepsBothEnds) {
  EXPECT_EQ(cutMiddle("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(cutMiddle("abcdefghij", 9), "abcdef…ij");
  EXPECT_EQ(cutMiddle("abcdefghij", 7), "abcd…ij");
  EXPECT_EQ(cutMiddle("abcdefghij", 5), "abcd…") << "too narrow for two ends";
  EXPECT_EQ(cutMiddle("記憶記憶記憶記憶", 10), "記憶記…憶");
  EXPECT_EQ(cutMiddle("", 0), "");
  EXPECT_EQ(cutMiddle("model.py:423 train_one_step", 16), "model.py:…_step");
  EXPECT_EQ(cutMiddle("abcdefg12345", 10), "abcdef…");
  for (size_t columns = 0; columns < 14; ++columns) {
    EXPECT_LE(displayWidth(cutMiddle("a記\xff憶e\u0301xyz記憶記憶", columns)), columns);
  }
}

TEST(TextLayout, OfAPathTheFoldersAreCut) {
  std::string path = "/opt/venv/lib/libtorch_cuda.so";
  EXPECT_EQ(cutFolders(path, path.size()), path);
  EXPECT_EQ(cutFolders(path, 29), "…/venv/lib/libtorch_cuda.so");
  EXPECT_EQ(cutFolders(path, 22), "…/lib/libtorch_cuda.so");
  EXPECT_EQ(cutFolders(path, 21), "…/libtorch_cuda.so");
  EXPECT_EQ(cutFolders(path, 10), "…h_cuda.so") << "not even the name";
  EXPECT_EQ(cutFolders("libtorch_cuda.so", 10), "…h_cuda.so");
  EXPECT_EQ(cutFolders("/opt/", 4), "…/");
  EXPECT_EQ(cutFolders("", 0), "");
  for (size_t columns = 0; columns < 20; ++columns)
    EXPECT_LE(displayWidth(cutFolders("/a/記憶/x\xff/記憶記憶e\u0301", columns)), columns);
}

TEST(TextLayout, PaddingFillsTheColumns) {
  EXPECT_EQ(padLeft("ab", 4), "  ab");
  EXPECT_EQ(padRight("記", 4), "記  ");
  EXPECT_EQ(padLeft("abcde", 4), "abcde");
}

TEST(TextLayout, WrappedBreaksBetweenWords) {
  EXPECT_EQ(wrapped("one two three", 9, 2), "  one two\n  three\n");
  EXPECT_EQ(wrapped("one two three", 9, 0, 2), "one two\n  three\n");
  EXPECT_EQ(wrapped("", 9, 2), "  \n");
}

TEST(TextLayout, WrappedCutsAWordThatFitsNowhere) {
  EXPECT_EQ(wrapped("abcdefghij", 6, 2), "  abc…\n");
}

TEST(TextLayout, WrappedSurvivesLessRoomThanItsMargin) {
  EXPECT_EQ(wrapped("ab", 2, 4, 4), "    …\n");
}

TEST(TextLayout, PrintableLeavesNothingThatSteersATerminal) {
  EXPECT_EQ(printable("a\nb\tc\x1b[31m\x7f"), "a·b·c·[31m·");
  EXPECT_EQ(printable("\u009b31m"), "·31m");          // C1: CSI
  EXPECT_EQ(printable("\x9b"), "\uFFFD");             // the same as a raw byte
  EXPECT_EQ(printable("x\u202Egnp.py"), "x·gnp.py");  // right-to-left override
  EXPECT_EQ(printable("a\u2028b\u2066c"), "a·b·c");
  EXPECT_EQ(printable("記憶 – ü"), "記憶 – ü");
  EXPECT_EQ(printable("a\xc3"), "a\uFFFD");
}

}  // namespace
}  // namespace tidegauge::base
