// Rows for programs. Bytes are bytes and times are seconds; docs/json-wss.md has every field.
//
//   {"time": 1784…, "window_s": {"asked": 0.1, "mean": 0.1002, "least": …, "most": …},
//    "bytes": {"rss": …, "pss": …, "referenced": …}, "cost": {"cpu_s": …, "stall_s": …}, …}
#pragma once

#include <nlohmann/json.hpp>

#include "wss/grouping.h"

namespace tidegauge::wss {

// `unix_s`: when the reading ended.
nlohmann::json rowJson(const Row& row, const Plan& plan, double unix_s,
                       const std::vector<Group>& groups, bool knows_sharing);

std::string csvHeader();
// Without `knows_sharing` (Backend::knowsSharing) pss, shared and locked are null, in CSV empty.
std::string csvRow(const Row& row, double unix_s, bool knows_sharing);

}  // namespace tidegauge::wss
