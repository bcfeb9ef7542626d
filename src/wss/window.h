// Windows: how long each page was watched. A walk through the address space takes time, so the
// first pages are cleared, and read, earlier than the last ones.
//
//   address ▲      clear  ╱          ╱  read
//           │           ╱          ╱         window of a page at x (0 to 1):
//           │         ╱◄─ window ─►             from clear.at(x) to read.at(x)
//           └──────────────────────────► time
//
// wss.pl measures from middle to middle for all pages, which is only right if both walks are
// equally slow: with 16 GiB cleared in 190 ms and read in 9, it is off by 90 ms.
#pragma once

#include <cstdint>
#include <ctime>
#include <numeric>

namespace tidegauge::wss {

// Time and sleep: real, or simulated by a test.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t now_ns() = 0;  // steady
  virtual int64_t cpu_ns() = 0;  // that this process has used
  // Returns early if the measurement should end.
  virtual void sleep(int64_t ns) = 0;
  virtual bool isEnding() const = 0;
};

inline int64_t clockTime_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

struct Pass {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t duration_ns() const { return end_ns - begin_ns; }
  // When it passed the fraction `x` of the memory: 0 its beginning, 1 its end.
  int64_t at_ns(double x) const {
    return begin_ns + static_cast<int64_t>(static_cast<double>(duration_ns()) * x);
  }
};

struct Window {
  int64_t least_ns = 0;
  int64_t mean_ns = 0;
  int64_t most_ns = 0;
};

// The window of the memory from `from` to `to` (0 to 1).
inline Window windowOf(const Pass& clear, const Pass& read, double from, double to) {
  int64_t first_ns = read.at_ns(from) - clear.at_ns(from),
          last_ns = read.at_ns(to) - clear.at_ns(to);
  return {first_ns < last_ns ? first_ns : last_ns, std::midpoint(first_ns, last_ns),
          first_ns < last_ns ? last_ns : first_ns};
}

}  // namespace tidegauge::wss
