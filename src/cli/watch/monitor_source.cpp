#include "cli/watch/monitor_source.h"

#include <chrono>

namespace tidegauge::cli {

base::Result<model::LiveSnapshot> MonitorSource::look(const model::LiveWish& wish) {
  std::lock_guard turn(one_at_a_time_);
  std::unique_lock lock(mutex_);
  wish_ = wish;
  snapshot_.reset();
  auto done = [&] { return snapshot_.has_value() || is_closed_; };
  bool answered = changed_.wait_for(lock, std::chrono::seconds(10), done);
  wish_.reset();
  if (answered && snapshot_) return std::move(*snapshot_);
  return base::Error{base::ErrorKind::kMissingFeature,
                     is_closed_ ? "The monitor is stopping" : "The recorder is too busy to answer",
                     {},
                     ""};
}

void MonitorSource::answer(const std::function<model::LiveSnapshot(const model::LiveWish&)>& make) {
  std::lock_guard lock(mutex_);
  if (!wish_ || snapshot_) return;
  snapshot_ = make(*wish_);
  changed_.notify_all();
}

void MonitorSource::close() {
  std::lock_guard lock(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

}  // namespace tidegauge::cli
