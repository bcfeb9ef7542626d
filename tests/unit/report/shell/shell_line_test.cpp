#include "report/shell/shell_line.h"

#include <gtest/gtest.h>

namespace tidegauge::report {
namespace {

// What a shell makes of it: quotes vanish, and a backslash outside them joins two lines.
std::string joinedByShell(const std::string& text) {
  std::string word;
  bool is_quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'') {
      is_quoted = !is_quoted;
    } else if (text[i] == '\\' && !is_quoted) {
      if (text[++i] != '\n') word += text[i];
    } else {
      word += text[i];
    }
  }
  return word;
}

TEST(ShellLine, ACommandLineIsBrokenWhereTheShellJoinsIt) {
  EXPECT_EQ(brokenForShell("A=b:1,c:2", 20, 4), "    A=b:1,c:2\n");
  EXPECT_EQ(brokenForShell("A=b:1,c:2,d:3", 12, 4), "    A=b:1,\\\nc:2,d:3\n");
  EXPECT_EQ(brokenForShell("A='[b:1,>:2],c:3'", 14, 2), "  A='[b:1,'\\\n'>:2],c:3'\n");
  EXPECT_EQ(brokenForShell("abcdefghij", 6, 0), "abcd\\\nefghij\n");
}

TEST(ShellLine, ABrokenCommandLineIsTheSameCommand) {
  for (std::string text :
       {"PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128,expandable_segments:True",
        "X='roundup:[256:1,512:2,1024:4,>:8],a:$(b),c:it'\\''s,d:e'", "'a,b'c,'d'"})
    for (size_t columns = 6; columns < 80; ++columns) {
      std::string broken = brokenForShell(text, columns, 2);
      EXPECT_EQ(joinedByShell(broken), "  " + joinedByShell(text + "\n")) << broken;
      for (size_t at = 0, end; (end = broken.find('\n', at)) != std::string::npos; at = end + 1)
        EXPECT_LE(base::displayWidth(broken.substr(at, end - at)), columns) << broken;
    }
}

}  // namespace
}  // namespace tidegauge::report
