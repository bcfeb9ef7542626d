// The watched process of probe_bench: the same program again, with a pipe for orders and one for
// answers. It calls the stand-in GPU from twenty functions down, as real programs do, and reports
// the cost of a call for its thread.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <string>
#include <vector>

#include "record/source.h"

namespace tidegauge::bench {

inline constexpr int kCalls = 20'000;
inline constexpr int kDepth = 20;  // frames between main() and the calls, by default
inline constexpr int kMaxDepth = 40;

enum Task : uint32_t { kPairs, kLaunches, kRuntimePairs, kRuntimeLaunches, kBlocks, kPaced };
struct Order {
  Task task = kPairs;
  uint32_t per_second = 0;  // kPaced: calls of all threads
  uint32_t depth = kDepth;  // kMaxDepth at most
};
struct Answer {
  double ns_per_call = 0;
  double calls_per_second = 0;
  uint64_t calls = 0;
};

double seconds(clockid_t clock);

class Target {
 public:
  // The folder of the stand-in; "NAME=value" of its environment.
  explicit Target(const std::string& folder, const std::vector<std::string>& environment = {});
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  uint32_t pid() const { return static_cast<uint32_t>(pid_); }
  // Runs the watcher until the answer arrives; without one: just waits.
  template <class Drive>
  Answer ask(const Order& order, const Drive& drive) {
    send(order);
    while (!isAnswered()) drive();
    return answer();
  }
  Answer ask(const Order& order) {
    send(order);
    return answer();
  }

 private:
  void send(const Order& order) const;
  bool isAnswered() const;
  Answer answer() const;
  pid_t pid_ = -1;
  int orders_ = -1, answers_ = -1;
};

// The other side, of `probe_bench --serve FOLDER ORDERS ANSWERS`.
[[noreturn]] void serve(const std::string& folder, int orders, int answers);

}  // namespace tidegauge::bench
