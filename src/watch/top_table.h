// The table of `tidegauge top`: a row per process and device, with rates between two calls.
//
//      PID COMM      DEV     LIVE     PEAK     USED  ALLOC/S  LAUNCH/S  H2D/S  D2H/S FAIL
//    11200 python      0 1.20 GiB 2.01 GiB 0.97 GiB      310    12,044    1.2    0.0    0
//
// LIVE is the driver's memory allocated since the recorder began; USED is PyTorch's share of it in
// blocks. Narrow terminals lose columns, the least important first. Rates of launches and copies
// belong to the process: its first row shows them.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/session/session.h"

namespace tidegauge::watch {

struct TopRow {
  uint32_t process = 0;  // index
  uint32_t pid = 0;
  std::string name;
  int32_t device = model::kUnknownDevice;
  bool is_first = true;  // of its process
  uint64_t live_bytes = 0, peak_bytes = 0;
  std::optional<uint64_t> used_bytes;  // absent: no framework was seen
  double allocations_per_s = 0, frees_per_s = 0;
  double launches_per_s = 0, to_device_bytes_per_s = 0, to_host_bytes_per_s = 0;
  uint64_t failures = 0;
  model::FigureSet incomplete;  // figures that are incomplete
};

enum class TopOrder : uint8_t { kLive, kPeak, kAllocations, kLaunches, kCopies, kFailures, kPid };
std::string_view name(TopOrder order);  // "live", "peak", "alloc", …
std::optional<TopOrder> topOrderNamed(std::string_view text);
TopOrder next(TopOrder order);

class TopMeter {
 public:
  // Running processes. Rates since the last call; 0 in the first.
  std::vector<TopRow> read(const record::Session& session, int64_t now_ns);

 private:
  struct Counts {
    uint64_t allocations = 0, frees = 0, launches = 0, to_device = 0, to_host = 0;
  };
  using Key = std::pair<uint32_t, int32_t>;
  std::map<Key, Counts> before_;
  int64_t before_ns_ = 0;
};

// Largest first (pid: smallest), rows of a process kept together by its best row; only names or
// pids that contain `filter`.
std::vector<TopRow> arranged(std::vector<TopRow> rows, TopOrder order, std::string_view filter);

// The heading and a line per row, none wider than `columns`.
std::vector<std::string> topLines(const std::vector<TopRow>& rows, TopOrder order, size_t columns);
// "3 processes · 4.1 GiB live · lost 0": for the line above the table.
std::string topSummary(const std::vector<TopRow>& rows, const record::Losses& losses);
nlohmann::json topJson(const std::vector<TopRow>& rows, const record::Losses& losses);

// One process: what holds its memory, its kernels, copies and failures.
std::vector<std::string> processLines(const record::Session& session, uint32_t process,
                                      size_t columns);

}  // namespace tidegauge::watch
