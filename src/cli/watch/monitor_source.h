// MonitorSource: the figures of a recorder at work for the Live view. The recorder has one thread,
// questions come from others: each waits until the recorder takes a moment to answer it.
//
//   server thread   source.look(wish) ──waits──► LiveSnapshot
//   recorder        step(); source.answer([&](wish) { return book.look(…); }); step(); …
//
// Costs the recorder nothing while nobody looks.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "model/live/live_snapshot.h"

namespace tidegauge::cli {

class MonitorSource final : public model::LiveSource {
 public:
  explicit MonitorSource(std::string host) : host_(std::move(host)) {}

  base::Result<model::LiveSnapshot> look(const model::LiveWish& wish) override;
  std::string name() const override { return host_; }
  bool isMonitor() const override { return true; }

  // From the recorder's thread: answers who waits, one of them at a time.
  void answer(const std::function<model::LiveSnapshot(const model::LiveWish&)>& make);
  // Nothing is answered any more.
  void close();

 private:
  std::string host_;
  std::mutex one_at_a_time_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<model::LiveWish> wish_;
  std::optional<model::LiveSnapshot> snapshot_;
  bool is_closed_ = false;
};

}  // namespace tidegauge::cli
