#include "readers/recording/calls_while_reading.h"

#include <algorithm>
#include <system_error>

namespace tidegauge::readers::recording {
namespace {

// Calls that are newer than this before the newest one are not settled. A program whose frees take
// long gets more time: such a call is recorded when it returns, and counts when it begins.
constexpr int64_t kUnsettled_ns = 1'000'000'000;
constexpr int64_t kPerLongest = 4;
constexpr int64_t kMuchUnsettled_ns = 30'000'000'000;
constexpr size_t kMaxUnsettled = 100'000;  // of a process

int64_t unsettledTimeOf(const RecordedProcess& process) {
  if (process.longest_ns == model::MemoryCall::kMuchLonger) return kMuchUnsettled_ns;
  return std::max(kUnsettled_ns, kPerLongest * int64_t{process.longest_ns});
}

size_t settledOf(const RecordedProcess& process) {
  const std::vector<model::MemoryCall>& calls = process.calls;
  if (calls.empty()) return 0;
  int64_t until_ns = calls.back().end_ns - unsettledTimeOf(process);
  auto first = calls.begin() + static_cast<ptrdiff_t>(std::min(process.carried, calls.size()));
  auto after = std::upper_bound(first, calls.end(), until_ns, [](int64_t time_ns, const auto& it) {
    return time_ns < it.end_ns;
  });
  auto settled = static_cast<size_t>(after - calls.begin());
  return std::max(settled, calls.size() - std::min(calls.size(), kMaxUnsettled));
}

}  // namespace

bool settleCalls(CallBook& book, RecordedProcess& process) {
  bool is_late = process.carried < process.calls.size() &&
                 process.calls[process.carried].end_ns < book.newest_ns();
  if (is_late || (process.carried > 0 && book.newest_ns() != INT64_MIN)) return false;
  size_t settled = settledOf(process);
  for (size_t i = 0; i < settled; ++i) book.take(process.calls[i], i < process.carried);
  auto rest = process.calls.begin() + static_cast<ptrdiff_t>(settled);
  if (settled > 0) process.calls = std::vector<model::MemoryCall>(rest, process.calls.end());
  process.carried -= std::min(process.carried, settled);
  return true;
}

CallsWhileReading::~CallsWhileReading() {
  if (settled_.valid()) settled_.wait();
}

bool CallsWhileReading::wait() { return !settled_.valid() || settled_.get(); }

void CallsWhileReading::collect(std::vector<RecordedProcess>& processes) {
  waiting_.resize(processes.size());
  for (size_t i = 0; i < processes.size(); ++i) {
    std::vector<model::MemoryCall>& calls = waiting_[i].calls;
    calls.insert(calls.end(), processes[i].calls.begin(), processes[i].calls.end());
    waiting_[i].id = processes[i].id;
    waiting_[i].longest_ns = processes[i].longest_ns;
    waiting_[i].carried += processes[i].carried;
    processes[i].calls.clear();
    processes[i].carried = 0;
  }
}

bool CallsWhileReading::take(const RecordedTables& tables, const model::RecordedRun& run,
                             std::vector<RecordedProcess>& processes) {
  if (!wait()) return false;
  collect(processes);
  while (books_.size() < waiting_.size())
    books_.push_back(std::make_unique<CallBook>(with_driver_));
  for (size_t i = 0; i < waiting_.size(); ++i)
    if (!books_[i]->begin(tables, run, waiting_[i])) return false;
  auto settle = [this] {
    for (size_t i = 0; i < waiting_.size(); ++i) {
      sortCalls(waiting_[i]);
      if (!settleCalls(*books_[i], waiting_[i])) return false;
    }
    return true;
  };
  try {
    settled_ = std::async(std::launch::async, settle);
  } catch (const std::system_error&) {  // there are no more threads
    settled_ = std::async(std::launch::deferred, settle);
  }
  return true;
}

bool CallsWhileReading::finish(std::vector<RecordedProcess>& processes) {
  if (!wait()) return false;
  collect(processes);
  for (size_t i = 0; i < processes.size(); ++i) {
    sortCalls(waiting_[i]);
    processes[i].calls = std::move(waiting_[i].calls);
    processes[i].carried = waiting_[i].carried;
  }
  waiting_.clear();
  return true;
}

}  // namespace tidegauge::readers::recording
