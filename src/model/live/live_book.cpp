#include "model/live/live_book.h"

#include <algorithm>

#include "model/transfer_time.h"

namespace tidegauge::model {
namespace {

constexpr std::string_view kOther = "other";

void raise(uint64_t& peak, uint64_t level) { peak = std::max(peak, level); }

}  // namespace

LiveBook::Account* LiveBook::accountOf(uint32_t process) {
  auto found = accounts_.find(process);
  if (found != accounts_.end()) return &found->second;
  if (accounts_.size() >= kMaxProcesses) {
    auto oldest = accounts_.end();
    for (auto at = accounts_.begin(); at != accounts_.end(); ++at) {
      bool earlier = at->second.ended_ns &&
                     (oldest == accounts_.end() || *at->second.ended_ns < *oldest->second.ended_ns);
      if (earlier) oldest = at;
    }
    if (oldest == accounts_.end()) return nullptr;
    ++dropped_processes_;
    accounts_.erase(oldest);
  }
  Account& account = accounts_[process];
  account.is.process = process;
  account.is.name = "unknown process";
  return &account;
}

void LiveBook::addProcess(const LiveProcess& process) {
  if (first_ns_ == 0 || process.began_ns < first_ns_) first_ns_ = process.began_ns;
  newest_ns_ = std::max(newest_ns_, process.began_ns);
  if (Account* account = accountOf(process.process)) {
    account->is = process;
  } else {
    ++dropped_processes_;
  }
}

void LiveBook::endProcess(uint32_t process, int64_t time_ns) {
  auto found = accounts_.find(process);
  if (found != accounts_.end()) found->second.ended_ns = time_ns;
  newest_ns_ = std::max(newest_ns_, time_ns);
}

void LiveBook::forgetProcess(uint32_t process) { dropped_processes_ += accounts_.erase(process); }

void LiveBook::move(Account& account, int32_t device, int64_t time_ns, uint64_t bytes, bool comes) {
  Level& level = devices_[device];
  if (comes) {
    account.live_bytes += bytes;
    raise(account.peak_bytes, account.live_bytes);
    level.live_bytes += bytes;
    raise(level.peak_bytes, level.live_bytes);
  } else {
    // The process may have been dropped for lack of space when it allocated this.
    bytes = std::min(bytes, account.live_bytes);
    account.live_bytes -= bytes;
    level.live_bytes -= std::min(bytes, level.live_bytes);
  }
  for (LevelHistory* history : {&account.minute, &account.ten_minutes, &account.whole})
    history->set(time_ns, account.live_bytes);
}

void LiveBook::take(const Effect& effect) {
  newest_ns_ = std::max(newest_ns_, effect.time_ns);
  Account* account = accountOf(effect.process);
  if (account == nullptr) return;
  bool of_device = isDeviceMemory(effect.kind);
  switch (effect.what) {
    case What::kReserved:
      if (!of_device) return;
      if (!effect.is_carried) {
        ++account->allocations;
        account->allocated.add(effect.time_ns, effect.time_ns, 1);
      }
      move(*account, effect.device, effect.time_ns, effect.size_bytes, true);
      return;
    case What::kReturned:
      if (!of_device) return;
      if (effect.cause == Cause::kCall) ++account->frees;
      move(*account, effect.device, effect.time_ns, effect.size_bytes, false);
      return;
    case What::kFreeFound:
      if (of_device) ++account->frees;
      return;
    case What::kPlaced: {  // until now it was charged to an unknown device
      if (!of_device || effect.size_bytes == 0) return;
      Level& unknown = devices_[kUnknownDevice];
      uint64_t bytes = std::min(effect.size_bytes, unknown.live_bytes);
      unknown.live_bytes -= bytes;
      Level& level = devices_[effect.device];
      level.live_bytes += bytes;
      raise(level.peak_bytes, level.live_bytes);
      return;
    }
    case What::kFailure: {
      ++account->failures;
      auto key = std::tuple(effect.function, effect.code, effect.stack);
      auto& failed = account->failed;
      if (failed.size() >= kMaxFailures && !failed.contains(key)) return;
      Failure& failure = failed[key];
      ++failure.count;
      failure.bytes = effect.size_bytes;
      failure.time_ns = effect.time_ns;
      failure.device = effect.device;
      return;
    }
    default:
      return;
  }
}

void LiveBook::addLaunches(uint32_t process, const std::string& kernel, uint64_t count,
                           int64_t begin_ns, int64_t end_ns) {
  newest_ns_ = std::max(newest_ns_, end_ns);
  Account* account = accountOf(process);
  if (account == nullptr) return;
  account->launches += count;
  account->launched.add(begin_ns, end_ns, static_cast<double>(count));
  auto& kernels = account->kernels;
  bool full = kernels.size() >= kMaxKernels && !kernels.contains(kernel);
  Kernel& it = kernels[full ? std::string(kOther) : kernel];
  it.launches += count;
  it.rate.add(begin_ns, end_ns, static_cast<double>(count));
}

void LiveBook::renameKernel(uint32_t process, const std::string& from, const std::string& to) {
  Account* account = accountOf(process);
  if (account == nullptr || from == to) return;
  auto moved = account->kernels.extract(from);
  if (moved.empty()) return;
  moved.key() = to;
  auto [at, is_new, left] = account->kernels.insert(std::move(moved));
  if (is_new) return;
  at->second.launches += left.mapped().launches;
  at->second.rate.add(left.mapped().rate);
}

void LiveBook::addCopies(uint32_t process, const LiveCopyCount& count) {
  newest_ns_ = std::max(newest_ns_, count.end_ns);
  Account* account = accountOf(process);
  if (account == nullptr) return;
  account->copies += count.calls;
  auto& copied = account->copied;
  bool full = copied.size() >= kMaxReasons && !copied.contains(count.direction);
  Copies& it = copied[full ? std::string(kOther) : count.direction];
  it.sum.calls += count.calls;
  it.sum.bytes += count.bytes;
  it.sum.failures += count.failures;
  if (isTransferTime(count.direction, count.submitted)) {
    it.sum.timed_bytes += count.bytes;
    it.sum.timed_ns += count.host_ns;
  }
  it.bytes.add(count.begin_ns, count.end_ns, static_cast<double>(count.bytes));
}

void LiveBook::addLoss(const std::string& reason, uint64_t count) {
  if (count == 0) return;
  bool full = losses_.size() >= kMaxReasons && !losses_.contains(reason);
  losses_[full ? std::string(kOther) : reason] += count;
  of_all_.add(figuresOfLoss(reason));
  has_lost_calls_ |= losesMemoryCalls(reason);
}

void LiveBook::addUnwatched(std::optional<uint32_t> process, const Unwatched& what) {
  if (!process) {
    of_all_.add(what.figures);
  } else if (Account* account = accountOf(*process)) {
    account->unwatched.add(what.figures);
    account->is_older |= lacksTheBeginning(what) && what.figures.has(Figures::kMemory);
  }
  if (unwatched_.size() < kMaxUnwatched) {
    unwatched_.push_back({process, what});
  } else {
    ++more_unwatched_;
  }
}

}  // namespace tidegauge::model
