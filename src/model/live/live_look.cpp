// LiveBook::look(): the current state of the books, as an immutable snapshot.
#include <algorithm>

#include "model/live/live_book.h"

namespace tidegauge::model {
namespace {

constexpr size_t kMaxRows = 100;
constexpr size_t kMaxLines = 8;
constexpr size_t kSparkParts = 48;
constexpr size_t kMaxStacks = 20;
constexpr size_t kMaxShownKernels = 20;
constexpr size_t kMaxShownFailures = 30;
constexpr uint32_t kMaxColumns = 1000;
constexpr int64_t kSecond_ns = 1'000'000'000;
constexpr int64_t kMinWindow_ns = 5 * kSecond_ns;

// Keeps the first `most` in order; returns how many were left out.
template <class T, class Before>
uint64_t keepFirst(std::vector<T>& rows, size_t most, const Before& before) {
  std::stable_sort(rows.begin(), rows.end(), before);
  if (rows.size() <= most) return 0;
  uint64_t more = rows.size() - most;
  rows.resize(most);
  return more;
}

}  // namespace

struct LiveBook::Scope {
  const Ledger& ledger;
  const LiveWish& wish;
  const LiveMoment& moment;
  const LiveNames& names;
  int64_t from_ns = 0, to_ns = 0;

  bool isLive() const {
    return moment.state == LiveState::kRecording || moment.state == LiveState::kMonitor;
  }
  bool holds(uint32_t process) const { return !wish.process || *wish.process == process; }
  // Whether to show the rates of its whole life instead of the last seconds.
  bool averages(const Account& account) const { return !isLive() || account.ended_ns.has_value(); }
  double rate(const Account& account, const RateMeter& meter, uint64_t total,
              int64_t until_ns) const {
    if (!averages(account)) return meter.perSecond(until_ns, account.is.began_ns);
    int64_t end_ns = account.ended_ns.value_or(moment.now_ns);
    if (end_ns <= account.is.began_ns) return 0;
    return static_cast<double>(total) * 1e9 / static_cast<double>(end_ns - account.is.began_ns);
  }
  std::vector<int64_t> line(const Account& account, size_t columns) const {
    const LevelHistory& history = wish.window == LiveWindow::kMinute       ? account.minute
                                  : wish.window == LiveWindow::kTenMinutes ? account.ten_minutes
                                                                           : account.whole;
    std::vector<uint64_t> most(columns);
    history.sample(from_ns, to_ns, most);
    std::vector<int64_t> line(most.begin(), most.end());
    double width = static_cast<double>(to_ns - from_ns) / static_cast<double>(columns);
    for (size_t i = 0; i < columns; ++i) {
      double begin = static_cast<double>(from_ns) + width * static_cast<double>(i);
      bool before = begin + width <= static_cast<double>(account.is.began_ns);
      bool after = account.ended_ns && begin > static_cast<double>(*account.ended_ns);
      if (before || after) line[i] = -1;
    }
    return line;
  }
};

LiveSnapshot LiveBook::look(const Ledger& ledger, const LiveWish& wish, const LiveMoment& moment,
                            const LiveNames& names) const {
  LiveSnapshot snapshot;
  snapshot.state = moment.state;
  snapshot.now_ns = moment.now_ns;
  snapshot.first_ns = first_ns_ == 0 ? moment.now_ns : first_ns_;
  snapshot.newest_ns = newest_ns_;
  int64_t window = wish.window == LiveWindow::kMinute       ? 60 * kSecond_ns
                   : wish.window == LiveWindow::kTenMinutes ? 600 * kSecond_ns
                                                            : moment.now_ns;
  Scope scope{ledger, wish, moment, names};
  scope.to_ns = std::max<int64_t>(moment.now_ns, 1);
  scope.from_ns = std::max(scope.to_ns - window, snapshot.first_ns);
  scope.from_ns = std::min(scope.from_ns, scope.to_ns - kMinWindow_ns);
  snapshot.from_ns = scope.from_ns;
  snapshot.to_ns = scope.to_ns;
  addDevices(snapshot, scope);
  addRows(snapshot, scope);
  addStacks(snapshot, scope);
  addWork(snapshot, scope);
  addFailures(snapshot, scope);
  addIncomplete(snapshot, scope);
  for (const auto& [reason, count] : losses_) snapshot.losses.push_back({reason, count});
  std::stable_sort(snapshot.losses.begin(), snapshot.losses.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  return snapshot;
}

void LiveBook::addIncomplete(LiveSnapshot& snapshot, const Scope& scope) const {
  snapshot.incomplete = of_all_;
  for (const auto& [process, account] : accounts_)
    if (scope.holds(process)) snapshot.incomplete.add(account.unwatched);
  for (const LiveUnwatched& it : unwatched_)
    if (!it.process || scope.holds(*it.process)) snapshot.unwatched.push_back(it);
  snapshot.more_unwatched = more_unwatched_;
}

void LiveBook::addDevices(LiveSnapshot& snapshot, const Scope& scope) const {
  for (const auto& [device, level] : devices_) {
    if (level.peak_bytes == 0) continue;
    LiveDevice row{device, level.live_bytes, level.peak_bytes, 0};
    for (const auto& [process, account] : accounts_) {
      const ProcessLedger* ledger = scope.ledger.find(process);
      if (ledger != nullptr && ledger->deviceSum(device).bytes > 0) ++row.processes;
    }
    // Its memory turned out to be on another device.
    if (device < 0 && row.live_bytes == 0) continue;
    snapshot.devices.push_back(row);
  }
}

void LiveBook::addRows(LiveSnapshot& snapshot, const Scope& scope) const {
  for (const auto& [process, account] : accounts_) {
    const ProcessLedger* ledger = scope.ledger.find(process);
    if (ledger == nullptr && account.launches == 0 && account.copied.empty()) continue;
    LiveRow row;
    row.process = process;
    row.pid = account.is.pid;
    row.name = account.is.name;
    row.command = account.is.command;
    row.began_ns = account.is.began_ns;
    row.ended_ns = account.ended_ns;
    row.live_bytes = account.live_bytes;
    row.peak_bytes = account.peak_bytes;
    row.allocations = account.allocations;
    row.frees = account.frees;
    row.launches = account.launches;
    row.failures = account.failures;
    row.copies = account.copies;
    row.is_average = scope.averages(account);
    row.incomplete = of_all_;
    row.incomplete.add(account.unwatched);
    int64_t counted_ns = scope.moment.counted_ns;
    row.allocations_per_s =
        scope.rate(account, account.allocated, account.allocations, scope.moment.now_ns);
    row.launches_per_s = scope.rate(account, account.launched, account.launches, counted_ns);
    for (const auto& [direction, copies] : account.copied) {
      double per_s = scope.rate(account, copies.bytes, copies.sum.bytes, counted_ns);
      if (direction == "host to device") {
        row.copied_to_device_bytes = copies.sum.bytes;
        row.to_device_bytes_per_s = per_s;
      } else if (direction == "device to host") {
        row.copied_to_host_bytes = copies.sum.bytes;
        row.to_host_bytes_per_s = per_s;
      }
    }
    snapshot.processes.push_back(std::move(row));
  }
  snapshot.more_processes =
      dropped_processes_ +
      keepFirst(snapshot.processes, kMaxRows, [](const LiveRow& a, const LiveRow& b) {
        auto key = [](const LiveRow& row) {
          return std::tuple(!row.ended_ns, row.live_bytes, row.peak_bytes, ~row.process);
        };
        return key(a) > key(b);
      });
  size_t columns = std::clamp<uint32_t>(scope.wish.columns, 1, kMaxColumns);
  size_t lines = 0;
  for (LiveRow& row : snapshot.processes) {
    const Account& account = accounts_.at(row.process);
    bool chosen = scope.wish.process == row.process;
    row.spark = scope.line(account, kSparkParts);
    if (row.peak_bytes > 0 && (chosen || lines < kMaxLines)) {
      row.line = scope.line(account, columns);
      ++lines;
    }
    row.at_least = account.is_older && !has_lost_calls_;
    const ProcessLedger* ledger = scope.ledger.find(row.process);
    if (ledger == nullptr) continue;
    uint64_t blocks = 0, used = 0;
    for (int32_t device : ledger->devices()) {
      const MemorySum& sum = ledger->deviceSum(device);
      if (sum.peak_bytes > 0 && (device >= 0 || sum.bytes > 0))
        row.devices.push_back({device, sum.bytes, sum.peak_bytes, 1});
      for (MemoryKind kind : {MemoryKind::kPinnedHost, MemoryKind::kRegisteredHost})
        row.host_bytes += ledger->sum(device, kind).bytes;
      blocks += ledger->sum(device, MemoryKind::kBlock).allocations;
      used += ledger->sum(device, MemoryKind::kBlock).bytes;
    }
    row.unfreed_bytes = ledger->unfreedBytes();
    row.at_least |= ledger->counts().showOlder() && !has_lost_calls_;
    if (blocks == 0) continue;
    row.framework_used_bytes = used;
    row.framework_reserved_bytes = 0;
    for (const LiveRange& range : ledger->liveRanges())
      if (range.of_framework) *row.framework_reserved_bytes += range.size_bytes;
    // Blocks in memory older than the watch: the framework reserved at least that.
    *row.framework_reserved_bytes += ledger->outsideBytes();
  }
}

void LiveBook::addStacks(LiveSnapshot& snapshot, const Scope& scope) const {
  struct Row {
    LiveStack shown;
    uint32_t stack;
  };
  auto fill = [&](std::vector<LiveStack>& into, uint64_t& more, uint64_t& bytes, auto&& heldOf) {
    std::vector<Row> rows;
    for (const auto& [process, account] : accounts_) {
      const ProcessLedger* ledger = scope.ledger.find(process);
      if (ledger == nullptr || !scope.holds(process)) continue;
      for (const HeldBy& held : heldOf(*ledger)) {
        rows.push_back({{process, held.device, held.kind, held.bytes, held.count, {}}, held.stack});
        bytes += held.bytes;
      }
    }
    more = keepFirst(rows, kMaxStacks,
                     [](const Row& a, const Row& b) { return a.shown.bytes > b.shown.bytes; });
    for (Row& row : rows) {
      if (row.stack != kNoStackOfCall) row.shown.stack = scope.names.stack(row.stack);
      into.push_back(std::move(row.shown));
    }
  };
  auto onDevices = [](std::vector<HeldBy> held) {
    std::erase_if(held, [](const HeldBy& it) { return !isDeviceMemory(it.kind); });
    return held;
  };
  fill(snapshot.stacks, snapshot.more_stacks, snapshot.stacks_bytes,
       [&](const ProcessLedger& ledger) { return onDevices(ledger.heldByStack()); });
  fill(snapshot.unfreed, snapshot.more_unfreed, snapshot.unfreed_bytes,
       [&](const ProcessLedger& ledger) { return onDevices(ledger.unfreedAtExit()); });
  fill(snapshot.blocks, snapshot.more_blocks, snapshot.blocks_bytes,
       [](const ProcessLedger& ledger) { return ledger.blocksByStack(); });
}

void LiveBook::addWork(LiveSnapshot& snapshot, const Scope& scope) const {
  std::map<std::string, LiveCopies> directions;
  int64_t counted_ns = scope.moment.counted_ns;
  for (const auto& [process, account] : accounts_) {
    if (!scope.holds(process)) continue;
    for (const auto& [name, kernel] : account.kernels) {
      double per_s = scope.rate(account, kernel.rate, kernel.launches, counted_ns);
      snapshot.kernels.push_back({process, name, kernel.launches, per_s});
    }
    snapshot.launches += account.launches;
    snapshot.launches_per_s += scope.rate(account, account.launched, account.launches, counted_ns);
    for (const auto& [direction, copies] : account.copied) {
      LiveCopies& sum = directions[direction];
      sum.direction = direction;
      sum.calls += copies.sum.calls;
      sum.bytes += copies.sum.bytes;
      sum.failures += copies.sum.failures;
      sum.timed_bytes += copies.sum.timed_bytes;
      sum.timed_ns += copies.sum.timed_ns;
      sum.bytes_per_s += scope.rate(account, copies.bytes, copies.sum.bytes, counted_ns);
    }
  }
  snapshot.more_kernels =
      keepFirst(snapshot.kernels, kMaxShownKernels,
                [](const LiveKernel& a, const LiveKernel& b) { return a.launches > b.launches; });
  for (auto& [direction, sum] : directions) snapshot.copies.push_back(std::move(sum));
  std::stable_sort(snapshot.copies.begin(), snapshot.copies.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
}

void LiveBook::addFailures(LiveSnapshot& snapshot, const Scope& scope) const {
  struct Row {
    LiveFailure shown;
    uint16_t function;
    uint32_t stack;
  };
  std::vector<Row> rows;
  uint64_t all = 0, shown = 0;
  for (const auto& [process, account] : accounts_) {
    if (!scope.holds(process)) continue;
    all += account.failures;
    for (const auto& [key, failure] : account.failed) {
      auto [function, code, stack] = key;
      rows.push_back(
          {{process, {}, code, failure.device, failure.count, failure.bytes, failure.time_ns, {}},
           function,
           stack});
    }
  }
  (void)keepFirst(rows, kMaxShownFailures,
                  [](const Row& a, const Row& b) { return a.shown.last_ns > b.shown.last_ns; });
  for (Row& row : rows) {
    row.shown.function = scope.names.function(row.function);
    if (row.stack != kNoStackOfCall) row.shown.stack = scope.names.stack(row.stack);
    shown += row.shown.count;
    snapshot.failures.push_back(std::move(row.shown));
  }
  snapshot.more_failures = all - shown;
}

}  // namespace tidegauge::model
