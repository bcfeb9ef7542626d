#include "watch/top_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/format.h"
#include "base/text_layout.h"
#include "watch/metrics.h"

namespace tidegauge::watch {
namespace {

constexpr std::array<std::string_view, 7> kOrders = {"live",   "peak",     "alloc", "launches",
                                                     "copies", "failures", "pid"};
constexpr double kMiB = 1 << 20;

std::string rate(double per_s) {
  return per_s >= 10 || per_s == 0 ? base::withCommas(static_cast<uint64_t>(std::llround(per_s)))
                                   : fmt::format("{:.1f}", per_s);
}
std::string mebibytes(double bytes_per_s) {
  double value = bytes_per_s / kMiB;
  return value >= 100 ? base::withCommas(static_cast<uint64_t>(std::llround(value)))
                      : fmt::format("{:.1f}", value);
}

struct Column {
  std::string_view heading;
  size_t width;
  int rank;  // columns with a high rank are dropped first
  std::optional<TopOrder> order;
  std::string (*text)(const TopRow&);
};
std::string ofProcess(const TopRow& row, std::string text) {
  return row.is_first ? std::move(text) : "";
}
const std::array<Column, 12>& columnsOfTable() {
  static const std::array<Column, 12> kColumns = {{
      {"!", 1, 0, {}, [](const TopRow& r) { return std::string(r.incomplete.empty() ? "" : "!"); }},
      {"DEV",
       3,
       4,
       {},
       [](const TopRow& r) { return r.device < 0 ? "?" : std::to_string(r.device); }},
      {"LIVE", 9, 0, TopOrder::kLive,
       [](const TopRow& r) { return base::humanBytes(r.live_bytes); }},
      {"PEAK", 9, 3, TopOrder::kPeak,
       [](const TopRow& r) { return base::humanBytes(r.peak_bytes); }},
      {"USED",
       9,
       6,
       {},
       [](const TopRow& r) {
         return r.used_bytes ? base::humanBytes(*r.used_bytes) : std::string("-");
       }},
      {"USED%",
       5,
       5,
       {},
       [](const TopRow& r) {
         bool known = r.used_bytes && r.live_bytes > 0;
         return known ? fmt::format("{:.0f}%", 100.0 * static_cast<double>(*r.used_bytes) /
                                                   static_cast<double>(r.live_bytes))
                      : std::string("-");
       }},
      {"ALLOC/S", 8, 2, TopOrder::kAllocations,
       [](const TopRow& r) { return rate(r.allocations_per_s); }},
      {"FREE/S", 7, 7, {}, [](const TopRow& r) { return rate(r.frees_per_s); }},
      {"LAUNCH/S", 8, 2, TopOrder::kLaunches,
       [](const TopRow& r) { return ofProcess(r, rate(r.launches_per_s)); }},
      {"H2D MiB/s", 9, 3, TopOrder::kCopies,
       [](const TopRow& r) { return ofProcess(r, mebibytes(r.to_device_bytes_per_s)); }},
      {"D2H MiB/s",
       9,
       4,
       {},
       [](const TopRow& r) { return ofProcess(r, mebibytes(r.to_host_bytes_per_s)); }},
      {"FAIL", 5, 1, TopOrder::kFailures,
       [](const TopRow& r) { return ofProcess(r, base::withCommas(r.failures)); }},
  }};
  return kColumns;
}

double keyOf(const TopRow& row, TopOrder order) {
  switch (order) {
    case TopOrder::kLive:
      return static_cast<double>(row.live_bytes);
    case TopOrder::kPeak:
      return static_cast<double>(row.peak_bytes);
    case TopOrder::kAllocations:
      return row.allocations_per_s;
    case TopOrder::kLaunches:
      return row.launches_per_s;
    case TopOrder::kCopies:
      return row.to_device_bytes_per_s + row.to_host_bytes_per_s;
    case TopOrder::kFailures:
      return static_cast<double>(row.failures);
    case TopOrder::kPid:
      return -static_cast<double>(row.pid);
  }
  return 0;
}

}  // namespace

std::string_view name(TopOrder order) { return kOrders[static_cast<size_t>(order)]; }
std::optional<TopOrder> topOrderNamed(std::string_view text) {
  for (size_t i = 0; i < kOrders.size(); ++i)
    if (kOrders[i] == text) return static_cast<TopOrder>(i);
  return std::nullopt;
}
TopOrder next(TopOrder order) {
  return static_cast<TopOrder>((static_cast<size_t>(order) + 1) % kOrders.size());
}

std::vector<TopRow> TopMeter::read(const record::Session& session, int64_t now_ns) {
  std::vector<TopRow> rows;
  std::map<Key, Counts> counts;
  double seconds = before_ns_ == 0 ? 0 : static_cast<double>(now_ns - before_ns_) / 1e9;
  for (const record::SessionProcess& process : session.processes()) {
    if (process.ended_ns || !hasCalled(session, process)) continue;
    uint32_t index = process.seen.index;
    const model::ProcessLedger* ledger = session.ledger().find(index);
    std::vector<int32_t> devices;
    if (ledger != nullptr)
      for (int32_t device : ledger->devices())
        if (ledger->deviceSum(device).allocations > 0) devices.push_back(device);
    if (devices.empty()) devices.push_back(model::kUnknownDevice);
    for (size_t i = 0; i < devices.size(); ++i) {
      TopRow row;
      row.process = index;
      row.pid = process.seen.pid;
      row.name = base::printable(process.seen.name);
      row.device = devices[i];
      row.is_first = i == 0;
      row.incomplete = session.incompleteOf(process);
      Counts& now = counts[{index, devices[i]}];
      if (ledger != nullptr) {
        const model::MemorySum& sum = ledger->deviceSum(row.device);
        row.live_bytes = sum.bytes;
        row.peak_bytes = sum.peak_bytes;
        now.allocations = sum.allocations;
        now.frees = sum.frees;
        const model::MemorySum& blocks = ledger->sum(row.device, model::MemoryKind::kBlock);
        if (blocks.allocations > 0) row.used_bytes = blocks.bytes;
      }
      if (row.is_first) {
        for (const auto& [kernel, launches] : process.launches) now.launches += launches;
        for (const record::CopyCount& copy : process.copies) {
          if (copy.direction == COPY_HOST_TO_DEVICE) now.to_device += copy.bytes;
          if (copy.direction == COPY_DEVICE_TO_HOST) now.to_host += copy.bytes;
        }
        if (ledger != nullptr)
          for (const auto& [code, failed] : ledger->failuresByCode()) row.failures += failed;
      }
      if (seconds > 0) {
        // A row that is new since the last call has started since then.
        auto found = before_.find({index, row.device});
        Counts before = found == before_.end() ? Counts{} : found->second;
        auto per_s = [&](uint64_t Counts::*count) {
          uint64_t more = now.*count - std::min(now.*count, before.*count);
          return static_cast<double>(more) / seconds;
        };
        row.allocations_per_s = per_s(&Counts::allocations);
        row.frees_per_s = per_s(&Counts::frees);
        row.launches_per_s = per_s(&Counts::launches);
        row.to_device_bytes_per_s = per_s(&Counts::to_device);
        row.to_host_bytes_per_s = per_s(&Counts::to_host);
      }
      rows.push_back(std::move(row));
    }
  }
  before_ = std::move(counts);
  before_ns_ = now_ns;
  return rows;
}

std::vector<TopRow> arranged(std::vector<TopRow> rows, TopOrder order, std::string_view filter) {
  std::erase_if(rows, [&](const TopRow& row) {
    return row.name.find(filter) == std::string::npos &&
           std::to_string(row.pid).find(filter) == std::string::npos;
  });
  std::map<uint32_t, double> best;
  for (const TopRow& row : rows) {
    auto [found, is_new] = best.try_emplace(row.process, keyOf(row, order));
    if (!is_new) found->second = std::max(found->second, keyOf(row, order));
  }
  std::stable_sort(rows.begin(), rows.end(), [&](const TopRow& a, const TopRow& b) {
    double left = best[a.process], right = best[b.process];
    return left != right ? left > right : a.process < b.process;
  });
  return rows;
}

std::vector<std::string> topLines(const std::vector<TopRow>& rows, TopOrder order, size_t columns) {
  constexpr size_t kPidWidth = 8, kMinName = 8, kMaxName = 15;
  const auto& all = columnsOfTable();
  std::vector<bool> shown(all.size(), true);
  auto width = [&] {
    size_t sum = kPidWidth + 1 + kMinName;
    for (size_t i = 0; i < all.size(); ++i) sum += shown[i] ? all[i].width + 1 : 0;
    return sum;
  };
  while (width() > columns) {
    size_t worst = all.size();
    for (size_t i = 0; i < all.size(); ++i)
      if (shown[i] && (worst == all.size() || all[i].rank >= all[worst].rank)) worst = i;
    if (worst == all.size()) break;
    shown[worst] = false;
  }
  size_t room = columns > width() ? columns - width() : 0;
  size_t name_width = std::min(kMinName + room, kMaxName);
  auto line = [&](const std::string& pid, std::string_view process, const auto& cell) {
    std::string text = base::padLeft(pid, kPidWidth) + " " +
                       base::padRight(base::cutTo(process, name_width), name_width);
    for (size_t i = 0; i < all.size(); ++i)
      if (shown[i]) text += " " + base::padLeft(cell(all[i]), all[i].width);
    return base::cutTo(text, columns);
  };
  std::vector<std::string> lines;
  lines.push_back(line(order == TopOrder::kPid ? "PID*" : "PID", "COMM", [&](const Column& column) {
    return std::string(column.heading) + (column.order == order ? "*" : "");
  }));
  for (const TopRow& row : rows)
    lines.push_back(line(row.is_first ? std::to_string(row.pid) : "", row.is_first ? row.name : "",
                         [&](const Column& column) { return column.text(row); }));
  return lines;
}

std::string topSummary(const std::vector<TopRow>& rows, const record::Losses& losses) {
  uint64_t live = 0, lost = 0;
  std::set<uint32_t> processes;
  for (const TopRow& row : rows) {
    live += row.live_bytes;
    processes.insert(row.process);
  }
  for (size_t i = 0; i < LOSS_KINDS; ++i) lost += losses[i];
  bool incomplete = lost > 0 || std::any_of(rows.begin(), rows.end(), [](const TopRow& row) {
                      return !row.incomplete.empty();
                    });
  return fmt::format("{} {} · {} live · lost {}{}", processes.size(),
                     processes.size() == 1 ? "process" : "processes", base::humanBytes(live),
                     base::withCommas(lost), incomplete ? " · !: figures are incomplete" : "");
}

nlohmann::json topJson(const std::vector<TopRow>& rows, const record::Losses& losses) {
  nlohmann::json lost = nlohmann::json::object(), list = nlohmann::json::array();
  uint64_t lost_events = 0;
  for (size_t i = 0; i < LOSS_KINDS; ++i) {
    lost[std::string(record::lossReason(i))] = losses[i];
    lost_events += losses[i];
  }
  bool incomplete = lost_events > 0;
  for (const TopRow& row : rows) {
    incomplete |= !row.incomplete.empty();
    nlohmann::json it = {{"pid", row.pid},
                         {"comm", row.name},
                         {"device", nullptr},
                         {"live_bytes", row.live_bytes},
                         {"peak_bytes", row.peak_bytes},
                         {"used_bytes", nullptr},
                         {"allocations_per_second", row.allocations_per_s},
                         {"frees_per_second", row.frees_per_s},
                         {"launches_per_second", nullptr},
                         {"host_to_device_bytes_per_second", nullptr},
                         {"device_to_host_bytes_per_second", nullptr},
                         {"failures", nullptr},
                         {"incomplete", row.incomplete.names()}};
    if (row.device >= 0) it["device"] = row.device;
    if (row.used_bytes) it["used_bytes"] = *row.used_bytes;
    if (row.is_first) {
      it["launches_per_second"] = row.launches_per_s;
      it["host_to_device_bytes_per_second"] = row.to_device_bytes_per_s;
      it["device_to_host_bytes_per_second"] = row.to_host_bytes_per_s;
      it["failures"] = row.failures;
    }
    list.push_back(std::move(it));
  }
  return {{"incomplete", incomplete}, {"lost", std::move(lost)}, {"processes", std::move(list)}};
}

}  // namespace tidegauge::watch
