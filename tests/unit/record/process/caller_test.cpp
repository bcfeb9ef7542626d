#include "record/process/caller.h"

#include <gtest/gtest.h>

namespace tidegauge::record {
namespace {

using Variables = std::vector<std::string>;

TEST(Caller, GetsItsOwnHomeAndNothingOfSudo) {
  Caller ana{1000, 1000, {1000, 27}, "ana", "/home/ana", "/bin/zsh"};
  Variables own = {"HOME=/root",          "USER=root",     "LOGNAME=root",  "SHELL=/bin/sh",
                   "SUDO_UID=1000",       "SUDO_GID=1000", "SUDO_USER=ana", "SUDO_COMMAND=/bin/x",
                   "MAIL=/var/mail/root", "TERM=xterm",    "PATH=/usr/bin"};
  EXPECT_EQ(environmentFor(ana, own), (Variables{"TERM=xterm", "PATH=/usr/bin", "HOME=/home/ana",
                                                 "USER=ana", "LOGNAME=ana", "SHELL=/bin/zsh"}));
}

TEST(Caller, WithoutAnEntryInTheListOfUsersHasTheRootFolder) {
  EXPECT_EQ(environmentFor({1000, 1000, {1000}, "", "", ""}, {"HOME=/root"}), Variables{"HOME=/"});
}

TEST(Caller, LearnsWhatSudoWithheld) {
  Variables before = {"PATH=/venv/bin:/usr/bin",
                      "VIRTUAL_ENV=/venv",
                      "CONDA_PREFIX=/c",
                      "A=1",
                      "B=2",
                      "TERM=xterm",
                      "PWD=/x",
                      "_=/usr/bin/sudo",
                      "PYTHONPATH=/p"};
  EXPECT_EQ(withheldBySudo(before, {"PATH=/usr/bin", "TERM=xterm"}),
            "did not pass on CONDA_PREFIX, PYTHONPATH, VIRTUAL_ENV and 2 more, and replaced PATH");
  EXPECT_EQ(withheldBySudo({"PATH=/a", "A=1"}, {"PATH=/b"}), "replaced PATH");
  EXPECT_EQ(withheldBySudo({"PATH=/a", "LD_LIBRARY_PATH=/l"}, {"PATH=/a"}),
            "did not pass on LD_LIBRARY_PATH");
  EXPECT_EQ(withheldBySudo({"PATH=/a", "A=1"}, {"PATH=/a"}), "");  // nothing that decides
  EXPECT_EQ(withheldBySudo({}, {"PATH=/a"}), "");
}

}  // namespace
}  // namespace tidegauge::record
