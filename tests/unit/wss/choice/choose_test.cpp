#include "wss/choice/choose.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace tidegauge::wss {
namespace {

// On any machine: it can run, or the error says why not and what to do.
TEST(CheckBackend, EachAnswers) {
  for (std::string_view name : kBackends) {
    auto status = checkBackend(name);
    if (status.ok()) continue;
    EXPECT_EQ(status.error().kind, base::ErrorKind::kMissingFeature) << name;
    EXPECT_FALSE(status.error().what.empty()) << name;
    EXPECT_FALSE(status.error().hint.empty()) << name;
  }
}

TEST(ChooseBackend, ByNameAloneItIsThatOrNone) {
  auto process = Process::open(getpid());
  ASSERT_TRUE(process.ok());
  for (std::string_view name : kBackends) {
    auto choice =
        chooseBackend({.backend = std::string(name), .window_ns = 100'000'000}, process.value());
    if (!choice.ok()) continue;
    EXPECT_EQ(choice.value().backend->name(), name);
    EXPECT_TRUE(checkBackend(name).ok()) << name;
  }
}

TEST(ChooseBackend, WindowsThatDamonCannotHave) {
  auto process = Process::open(getpid());
  ASSERT_TRUE(process.ok());
  for (int64_t window_ns : {int64_t{0}, int64_t{49'999'999}, int64_t{10'000'000'001}}) {
    auto choice = chooseBackend({.backend = "damon", .window_ns = window_ns}, process.value());
    ASSERT_FALSE(choice.ok());
    EXPECT_EQ(choice.error().kind, base::ErrorKind::kUsage);
  }
}

// clear_refs 4 lets a guest fault again; switches of processes do not.
TEST(ChooseBackend, AsksKvmWhereTheFlushDoesNot) {
  UnseenTouches guest, other;
  guest.add(Toucher::kKvm);
  other.add(Toucher::kRdma);
  EXPECT_TRUE(mustAskKvm(guest, Flush::kSwitches));
  EXPECT_TRUE(mustAskKvm(guest, Flush::kNone));
  EXPECT_FALSE(mustAskKvm(guest, Flush::kFree));
  EXPECT_FALSE(mustAskKvm(other, Flush::kSwitches));
}

}  // namespace
}  // namespace tidegauge::wss
