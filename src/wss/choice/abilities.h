// Which back-ends can measure here, and why the others cannot: `wss --probe`, and a part of
// `doctor`.
//
//   ok   pte    the page tables, page by page …
//   no   mglru  …: there is no debugfs. Mount it: …
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidegauge::wss {

struct Ability {
  std::string_view name;   // of the back-end
  std::string_view tells;  // what it reads, and about whom
  base::Status status;     // the error says why not
};

// All of wss::kBackends, in that order. Loads the BPF program, if allowed: 3 ms.
std::vector<Ability> lookAtBackends();
// The first one that auto would choose; every user has one.
std::string_view firstOf(const std::vector<Ability>& abilities);
std::string abilitiesText(const std::vector<Ability>& abilities, size_t columns);
nlohmann::json abilitiesJson(const std::vector<Ability>& abilities);

}  // namespace tidegauge::wss
