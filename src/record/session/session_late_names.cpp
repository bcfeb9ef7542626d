#include "record/session/session_late_names.h"

#include <string_view>

#include "record/kernel/functions.h"

namespace tidegauge::record {
namespace {

constexpr size_t kMaxAsked = 1'000'000;

// The handle of a graph is no kernel.
bool launchesAGraph(uint16_t function) {
  return function < watchedFunctions().size() &&
         watchedFunctions()[function].name.find("GraphLaunch") != std::string_view::npos;
}

}  // namespace

void SessionLateNames::want(uint32_t process, uint64_t kernel, uint16_t function, int64_t now_ns) {
  const SessionProcess& it = processes_[process];
  // If all kernels of a program were registered while it was watched, no name is missing.
  if (it.seen.names_were_seen || kernel == 0 || launchesAGraph(function)) return;
  const KernelNames::Table& names = it.kernel_names.all();
  auto known = names.find(kernel);
  if (known != names.end() && !known->second.empty()) return;
  if (asked_.size() >= kMaxAsked || !seen_.emplace(process, kernel).second) return;
  auto number = static_cast<uint32_t>(asked_.size());
  asked_.emplace_back(process, kernel);
  if (!stacks_.askFunction(number, it.seen.pid, kernel)) missed(process, now_ns);
}

void SessionLateNames::take(RecorderSink& sink, int64_t now_ns) {
  for (SymbolAnswer& answer : stacks_.takeFunctions()) {
    const auto [process, kernel] = asked_.at(answer.frame);
    if (!processes_.contains(process)) continue;
    if (answer.function.empty())
      missed(process, now_ns);
    else
      sink.kernelNamed({process, kernel, 0, std::move(answer.function)});
  }
}

void SessionLateNames::missed(uint32_t process, int64_t now_ns) {
  if (!told_.insert(process).second) return;
  model::Unwatched what;
  what.pid = processes_[process].seen.pid;
  what.figures = {model::Figures::kKernelNames};
  what.reason = "it loaded kernels before it was watched, and their names are not in its files";
  unwatched_.add(what, now_ns);
}

void SessionLateNames::forgetProcess(uint32_t process) {
  std::erase_if(seen_, [&](const Key& key) { return key.first == process; });
  told_.erase(process);
}

}  // namespace tidegauge::record
