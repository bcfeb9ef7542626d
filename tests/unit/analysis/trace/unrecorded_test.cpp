// Which programs of a recording nothing was recorded of, and what would record them.
#include "analysis/trace/unrecorded.h"

#include <gtest/gtest.h>

namespace tidegauge::analysis {
namespace {

using model::kNotRecorded;

struct MadeRun {
  model::RecordedRun run;

  MadeRun& process(int64_t id, int64_t pid, const char* name) {
    run.processes.process_id.push_back(id);
    run.processes.pid.push_back(pid);
    run.processes.name.push_back(run.strings.intern(name));
    run.processes.command.emplace_back();
    return *this;
  }
  MadeRun& unwatched(int64_t process, int64_t pid, const char* reason,
                     const char* library = nullptr, int64_t end_ns = kNotRecorded) {
    model::RecordedUnwatched& rows = run.unwatched;
    rows.begin_ns.push_back(kNotRecorded);
    rows.end_ns.push_back(end_ns);
    rows.process_id.push_back(process);
    rows.pid.push_back(pid);
    rows.library.push_back(library == nullptr ? base::StringId() : run.strings.intern(library));
    rows.function.emplace_back();
    rows.figures.push_back(run.strings.intern("memory"));
    rows.reason.push_back(run.strings.intern(reason));
    return *this;
  }
};

TEST(Unrecorded, AProgramWithoutCallsIsNamedWithReasonAndRemedy) {
  MadeRun it;
  it.process(0, 40, "sh").process(1, 41, "paced").process(2, 42, "plain");
  it.run.traced = {2};
  it.unwatched(1, 41, "it did not load the library of --preload (LD_PRELOAD was changed)");
  it.unwatched(2, 42, "its first instruction cannot be probed", "/usr/lib/libcuda.so.1");
  auto programs = unrecordedPrograms(it.run);
  ASSERT_EQ(programs.size(), 1U);  // of the other one something was recorded
  EXPECT_EQ(programs[0].process_id, 1);
  EXPECT_EQ(programs[0].pid, 41);
  EXPECT_EQ(programs[0].name, "paced");
  EXPECT_EQ(programs[0].reason,
            "it did not load the library of --preload (LD_PRELOAD was changed)");
  EXPECT_EQ(programs[0].remedy,
            "Record it with eBPF (as root, without --preload), which needs no library.");
}

TEST(Unrecorded, ARowWithoutAProcessFindsItsNameByPid) {
  MadeRun it;
  it.process(0, 41, "sh").process(1, 41, "trainer").process(2, 50, "other");
  it.run.traced = {2};
  it.unwatched(kNotRecorded, 41, "it is stripped", "/opt/trainer");
  it.unwatched(kNotRecorded, 77, "an unknown reason");
  auto programs = unrecordedPrograms(it.run);
  ASSERT_EQ(programs.size(), 2U);
  EXPECT_EQ(programs[0].name, "trainer");  // exec: the last program with this pid
  EXPECT_EQ(programs[0].process_id, 1);
  EXPECT_EQ(programs[0].reason, "trainer: it is stripped");
  EXPECT_NE(programs[0].remedy.find("symbols"), std::string::npos);
  EXPECT_EQ(programs[1].name, "");
  EXPECT_EQ(programs[1].pid, 77);
  EXPECT_EQ(programs[1].process_id, kNotRecorded);
  EXPECT_EQ(programs[1].remedy, "");
}

TEST(Unrecorded, RowsOfEveryProcessAndTimesBeforeWatchingNameNobody) {
  MadeRun it;
  it.process(1, 41, "idle");
  it.unwatched(kNotRecorded, kNotRecorded, "more was not watched than is kept");
  it.unwatched(1, 41, "it ran before", nullptr, 5);
  EXPECT_TRUE(unrecordedPrograms(it.run).empty());
}

TEST(Unrecorded, ReasonsOfOneProgramAreJoinedAndNotRepeated) {
  MadeRun it;
  it.process(1, 41, "paced");
  for (const char* reason : {"one", "one", "two", "three", "four"}) it.unwatched(1, 41, reason);
  auto programs = unrecordedPrograms(it.run);
  ASSERT_EQ(programs.size(), 1U);
  EXPECT_EQ(programs[0].reason, "one; two; three");
}

TEST(Unrecorded, AtMostAHundredPrograms) {
  MadeRun it;
  for (int64_t i = 1; i <= 200; ++i) it.process(i, i, "p").unwatched(i, i, "why");
  EXPECT_EQ(unrecordedPrograms(it.run).size(), 100U);
}

}  // namespace
}  // namespace tidegauge::analysis
