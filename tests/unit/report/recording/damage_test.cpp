// Unreadable parts of an archive are reported: snapshots among its members by name.
#include "report/recording/damage.h"

#include <gtest/gtest.h>

namespace tidegauge::report {
namespace {

model::Trace withUnread(const std::vector<std::string>& details) {
  model::Trace trace;
  for (const std::string& detail : details)
    trace.issues.add({.kind = model::IssueKind::kUnreadMember, .detail = detail});
  return trace;
}

TEST(UnreadMembers, ABrokenSnapshotIsNamedAndTheOthersAreCounted) {
  EXPECT_EQ(unreadMembersOf(withUnread({"rank3.pickle: the pickle is empty"}), "ranks.zip"),
            "ranks.zip: rank3.pickle: the pickle is empty. The rest of the archive was read.");
  EXPECT_EQ(unreadMembersOf(withUnread({"a.pkl.gz: x", "b.pickle: y"}), "z"),
            "z: a.pkl.gz: x. So is one more. The rest of the archive was read.");
  EXPECT_EQ(unreadMembersOf(withUnread({"a.pickle: x", "b.pickle: y", "c.pickle: y"}), "z"),
            "z: a.pickle: x. So are 2 more. The rest of the archive was read.");
}

TEST(UnreadMembers, OtherFilesInAnArchiveAreNotDamage) {
  EXPECT_EQ(unreadMembersOf(withUnread({}), "z"), "");
  EXPECT_EQ(
      unreadMembersOf(withUnread({"README.txt: not a pickle", "plot.png: not a pickle"}), "z"), "");
}

}  // namespace
}  // namespace tidegauge::report
