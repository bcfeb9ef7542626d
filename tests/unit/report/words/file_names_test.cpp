#include "report/words/file_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tidegauge::exporting {
namespace {

using ::testing::ElementsAre;

TEST(FileNames, AreAsShortAsTheyCanBe) {
  EXPECT_THAT(distinctNames({"/runs/a/rank0.pickle"}), ElementsAre("rank0.pickle"));
  EXPECT_THAT(distinctNames({"/runs/a/rank0", "/runs/b/rank0", "/runs/b/rank1"}),
              ElementsAre("a/rank0", "b/rank0", "rank1"));
  EXPECT_THAT(distinctNames({"/a/x/m.zip/0", "/b/x/m.zip/0", "0"}),
              ElementsAre("a/x/m.zip/0", "b/x/m.zip/0", "0"));
}

TEST(FileNames, OfTheSameFileAreCounted) {
  EXPECT_THAT(distinctNames({"a/f", "a/f", "b/f"}), ElementsAre("a/f", "a/f (2)", "b/f"));
}

TEST(FileNames, OddPathsKeepWhatTheyHave) {
  EXPECT_THAT(distinctNames({"", "/", "a/", "standard input"}),
              ElementsAre("", "/", "a/", "standard input"));
  EXPECT_EQ(lastParts("/a/b/c", 2), "b/c");
  EXPECT_EQ(lastParts("c", 2), "c");
}

}  // namespace
}  // namespace tidegauge::exporting
