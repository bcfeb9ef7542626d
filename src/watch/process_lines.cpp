// processLines(): the expanded view of one process in `tidegauge top`.
#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/text_layout.h"
#include "watch/metrics.h"
#include "watch/top_table.h"

namespace tidegauge::watch {
namespace {

constexpr size_t kMaxStacks = 8, kMaxFrames = 6, kMaxKernelLines = 12;

class Lines {
 public:
  explicit Lines(size_t columns) : columns_(columns) {}
  void add(const std::string& text) { lines_.push_back(base::cutTo(text, columns_)); }
  void head(const std::string& text) {
    add("");
    add(text);
  }
  std::vector<std::string> take() { return std::move(lines_); }

 private:
  size_t columns_;
  std::vector<std::string> lines_;
};

void addMemory(Lines& lines, const model::ProcessLedger& ledger) {
  lines.head("Memory");
  for (int32_t device : ledger.devices())
    for (size_t i = 0; i < model::kMemoryKinds; ++i) {
      auto kind = static_cast<model::MemoryKind>(i);
      const model::MemorySum& sum = ledger.sum(device, kind);
      if (sum.allocations == 0 && sum.failures == 0) continue;
      std::string_view what =
          kind == model::MemoryKind::kBlock ? "PyTorch's blocks" : model::name(kind);
      lines.add(fmt::format("  {} {:<18} {} live in {}, peak {}, {} failed",
                            device < 0 ? "?" : std::to_string(device), what,
                            base::humanBytes(sum.bytes), base::counted(sum.live, "block"),
                            base::humanBytes(sum.peak_bytes), base::withCommas(sum.failures)));
    }
  for (const auto& [code, count] : ledger.failuresByCode())
    lines.add(fmt::format("  code {} returned {}", code, base::counted(count, "time")));
}

void addStacks(Lines& lines, const record::Session& session, const model::ProcessLedger& ledger) {
  std::vector<model::HeldBy> held = ledger.heldByStack();
  std::erase_if(held, [](const auto& it) { return !model::isDeviceMemory(it.kind); });
  if (held.empty()) return;
  lines.head("Call sites that hold device memory");
  for (size_t i = 0; i < std::min(held.size(), kMaxStacks); ++i) {
    model::StackWords stack = session.describeStack(held[i].stack);
    lines.add(
        fmt::format("  {} in {}, {}: {}", base::humanBytes(held[i].bytes),
                    base::counted(held[i].count, "block"), model::name(held[i].kind),
                    stack.frames.empty() ? "no stack was recorded" : base::printable(stack.site)));
    for (size_t j = 0; j < std::min(stack.frames.size(), kMaxFrames); ++j)
      lines.add("      " + base::printable(stack.frames[j]));
  }
}

void addKernels(Lines& lines, const record::SessionProcess& process) {
  if (process.launches.empty()) return;
  std::vector<std::pair<std::string, uint64_t>> order(process.launches.begin(),
                                                      process.launches.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  lines.head(fmt::format("Kernels ({})", order.size()));
  for (size_t i = 0; i < std::min(order.size(), kMaxKernelLines); ++i)
    lines.add(fmt::format("  {:>12}  {}", base::withCommas(order[i].second), order[i].first));
}

void addCopies(Lines& lines, const record::SessionProcess& process) {
  if (process.copies.empty()) return;
  struct Sum {
    uint64_t calls = 0, bytes = 0, failures = 0;
  };
  std::map<uint8_t, Sum> sums;
  for (const record::CopyCount& copy : process.copies) {
    Sum& sum = sums[copy.direction];
    sum.calls += copy.calls;
    sum.bytes += copy.bytes;
    sum.failures += copy.failures;
  }
  lines.head("Copies");
  for (const auto& [direction, sum] : sums)
    lines.add(fmt::format("  {:<18} {} in {}, {} failed", record::directionName(direction),
                          base::humanBytes(sum.bytes), base::counted(sum.calls, "call"),
                          base::withCommas(sum.failures)));
}

}  // namespace

std::vector<std::string> processLines(const record::Session& session, uint32_t process,
                                      size_t columns) {
  Lines lines(columns);
  if (process >= session.processes().size()) return {};
  if (!session.processes().contains(process))
    return {"This process has ended and is no longer listed."};
  const record::SessionProcess& it = session.processes()[process];
  lines.add(fmt::format("{} {}{}", it.seen.pid, base::printable(it.seen.name),
                        it.ended_ns ? ", ended" : ""));
  lines.add(base::printable(it.seen.command));
  if (model::FigureSet incomplete = session.incompleteOf(it); !incomplete.empty())
    lines.add(fmt::format("incomplete, because not all calls were recorded: {}",
                          fmt::join(incomplete.names(), ", ")));
  std::optional<uint64_t> by_driver;
  if (!it.ended_ns) by_driver = session.driversFigureOf(it.seen.pid);
  if (by_driver)
    lines.add(
        fmt::format("the driver reports (NVML) {} on all devices, including contexts and modules",
                    base::humanBytes(*by_driver)));
  if (const model::ProcessLedger* ledger = session.ledger().find(process)) {
    addMemory(lines, *ledger);
    addStacks(lines, session, *ledger);
  }
  addKernels(lines, it);
  addCopies(lines, it);
  return lines.take();
}

}  // namespace tidegauge::watch
