// The clock of measurements: monotonic time, and a sleep that Ctrl-C and the like end.
#pragma once

#include "wss/window.h"

namespace tidegauge::cli {

// While there is one, SIGINT, SIGTERM, SIGHUP and SIGQUIT end the sleep and with it the
// measurement: nothing is left half done. Make it before any thread.
class RealClock final : public wss::Clock {
 public:
  RealClock();
  ~RealClock() override;
  RealClock(const RealClock&) = delete;
  RealClock& operator=(const RealClock&) = delete;

  int64_t now_ns() override;
  int64_t cpu_ns() override;
  void sleep(int64_t ns) override;
  bool isEnding() const override { return is_ending_; }

 private:
  int signals_ = -1;
  bool is_ending_ = false;
};

double unixSeconds();

}  // namespace tidegauge::cli
