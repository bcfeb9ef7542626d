// Work on several processors, with the same result as on one.
//
//   together(is_long, [&] { a = first(); }, [&] { b = second(); });   returns when both ended
//   eachAtOnce(12, threads, [&](size_t i) { out[i] = f(i); });        each i once, in any order
//
// An exception of one part is thrown here, after all have ended. Cost: a thread each, some 20 µs.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <system_error>
#include <thread>
#include <vector>

namespace tidegauge::base {

// Set by tests, which compare one processor with several; 0: as many as the machine has.
inline std::atomic<size_t> processors_for_tests = 0;

inline size_t processors() {
  size_t wanted = processors_for_tests;
  return wanted > 0 ? wanted : std::max(1U, std::thread::hardware_concurrency());
}

// Into how many parts it is worth cutting the work on `items`: one for each processor, at most
// `most`; a single one where a thread would cost more than it saves.
inline size_t partsFor(size_t items, size_t most) {
  constexpr size_t kManyItems = 100'000;
  return items < kManyItems ? 1 : std::min(processors(), most);
}

// In another thread; without one, when the result is asked for.
template <class F>
std::future<void> started(F& work) {
  try {
    return std::async(std::launch::async, [&work] { work(); });
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, [&work] { work(); });
  }
}

// `is_worth_it`: false runs one after the other.
template <class First, class Second>
void together(bool is_worth_it, First&& first, Second&& second) {
  if (!is_worth_it) {
    first();
    second();
    return;
  }
  std::future<void> other = started(second);
  try {
    first();
  } catch (...) {
    other.wait();
    throw;
  }
  other.get();
}

// On at most `threads` threads; 0: one per processor.
template <class Work>
void eachAtOnce(size_t count, size_t threads, const Work& work) {
  std::atomic<size_t> next = 0;
  auto run = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::future<void>> others;
  size_t most = std::min(threads == 0 ? processors() : threads, count);
  for (size_t i = 1; i < most; ++i) others.push_back(started(run));
  try {
    run();
  } catch (...) {
    next = count;
    for (std::future<void>& other : others) other.wait();
    throw;
  }
  for (std::future<void>& other : others) other.get();
}

}  // namespace tidegauge::base
