// What a file, or a part of a ring of files, begins with: the functions that are watched, the
// programs that run, what is live (model/ledger/carried.cpp), and what was lost or not watched.
// So each part can be read alone.
#include <algorithm>

#include "record/kernel/even_clock.h"
#include "record/session/session.h"

namespace tidegauge::record {
namespace {

// The function that the ledger's carried call is named by: its own, or the first that does the
// same.
uint16_t functionFor(const model::MemoryCall& call) {
  auto fits = [&](const WatchedFunction& function) {
    bool moves =
        function.group == FunctionGroup::kMemory || function.group == FunctionGroup::kContext;
    return moves && function.verb == call.verb && function.kind == call.kind &&
           planeOf(function) == call.plane;
  };
  auto all = watchedFunctions();
  if (call.function < all.size() && fits(all[call.function])) return call.function;
  auto found = std::find_if(all.begin(), all.end(), fits);
  return found == all.end() ? uint16_t{0} : static_cast<uint16_t>(found - all.begin());
}

}  // namespace

void Session::writeFunctions() {
  for (const WatchedFunction& function : watchedFunctions()) {
    store::FunctionRow row;
    row.name = function.name;
    row.plane = planeOf(function);
    if (function.group == FunctionGroup::kMemory || function.group == FunctionGroup::kContext) {
      row.verb = function.verb;
      row.kind = function.kind;
    }
    file_.write([&](auto& file) { return file.addFunction(row); });
  }
}

void Session::endPartIfFull() {
  if (!finishing_) file_.endPartIfFull(stack_counts_, [this] { writeBeginning(); });
}

void Session::writeBeginning() {
  writeFunctions();
  for (const SessionProcess& process : processes_.rows())
    if (!process.ended_ns) (void)processes_.inFile(process.seen.index);
  writeCarried();
  // A part after a loss is as incomplete as the one in which it was.
  for (size_t i = 0; i < LOSS_KINDS; ++i)
    if (losses_[i] != 0)
      file_.write([&](auto& file) {
        return file.addLoss(evenClock().now_ns(), lossReason(i), losses_[i]);
      });
  unwatched_.beginPart();
  devices_.beginPart();
  times_.beginPart();
}

void Session::writeCarried() {
  uint64_t carried = 0;
  for (uint32_t process : ledger_.processes()) {
    if (!processes_.contains(process) || processes_[process].ended_ns) continue;
    for (model::MemoryCall& call : ledger_.find(process)->carried()) {
      call.end_ns = newest_call_ns_;
      call.start_ns = call.start_ns == 0 ? call.end_ns : std::min(call.start_ns, call.end_ns);
      call.function = functionFor(call);
      call.process = processes_.inFile(process);
      call.stack = stacks_.inFile(call.stack);
      file_.write([&](auto& file) { return file.addCall(call); });
      ++carried;
    }
  }
  file_.setMeta("carried_calls", std::to_string(carried));
}

}  // namespace tidegauge::record
