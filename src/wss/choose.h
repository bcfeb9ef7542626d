// Which back-end measures: the one that was asked for, or the best one that this user may use here.
//
//   auto, root      → pte      page by page, cheap to read, this process's touches alone
//   auto, all else  → smaps    always works: of one's own processes without any right
#pragma once

#include <memory>
#include <string>

#include "wss/backend.h"

namespace tidegauge::wss {

struct Choice {
  std::unique_ptr<Backend> backend;
  std::string why_not_first;  // why it is not the first choice; empty: it is, or was asked for
};

// `name`: auto, pte or smaps. `needs_sharing`: PSS is wanted.
base::Result<Choice> chooseBackend(const std::string& name, bool needs_sharing);

}  // namespace tidegauge::wss
