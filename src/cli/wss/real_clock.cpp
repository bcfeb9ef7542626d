#include "cli/wss/real_clock.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>

namespace tidegauge::cli {

RealClock::RealClock() {
  // Who reads what is printed may go away: the write fails then, and the measurement ends in order.
  signal(SIGPIPE, SIG_IGN);
  sigset_t ends;
  sigemptyset(&ends);
  for (int one : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&ends, one);
  signals_ = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ >= 0) pthread_sigmask(SIG_BLOCK, &ends, nullptr);
}

RealClock::~RealClock() {
  if (signals_ >= 0) close(signals_);
}

int64_t RealClock::now_ns() { return wss::clockTime_ns(CLOCK_MONOTONIC); }
int64_t RealClock::cpu_ns() { return wss::clockTime_ns(CLOCK_PROCESS_CPUTIME_ID); }

void RealClock::sleep(int64_t ns) {
  int64_t end_ns = now_ns() + ns;
  for (int64_t left = ns; left > 0 && !is_ending_; left = end_ns - now_ns()) {
    timespec time{left / 1'000'000'000, left % 1'000'000'000};
    pollfd news{signals_, POLLIN, 0};
    // Kernels in QEMU sometimes return from ppoll() with nothing to read: then this sleeps on.
    is_ending_ = ppoll(&news, 1, &time, nullptr) > 0 && (news.revents & POLLIN) != 0;
  }
}

double unixSeconds() { return static_cast<double>(wss::clockTime_ns(CLOCK_REALTIME)) * 1e-9; }

}  // namespace tidegauge::cli
