#include "cli/watch/monitor_source.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tidegauge::cli {
namespace {

model::LiveSnapshot echo(const model::LiveWish& wish) {
  model::LiveSnapshot snapshot;
  snapshot.calls = wish.columns;
  return snapshot;
}

TEST(MonitorSource, EveryQuestionGetsItsOwnAnswerFromTheRecordersThread) {
  MonitorSource source("host");
  std::atomic<bool> done = false;
  std::atomic<int> made = 0;
  std::thread::id recorder;
  std::thread steps([&] {
    recorder = std::this_thread::get_id();
    while (!done) {
      source.answer([&](const model::LiveWish& wish) {
        EXPECT_EQ(std::this_thread::get_id(), recorder);
        ++made;
        return echo(wish);
      });
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> askers;
  for (uint32_t asker = 0; asker < 4; ++asker) {
    askers.emplace_back([&, asker] {
      for (uint32_t i = 0; i < 50; ++i) {
        model::LiveWish wish;
        wish.columns = asker * 100 + i;
        auto found = source.look(wish);
        ASSERT_TRUE(found.ok());
        EXPECT_EQ(found.value().calls, wish.columns);
      }
    });
  }
  for (std::thread& asker : askers) asker.join();
  done = true;
  steps.join();
  EXPECT_EQ(made, 200) << "nothing is made that nobody asked for";
}

TEST(MonitorSource, WhoWaitsWhenItEndsIsTold) {
  MonitorSource source("host");
  std::thread asker([&] { EXPECT_FALSE(source.look({}).ok()); });
  source.close();
  asker.join();
  EXPECT_FALSE(source.look({}).ok());
}

}  // namespace
}  // namespace tidegauge::cli
