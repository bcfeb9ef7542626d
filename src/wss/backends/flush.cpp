#include "wss/backends/flush.h"

#include <mutex>
#include <optional>

#include "wss/backends/switch_ring.h"
#include "wss/pages/own_page.h"

namespace tidegauge::wss {
namespace {

bool hasSoftDirty() {
  // If unknown: assume soft-dirty bits, so that no harm is done.
  return ((OwnPage().pagemapEntry().value_or(~uint64_t{0}) >> 55) & 1) != 0;
}

}  // namespace

Flush flushOfThisKernel() {
  if (!hasSoftDirty()) return Flush::kFree;
  return SwitchRing::isSuited() ? Flush::kSwitches : Flush::kNone;
}

std::string wordsOf(Flush flush) {
  switch (flush) {
    case Flush::kFree:
      return ", flush of the TLB";
    case Flush::kSwitches:
      return ", flush of the TLB by switches of processes";
    case Flush::kNone:
      return "";
  }
  return "";
}

std::vector<std::string> limitsOfFlush(Flush flush) {
  if (flush != Flush::kNone) return {};
  return {
      "this kernel tracks soft-dirty pages, so the TLB is not flushed: what a busy core touches "
      "all the time can be missed, up to what its TLB holds (commonly 6 to 12 MiB of 4 KiB pages)"};
}

Clearing flushBySwitches(Clock& clock) {
  static std::mutex mutex;
  static std::optional<SwitchRing> ring;
  std::lock_guard lock(mutex);
  Clearing done{.is_flushed = false};
  done.pass.begin_ns = clock.now_ns();
  if (!ring)
    if (auto started = SwitchRing::start(); started.ok()) ring.emplace(std::move(started.value()));
  if (ring) {
    SwitchRing::Turn turn = ring->turn();
    done.is_flushed = turn.is_complete;
    done.cost.stall_ns = turn.longest_ns;
    done.ring_cpu_ns = turn.cpu_ns;
    if (!turn.is_complete) ring.reset();
  }
  done.pass.end_ns = clock.now_ns();
  return done;
}

}  // namespace tidegauge::wss
