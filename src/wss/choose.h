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
  bool is_sampled = false;
  std::string why;  // why it is not the first choice, or what that costs; empty: nothing to say
};

struct Wish {
  std::string backend = "auto";  // or pte, smaps
  std::string sample = "auto";   // or exact, 1/32, 1/128, 1/512
  bool needs_sharing = false;    // PSS is wanted
  bool needs_pages = false;      // page by page
  double most_stall_ms = 5;      // above, auto says that a sample would stop it for less
};
// `rss_bytes`: of the process, for what it would cost.
base::Result<Choice> chooseBackend(const Wish& wish, uint64_t rss_bytes);

}  // namespace tidegauge::wss
