// Rows for programs. Bytes are bytes and times are seconds; docs/measure/working-set.md lists every
// field.
//
//   {"time": 1784…, "window_s": {"asked": 0.1, "mean": 0.1002, "least": …, "most": …},
//    "bytes": {"rss": …, "pss": …, "referenced": …}, "cost": {"cpu_s": …, "stall_s": …}, …}
#pragma once

#include <nlohmann/json.hpp>

#include "wss/measure/grouping.h"
#include "wss/measure/heat_map.h"
#include "wss/measure/page_history.h"

namespace tidegauge::wss {

// The name of one of kSums: if a back-end only detects writes, touched becomes written.
const char* sumName(const char* name, uint64_t MappingSums::*sum, bool tells_writes);

// `unix_s`: when the reading ended.
nlohmann::json rowJson(const Row& row, const Plan& plan, double unix_s,
                       const std::vector<Group>& groups, bool knows_sharing,
                       bool tells_writes = false);

// The figures of --rolling for a row; `window_s`: as requested.
nlohmann::json rollingJson(const Rolling& rolling, double window_s);
// For each 64 KiB with memory: [address, pages, touched pages].
nlohmann::json cellsJson(std::span<const PageBits> pages);
std::string csvHeader(bool tells_writes = false);
// Without `knows_sharing` (BackendTraits), pss, shared and locked are null, in CSV empty.
std::string csvRow(const Row& row, double unix_s, bool knows_sharing);

}  // namespace tidegauge::wss
