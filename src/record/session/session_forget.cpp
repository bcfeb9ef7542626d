// What a session that goes on for weeks lets go: processes some minutes after their end, then the
// stacks that nothing names any more, their frames, and the modules that no frame and no process
// leads to. What was written to a file stays there; numbers are not used again.
#include <fmt/format.h>

#include <set>

#include "base/text_layout.h"
#include "record/session/session.h"

namespace tidegauge::record {
namespace {

constexpr size_t kMaxNames = 1000;
constexpr const char* kOther = "other";

}  // namespace

void Session::forgetProcess(uint32_t process) {
  const SessionProcess& it = processes_[process];
  if (const model::ProcessLedger* ledger = ledger_.find(process)) {
    std::string name = base::printable(it.seen.name);
    if (!forgotten_unfreed_.contains(name) && forgotten_unfreed_.size() >= kMaxNames) name = kOther;
    forgotten_unfreed_[name] += ledger->unfreedBytes();
  }
  ledger_.forget(process);
  if (book_ != nullptr) book_->forgetProcess(process);
  std::erase_if(kernels_, [&](const auto& entry) { return entry.first.first == process; });
  processes_.forget(process);
}

void Session::forgetEnded(int64_t now_ns) {
  std::vector<uint32_t> old;
  for (const SessionProcess& process : processes_)
    if (process.ended_ns && now_ns - *process.ended_ns > forget_after_ns_)
      old.push_back(process.seen.index);
  for (uint32_t process : old) forgetProcess(process);
  if (!old.empty()) forgetStacks();
}

void Session::forgetStacks() {
  // A frame that waits for its name needs its module's file.
  if (!symbols_.isIdle()) return;
  std::set<uint32_t> stacks;
  for (const auto& [key, stack] : stack_of_) stacks.insert(stack);
  for (uint32_t process : ledger_.processes()) {
    const model::ProcessLedger& ledger = *ledger_.find(process);
    for (const model::HeldBy& held : ledger.heldByStack()) stacks.insert(held.stack);
    for (const model::HeldBy& held : ledger.unfreedAtExit()) stacks.insert(held.stack);
  }
  std::set<uint32_t> frames, modules;
  std::erase_if(stack_ids_, [&](const auto& entry) { return !stacks.contains(entry.second); });
  stacks_.forgetIf([&](uint32_t stack, const std::vector<uint32_t>& list) {
    if (!stacks.contains(stack)) return true;
    frames.insert(list.begin(), list.end());
    return false;
  });
  std::erase_if(frame_ids_, [&](const auto& entry) {
    if (!frames.contains(entry.second)) return true;
    if (entry.first.module != kNoModule) modules.insert(entry.first.module);
    return false;
  });
  std::erase_if(named_frames_, [&](const auto& entry) { return !frames.contains(entry.second); });
  frames_.forgetIf([&](uint32_t frame, const Frame&) { return !frames.contains(frame); });
  symbols_.forget(spaces_.forgetModules(modules, static_cast<uint32_t>(modules_written_)));
}

SessionKeeps Session::keeps() const {
  return {processes_.kept(), stacks_.kept(), frames_.kept(), spaces_.modules().kept(),
          kernels_.size()};
}

}  // namespace tidegauge::record
