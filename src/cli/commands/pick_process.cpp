#include "cli/commands/pick_process.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/options/usage.h"
#include "model/recorded_work.h"

namespace tidegauge::cli {
namespace {

std::optional<int64_t> pidOf(const model::Trace& trace) {
  if (!trace.work || !trace.work->run) return std::nullopt;
  const model::RecordedProcesses& all = trace.work->run->processes;
  auto at = std::lower_bound(all.process_id.begin(), all.process_id.end(), trace.work->process_id);
  if (at == all.process_id.end() || *at != trace.work->process_id) return std::nullopt;
  return all.pid[static_cast<size_t>(at - all.process_id.begin())];
}

}  // namespace

void addPidOption(CLI::App& command, std::optional<uint32_t>& pid) {
  command.add_option("--pid", pid, "Only this process of a recording")
      ->check(wholeNumber(1, UINT32_MAX))
      ->type_name("PID");
}

base::Status keepProcess(Traces& traces, uint32_t pid) {
  constexpr size_t kMaxNamed = 20;
  std::string known;
  size_t named = 0;
  for (const auto& trace : traces) {
    std::optional<int64_t> own = pidOf(trace->trace);
    if (!own) continue;
    if (*own == pid) {
      std::erase_if(traces, [&](const auto& it) { return pidOf(it->trace) != int64_t{pid}; });
      return base::okStatus();
    }
    if (named++ < kMaxNamed) known += fmt::format("{}{}", known.empty() ? "" : ", ", *own);
  }
  if (named > kMaxNamed) known += fmt::format(" and {} more", named - kMaxNamed);
  return base::Error{base::ErrorKind::kUsage,
                     fmt::format("this file has no process {} with recorded calls", pid),
                     {},
                     named == 0 ? "--pid works only with recordings of `tidegauge record`."
                                : "The processes are: " + known + "."};
}

}  // namespace tidegauge::cli
