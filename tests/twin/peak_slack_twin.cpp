// The peak of a recording against every order in which its calls may have taken effect: a few
// threads call a driver, which changes something at a moment between the entry and the return of
// each call. A recording has entries and returns alone. The slow twin tries all orders.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "analysis/trace/analysed_trace.h"
#include "analysis/trace/peak.h"
#include "readers/recording/open_recording.h"
#include "readers/recording/tables/peak_slack.h"
#include "support/bytes.h"
#include "support/recording_file.h"

namespace tidegauge {
namespace {

using model::MemoryCall;
using model::MemoryKind;
using model::Verb;

struct Made {
  int64_t start_ns = 0, end_ns = 0;
  uint64_t address = 0, bytes = 0;
  bool comes = false, is_lost = false;
  uint32_t thread = 0;
  size_t frees = 0;             // the call that it ends
  std::optional<size_t> after;  // the call that freed its address
};

// All orders of calls, each with its highest sum.
class Orders {
 public:
  explicit Orders(const std::vector<Made>& calls) : calls_(calls), is_done_(calls.size()) {
    tryRest(0, 0, 0);
  }
  uint64_t lowest = UINT64_MAX, highest = 0;

 private:
  bool mayBeNext(size_t i) const {
    if (calls_[i].after && !is_done_[*calls_[i].after]) return false;
    for (size_t j = 0; j < calls_.size(); ++j)
      if (!is_done_[j] && j != i && calls_[j].end_ns < calls_[i].start_ns) return false;
    return true;
  }
  void tryRest(size_t done, uint64_t sum, uint64_t peak) {
    if (done == calls_.size()) {
      lowest = std::min(lowest, peak);
      highest = std::max(highest, peak);
      return;
    }
    for (size_t i = 0; i < calls_.size(); ++i) {
      if (is_done_[i] || !mayBeNext(i)) continue;
      is_done_[i] = true;
      uint64_t after = calls_[i].comes ? sum + calls_[i].bytes : sum - calls_[i].bytes;
      tryRest(done + 1, after, std::max(peak, after));
      is_done_[i] = false;
    }
  }
  const std::vector<Made>& calls_;
  std::vector<bool> is_done_;
};

// Threads that each enter a call, let it take effect and return, in a random order of moments.
class Threads {
 public:
  Threads(const std::vector<uint8_t>& choices, bool reuses_addresses)
      : choices_(choices), reuses_(reuses_addresses) {
    constexpr size_t kMaxCalls = 7, kThreads = 3;
    std::array<std::optional<size_t>, kThreads> call;  // that each is in
    std::array<bool, kThreads> has_happened{};
    while (next_ < choices_.size() ||
           std::any_of(call.begin(), call.end(), [](auto& c) { return c.has_value(); })) {
      size_t thread = next_ < choices_.size() ? choose(kThreads) : firstOf(call);
      ++now_ns_;
      if (!call[thread]) {
        if (calls.size() == kMaxCalls) {
          next_ = choices_.size();
          continue;
        }
        call[thread] = enter(static_cast<uint32_t>(thread));
        has_happened[thread] = false;
      } else if (!has_happened[thread]) {
        happen(*call[thread]);
        has_happened[thread] = true;
      } else {
        calls[*call[thread]].end_ns = now_ns_;
        if (calls[*call[thread]].comes) returned_.insert(*call[thread]);
        call[thread].reset();
      }
    }
  }

  std::vector<Made> calls;
  uint64_t peak_bytes = 0;

 private:
  template <class Calls>
  static size_t firstOf(const Calls& call) {
    for (size_t i = 0; i < call.size(); ++i)
      if (call[i]) return i;
    return 0;
  }
  size_t choose(size_t below) { return next_ < choices_.size() ? choices_[next_++] % below : 0; }

  size_t enter(uint32_t thread) {
    Made made;
    made.start_ns = now_ns_;
    made.thread = thread;
    made.comes = returned_.empty() || choose(2) == 0;
    if (made.comes) {
      made.bytes = choose(6) + 1;
    } else {
      auto at = returned_.begin();
      std::advance(at, choose(returned_.size()));
      made.frees = *at;
      made.address = calls[*at].address;
      made.bytes = calls[*at].bytes;
      made.is_lost = choose(8) == 0;
      returned_.erase(at);
    }
    calls.push_back(made);
    return calls.size() - 1;
  }
  void happen(size_t index) {
    Made& call = calls[index];
    if (call.comes) {
      uint64_t place = 1;
      while (taken_.contains(place)) ++place;
      if (!reuses_) place = taken_.size() + freed_by_.size() + 1;
      taken_.insert(place);
      call.address = place * kMiB;
      if (freed_by_.contains(place)) call.after = freed_by_[place];
      sum_bytes_ += call.bytes;
      peak_bytes = std::max(peak_bytes, sum_bytes_);
    } else {
      taken_.erase(call.address / kMiB);
      freed_by_[call.address / kMiB] = index;
      sum_bytes_ -= call.bytes;
    }
  }

  const std::vector<uint8_t>& choices_;
  bool reuses_;
  size_t next_ = 0;
  int64_t now_ns_ = 1'000'000'000;
  std::set<size_t> returned_;  // allocations that are live, and known to the program
  std::set<uint64_t> taken_;
  std::map<uint64_t, size_t> freed_by_;
  uint64_t sum_bytes_ = 0;
};

struct Shown {
  uint64_t active = 0, reserved = 0, uncertain = 0, reserved_uncertain = 0;
};

Shown shown(const std::vector<Made>& made, bool with_losses) {
  std::vector<MemoryCall> calls;
  for (const Made& one : made) {
    if (one.is_lost && with_losses) continue;
    MemoryCall call;
    call.start_ns = one.start_ns;
    call.end_ns = one.end_ns;
    call.verb = one.comes ? Verb::kAllocate : Verb::kFree;
    call.kind = MemoryKind::kDevice;
    call.address = one.address;
    call.size_bytes = one.comes ? one.bytes : 0;
    call.device = 0;
    call.thread = one.thread;
    calls.push_back(call);
  }
  std::sort(calls.begin(), calls.end(),
            [](const MemoryCall& a, const MemoryCall& b) { return a.end_ns < b.end_ns; });
  testing::RecordingFile file;
  file.write(calls);
  auto traces = readers::recording::openRecording(file.path(), {});
  RC_ASSERT(traces.ok());
  analysis::AnalysedTrace analysed(std::move(traces.value().front()));
  if (analysed.devices.empty()) return {};
  analysis::PeakReport peak = analysis::peakOf(analysed, *analysed.devices[0]);
  return {peak.active.bytes, peak.reserved.bytes, peak.uncertain_bytes,
          peak.reserved_uncertain_bytes};
}

// The shown peak is the lowest possible one, and with what is uncertain the highest.
RC_GTEST_PROP(PeakSlackTwin, IsTheDistanceToTheHighestPossiblePeak,
              (const std::vector<uint8_t>& choices, bool reuses)) {
  Threads threads(choices, reuses);
  if (threads.calls.empty()) return;
  Orders orders(threads.calls);
  Shown peak = shown(threads.calls, false);
  RC_ASSERT(orders.lowest <= threads.peak_bytes);
  RC_ASSERT(orders.highest >= threads.peak_bytes);
  RC_ASSERT(peak.active == orders.lowest);
  RC_ASSERT(peak.active + peak.uncertain == orders.highest);
  RC_ASSERT(peak.reserved == peak.active);
  RC_ASSERT(peak.reserved_uncertain == peak.uncertain);
  RC_CLASSIFY(peak.uncertain > 0);
}

// Frees whose records are lost leave more: the peak is never too low.
RC_GTEST_PROP(PeakSlackTwin, IsStillAnUpperBoundWhenFreesAreLost,
              (const std::vector<uint8_t>& choices, bool reuses)) {
  Threads threads(choices, reuses);
  if (threads.calls.empty()) return;
  Shown peak = shown(threads.calls, true);
  RC_ASSERT(peak.active + peak.uncertain >= Orders(threads.calls).highest);
}

// Beside an allocator's blocks, which are moments: what the program takes itself adds at most this.
RC_GTEST_PROP(PeakSlackTwin, OfAPartIsABoundOfTheWhole,
              (const std::vector<uint8_t>& choices, uint8_t parts)) {
  Threads threads(choices, false);
  std::vector<Made> calls = threads.calls;
  std::vector<readers::recording::Move> moves;
  std::vector<size_t> order(calls.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    order[i] = i;
    size_t origin = calls[i].comes ? i : calls[i].frees;
    if ((parts >> origin & 1) == 0) continue;  // …: a moment
    (calls[i].comes ? calls[i].start_ns : calls[i].end_ns) =
        calls[i].comes ? calls[i].end_ns : calls[i].start_ns;
  }
  auto time = [&](size_t i) { return calls[i].comes ? calls[i].end_ns : calls[i].start_ns; };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return time(a) < time(b); });
  uint64_t level = 0, shown_peak = 0;
  for (size_t i : order) {
    const Made& call = calls[i];
    int64_t other = call.comes ? call.start_ns : call.end_ns;
    moves.push_back({time(i), other, call.address, call.bytes, call.comes});
    level = call.comes ? level + call.bytes : level - call.bytes;
    shown_peak = std::max(shown_peak, level);
  }
  uint64_t most = readers::recording::mostInFlight(moves, [&](size_t at) {
    const Made& call = calls[order[at]];
    size_t origin = call.comes ? order[at] : call.frees;
    return (parts >> origin & 1) == 0;
  });
  if (calls.empty()) return;
  RC_ASSERT(shown_peak + most >= Orders(calls).highest);
}

}  // namespace
}  // namespace tidegauge
