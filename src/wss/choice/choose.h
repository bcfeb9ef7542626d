// Which back-end measures: the requested one, or the best one that this user may use here.
//
//   auto, root      → pte      page by page, cheap to read, this process's touches alone
//   auto, others    → smaps    always works: for one's own processes without any privilege
//   by name only    → idle, damon, mglru, write
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "wss/backends/backend.h"
#include "wss/backends/flush.h"
#include "wss/process/unseen_touches.h"

namespace tidegauge::wss {

inline constexpr std::array<std::string_view, 6> kBackends{"pte",   "smaps", "idle",
                                                           "damon", "mglru", "write"};

// Whether that one can run here; the error says why not, and what it needs.
base::Status checkBackend(std::string_view name);

struct Choice {
  std::unique_ptr<Backend> backend;
  bool is_sampled = false;
  std::string why;  // why it is not the first choice, or its drawback; empty: nothing to report
};

struct Wish {
  std::string backend = "auto";  // or one of kBackends
  std::string sample = "auto";   // or exact, 1/32, 1/128, 1/512
  bool needs_sharing = false;    // PSS is required
  bool needs_pages = false;      // page by page
  double most_stall_ms = 5;      // above this, auto mentions that a sample would stop it for less
  int64_t window_ns = 0;         // of the first window
  bool is_exact_window = false;  // the process stands still while it is cleared and read
  bool may_ask_kvm = false;      // auto may take idle or damon, for a guest of KVM
  std::string cgroup{};          // idle: also its page cache that no process maps; empty: none
};
base::Result<Choice> chooseBackend(const Wish& wish, const Process& process);

// Whether auto looks for a back-end that asks KVM (idle, damon): a guest touches memory, and the
// flush of this kernel does not let it fault again.
bool mustAskKvm(const UnseenTouches& unseen, Flush flush);

// The expected cost of a window of this process: Backend::predicted. Counts its mappings: 0.5 µs
// each.
std::optional<Cost> predictedFor(const Backend& backend, const Process& process);

}  // namespace tidegauge::wss
