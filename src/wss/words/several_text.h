// A window of several processes, for people and for programs.
//
//     PID process            RSS(MB)   Ref(MB)  Ref%   Est(s) CPU(ms) Stall(ms)
//    4711 postgres            403.66     28.02   6.9    0.103     8.9       6.1
//    4712 postgres            398.01     20.50   5.2    0.103     8.2       5.8
//         all, shared once    471.20     35.11   7.5
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "wss/measure/several.h"

namespace tidegauge::wss {

// `once` is absent if shared pages are unknown. At most `top` processes, most touched first, and
// the sum of the rest.
std::string severalText(const std::vector<Member>& members, const std::optional<Once>& once,
                        size_t top, size_t columns);
nlohmann::json severalJson(const std::vector<Member>& members, const std::optional<Once>& once,
                           const Plan& plan, double unix_s, bool knows_sharing);

}  // namespace tidegauge::wss
