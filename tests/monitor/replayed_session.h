// Replays a recording into a session, in the order of its times, as a recorder would have seen it.
//
//   record::Session session(std::nullopt);
//   record::Losses losses{};
//   replay("run.sqlite", session, losses, 1000, [&](int64_t now_ns) { metrics of that moment });
//
// Calls, launches, copies, kernels, device memory, losses, ends of processes and functions that
// were not watched are replayed. Stacks are not: no metric needs them. `look` is called after each
// `events_per_look` rows and at the end. All rows are kept in memory: this is for small recordings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "record/session/session.h"

namespace tidegauge::testing {

base::Status replay(const std::string& path, record::Session& session, record::Losses& losses,
                    size_t events_per_look, const std::function<void(int64_t now_ns)>& look);

}  // namespace tidegauge::testing
