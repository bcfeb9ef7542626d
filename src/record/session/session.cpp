#include "record/session/session.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text_layout.h"
#include "model/call_words.h"
#include "record/kernel/even_clock.h"

namespace tidegauge::record {
namespace {

constexpr int64_t kCommitEvery_ns = 100'000'000;
constexpr int64_t kCountEvery_ns = 1'000'000'000;
constexpr size_t kMaxNames = 1000;  // of forgotten processes
constexpr const char* kOther = "other";

int64_t now() { return evenClock().now_ns(); }

}  // namespace

Session::Session(std::optional<store::RecordingWriter> writer, model::LiveBook* book,
                 std::optional<PartRing> ring)
    : book_(book),
      ledger_([book](const model::Effect& effect) {
        if (book != nullptr) book->take(effect);
      }),
      file_(std::move(writer), std::move(ring)),
      stacks_(file_),
      processes_(file_),
      unwatched_(file_, processes_, book),
      devices_(file_),
      launches_(file_, processes_, stacks_, ledger_),
      late_names_(processes_, stacks_, unwatched_),
      times_(file_, processes_) {
  writeFunctions();
  last_commit_ns_ = last_counts_ns_ = now();
  file_.setMeta("began_ns", std::to_string(last_commit_ns_));
}

void Session::processSeen(const SeenProcess& process) {
  stacks_.inherit(process.pid, process.parent);
  unwatched_.processSeen(process.pid);
  if (book_ != nullptr)
    book_->addProcess(
        {process.index, process.pid, process.name, process.command, process.first_ns});
  processes_.add(process);
}

void Session::processEnded(uint32_t process, int64_t time_ns, std::optional<int> status) {
  ledger_.endProcess(process, time_ns);
  if (book_ != nullptr) book_->endProcess(process, time_ns);
  // After exec, the code of the next program is there already.
  if (status) stacks_.forgetCode(processes_[process].seen.pid);
  stacks_.forgetProcess(process);
  processes_.end(process, time_ns, status);
}

// A library that is unloaded and loaded again is one row, so that the list does not grow.
void Session::libraryWatched(const WatchedLibrary& library) {
  auto known = std::find_if(libraries_.begin(), libraries_.end(), [&](const WatchedLibrary& it) {
    return it.file == library.file && it.path == library.path;
  });
  if (known != libraries_.end())
    *known = library;
  else
    libraries_.push_back(library);
}

void Session::unwatched(const model::Unwatched& what, int64_t at_ns) {
  unwatched_.add(what, at_ns);
}

void Session::call(const model::MemoryCall& seen) {
  model::MemoryCall call = seen;
  if (call.stack != model::kNoStackOfCall) {
    std::optional<uint32_t> stack = stacks_.find(call.process, call.stack);
    // The program became another one, say, before its mappings were read.
    if (!stack) totals_.stacks_lost += 1;
    call.stack = stack.value_or(model::kNoStackOfCall);
  }
  totals_.calls += 1;
  if (call.plane == model::Plane::kFramework) {
    SessionProcess& process = processes_[call.process];
    (call.verb == model::Verb::kAllocate ? process.framework_allocations
                                         : process.framework_frees) += 1;
  }
  ledger_.take(call);
  newest_call_ns_ = std::max(newest_call_ns_, call.end_ns);
  if (file_.isOpen()) {
    call.process = processes_.inFile(call.process);
    call.stack = stacks_.inFile(call.stack);
  }
  file_.addCall(call);
  if (!file_.mustCommit()) return;
  file_.commit();
  endPartIfFull();
}

void Session::stackSeen(uint32_t process, uint32_t stack, const SeenStack& frames) {
  stacks_.add(process, processes_[process].seen.pid, stack, frames);
}

Session::Window Session::windowOf(const SessionProcess& process) const {
  Window window{last_counts_ns_, now()};
  window.begin_ns = std::max(window.begin_ns, process.seen.first_ns);
  if (process.ended_ns) window.end_ns = std::min(window.end_ns, *process.ended_ns);
  // It ended before the window began: its last counts come late.
  window.begin_ns = std::min(window.begin_ns, window.end_ns);
  return window;
}

// Launches that came before the name are this kernel's, unless the handle had another one.
void Session::kernelNamed(const KernelName& name) {
  SessionProcess& process = processes_[name.process];
  std::string before = kernelName(process, name.handle);
  processes_.nameKernel(name);
  launches_.named(name);
  std::string after = kernelName(process, name.handle);
  if (before == after || before != model::namelessKernel(name.handle)) return;
  if (book_ != nullptr) book_->renameKernel(name.process, before, after);
  auto counted = process.launches.find(before);
  if (counted == process.launches.end()) return;
  process.launches[after] += counted->second;
  process.launches.erase(before);
}

void Session::launchesSeen(const std::vector<LaunchCount>& launches) {
  for (const LaunchCount& seen : launches) {
    if (!processes_.contains(seen.process)) continue;  // ended long ago
    SessionProcess& process = processes_[seen.process];
    Window window = windowOf(process);
    store::LaunchRow row;
    row.begin_ns = window.begin_ns;
    row.end_ns = window.end_ns;
    row.process = processes_.inFile(seen.process);
    late_names_.want(seen.process, seen.kernel, seen.function, window.end_ns);
    row.kernel = processes_.kernelInFile(seen.process, seen.kernel);
    row.function = seen.function;
    std::copy(std::begin(seen.grid), std::end(seen.grid), row.grid.begin());
    std::copy(std::begin(seen.block), std::end(seen.block), row.block.begin());
    row.count = seen.launches;
    totals_.counted += seen.launches;
    std::string name = kernelName(process, seen.kernel);
    if (book_ != nullptr)
      book_->addLaunches(seen.process, name, row.count, row.begin_ns, row.end_ns);
    process.launches[std::move(name)] += seen.launches;
    file_.write([&](auto& file) { return file.addLaunches(row); });
  }
}

void Session::copiesSeen(const std::vector<CopyCount>& copies) {
  for (const CopyCount& seen : copies) {
    if (!processes_.contains(seen.process)) continue;
    processes_.addCopies(seen);
    Window window = windowOf(processes_[seen.process]);
    store::CopyRow row;
    row.begin_ns = window.begin_ns;
    row.end_ns = window.end_ns;
    row.process = processes_.inFile(seen.process);
    row.direction = directionName(seen.direction);
    row.function = seen.function;
    row.submitted = seen.submitted;
    row.count = seen.calls;
    totals_.counted += seen.calls + seen.failures;
    row.size_bytes = seen.bytes;
    row.host_ns = seen.time_ns;
    row.failures = seen.failures;
    if (book_ != nullptr)
      book_->addCopies(seen.process,
                       {row.begin_ns, row.end_ns, std::string(row.direction), row.submitted,
                        row.count, row.size_bytes, row.host_ns, row.failures});
    file_.write([&](auto& file) { return file.addCopies(row); });
  }
}

// Counts only grow; what programs share with the recorder (--preload) may hold any number.
void Session::writeLosses(const Losses& seen) {
  for (size_t i = 0; i < LOSS_KINDS; ++i) {
    if (seen[i] <= losses_[i]) continue;
    uint64_t more = seen[i] - losses_[i];
    if (book_ != nullptr) book_->addLoss(std::string(lossReason(i)), more);
    file_.write([&](auto& file) { return file.addLoss(now(), lossReason(i), more); });
    losses_[i] = seen[i];
  }
}

base::Status Session::status() const {
  if (file_.error()) return *file_.error();
  return base::okStatus();
}

base::Status Session::tick(Source& source) {
  using When = SessionUnwatched::When;
  int64_t time_ns = now();
  times_.take(false);
  if (finishing_ || time_ns - last_counts_ns_ >= kCountEvery_ns) {
    source.tellCounts();
    stack_counts_ = source.stackCounts();
    Losses losses = source.losses();
    losses[LOSS_STACK] += totals_.stacks_lost;
    writeLosses(losses);
    unwatched_.assign(time_ns, finishing_ ? When::kAtTheEnd : When::kAgain);
    forgetEnded(time_ns);
    last_counts_ns_ = time_ns;
  }
  if (time_ns - last_commit_ns_ >= kCommitEvery_ns) {
    devices_.take();
    stacks_.takeNames();
    late_names_.take(*this, time_ns);
    launches_.takeReady(source);
    unwatched_.assign(time_ns, finishing_ ? When::kAtTheEnd : When::kFirstTry);
    file_.commit();
    if (!finishing_) file_.endIfDiskIsLow(stack_counts_);
    endPartIfFull();
    last_commit_ns_ = time_ns;
  }
  return status();
}

base::Status Session::finish(Source& source, const std::function<bool()>& must_end) {
  finishing_ = true;
  TG_RETURN_IF_ERROR(tick(source));
  launches_.finish(must_end);
  times_.take(true);
  stacks_.takeLastNames(must_end);
  late_names_.take(*this, now());
  unwatched_.assign(now(), SessionUnwatched::When::kAtTheEnd);
  file_.finish(source.stackCounts());
  return status();
}

model::FigureSet Session::incompleteOf(const SessionProcess& process) const {
  model::FigureSet figures = unwatched_.incompleteOf(process);
  for (size_t i = 0; i < LOSS_KINDS; ++i)
    if (losses_[i] != 0) figures.add(model::figuresOfLoss(lossReason(i)));
  return figures;
}

void Session::forgetProcess(uint32_t process) {
  if (const model::ProcessLedger* ledger = ledger_.find(process)) {
    std::string name = base::printable(processes_[process].seen.name);
    if (!forgotten_unfreed_.contains(name) && forgotten_unfreed_.size() >= kMaxNames) name = kOther;
    forgotten_unfreed_[name] += ledger->unfreedBytes();
  }
  ledger_.forget(process);
  if (book_ != nullptr) book_->forgetProcess(process);
  processes_.forget(process);
  launches_.forgetProcess(process);
  late_names_.forgetProcess(process);
  times_.forgetProcess(process);
}

// A session may run for weeks: what nothing refers to any more leaves memory. The file keeps it.
void Session::forgetEnded(int64_t now_ns) {
  std::vector<uint32_t> ended = processes_.endedBefore(now_ns - forget_after_ns_);
  if (ended.empty()) return;
  for (uint32_t process : ended) forgetProcess(process);
  std::set<uint32_t> held;
  for (uint32_t process : ledger_.processes()) {
    const model::ProcessLedger& ledger = *ledger_.find(process);
    for (const model::HeldBy& it : ledger.heldByStack()) held.insert(it.stack);
    for (const model::HeldBy& it : ledger.unfreedAtExit()) held.insert(it.stack);
  }
  launches_.addStacks(held);
  stacks_.forgetUnless(std::move(held));
}

SessionKeeps Session::keeps() const {
  return {processes_.rows().kept(), stacks_.stacks(), stacks_.frames(), stacks_.modules(),
          processes_.kernels()};
}

}  // namespace tidegauge::record
