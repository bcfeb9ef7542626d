// The figures of pte and smaps for one mapping of a process, a line of JSON each. The back-ends
// alone, since all of tidegauge would need all its libraries for arm64.
//
//     arm64_wss 4711 0xffff9a000000 1    {"backend": "pte", "rss": …, "referenced": …, …}
#include <fmt/format.h>
#include <time.h>

#include <cstdlib>

#include "wss/backends/smaps_backend.h"
#include "wss/pte/pte_backend.h"
#include "wss/sample/sampled_backend.h"

namespace {

using namespace tidegauge;
using namespace tidegauge::wss;

class PlainClock final : public Clock {
 public:
  int64_t now_ns() override { return timeOf(CLOCK_MONOTONIC); }
  int64_t cpu_ns() override { return timeOf(CLOCK_PROCESS_CPUTIME_ID); }
  void sleep(int64_t ns) override {
    timespec time{ns / 1'000'000'000, ns % 1'000'000'000};
    nanosleep(&time, nullptr);
  }
  bool isEnding() const override { return false; }

 private:
  static int64_t timeOf(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }
};

int failed(const base::Error& error) {
  fmt::print(stderr, "{}. {}\n", error.what, error.hint);
  return 1;
}

int measure(Backend& backend, std::string_view name, const Process& process, uint64_t address,
            int64_t window_ns) {
  PlainClock clock;
  auto cleared = backend.clear(process, clock);
  if (!cleared.ok()) return failed(cleared.error());
  clock.sleep(window_ns);
  auto read = backend.read(process, clock);
  if (!read.ok()) return failed(read.error());
  MappingSums sums;
  for (const MappingUse& use : read.value().uses)
    if (use.mapping.start <= address && address < use.mapping.end) sums.add(use.sums);
  fmt::print("{{\"backend\": \"{}\"", name);
  for (auto [sum, member] : kSums) fmt::print(", \"{}\": {}", sum, sums.*member);
  fmt::print("}}\n");
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) return 2;
  auto process = Process::open(std::atoi(words[1]));
  if (!process.ok()) return failed(process.error());
  uint64_t address = std::strtoull(words[2], nullptr, 16);
  auto window_ns = static_cast<int64_t>(std::atof(words[3]) * 1e9);
  auto tables = PageTables::open(), more_tables = PageTables::open();
  if (!tables.ok()) return failed(tables.error());
  if (!more_tables.ok()) return failed(more_tables.error());
  PteBackend pte(std::move(tables).value(), flushOfThisKernel());
  SampledBackend sampled(std::move(more_tables).value(), {2, 32}, flushOfThisKernel(), 7);
  SmapsBackend smaps(flushOfThisKernel());
  return measure(pte, "pte", process.value(), address, window_ns) +
         measure(smaps, "smaps", process.value(), address, window_ns) +
         measure(sampled, "sampled", process.value(), address, window_ns);
}
