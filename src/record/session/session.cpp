#include "record/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/text_layout.h"
#include "model/call_site.h"
#include "model/call_words.h"
#include "record/code/demangle.h"
#include "record/code/older_python.h"
#include "record/kernel/even_clock.h"

namespace tidegauge::record {
namespace {

constexpr int64_t kCommitEvery_ns = 100'000'000;
// What a full disk may cost when a slow machine drains a full ring at once: about 200 KiB.
constexpr uint64_t kMaxRowsOpen = 4096;
constexpr int64_t kCountEvery_ns = 1'000'000'000;
constexpr size_t kMaxKernelNames = 1'000'000;  // of a process; PyTorch has 24,000

int64_t now() { return evenClock().now_ns(); }

constexpr std::array<std::string_view, LOSS_KINDS> kReasons = {
    "memory ring full",
    "system ring full",
    "name ring full",
    "launch ring full",
    "no stack",
    "return without entry",
    "no room in flight",
    "no room for a thread",
    "memory not readable",
    "no room for a launch",
    "no room for a copy",
};

constexpr std::array<std::string_view, COPY_DIRECTIONS> kDirections = {
    "host to host",
    "host to device",
    "device to host",
    "device to device",
    "by the pointers",
    "peer to peer",
    "set",
};

}  // namespace

std::string_view lossReason(size_t loss) { return loss < LOSS_KINDS ? kReasons[loss] : "other"; }
std::string_view directionName(size_t direction) {
  return direction < COPY_DIRECTIONS ? kDirections[direction] : "other";
}

std::string kernelName(const SessionProcess& process, uint64_t handle) {
  if (handle == 0) return kNotToldApart;
  auto found = process.kernel_names.find(handle);
  if (found != process.kernel_names.end() && !found->second.empty())
    return base::printable(found->second);
  return model::namelessKernel(handle);
}

Session::Session(std::optional<store::RecordingWriter> writer, model::LiveBook* book,
                 std::optional<PartRing> ring)
    : writer_(std::move(writer)),
      book_(book),
      ledger_([book](const model::Effect& effect) {
        if (book != nullptr) book->take(effect);
      }),
      ring_(std::move(ring)) {
  if (ring_) {
    continueInParts();
    write([&](auto& file) { return file.setMeta("part", std::to_string(ring_->number())); });
  }
  writeFunctions();
  last_commit_ns_ = last_counts_ns_ = now();
  write([&](auto& file) { return file.setMeta("began_ns", std::to_string(last_commit_ns_)); });
}

Session::~Session() = default;

void Session::processSeen(const SeenProcess& process) {
  if (run_another_.erase(process.pid) == 0) pids_ += 1;
  SessionProcess fresh;
  fresh.seen = process;
  processes_.push_back(std::move(fresh));
  spaces_.inherit(process.pid, process.parent);
  for (auto& [key, waiting] : unwatched_)
    if (waiting.what.pid == process.pid) waiting.was_tried = false;
  if (book_ != nullptr)
    book_->addProcess(
        {process.index, process.pid, process.name, process.command, process.first_ns});
  perf_maps_.inherit(process.pid, process.parent);
  perf_maps_.look(process.pid);
  writeProcess(process);
  (void)process_ids_.add(process.index);
}

void Session::writeProcess(const SeenProcess& process) {
  store::ProcessRow row;
  if (ring_) row.id = process.index;  // the same in each part
  row.pid = process.pid;
  if (process.parent != 0) row.parent_pid = process.parent;
  row.name = process.name;
  row.command = process.command;
  row.cgroup = process.cgroup;
  row.began_ns = process.first_ns;
  write([&](auto& file) { return file.addProcess(row); });
}

void Session::processEnded(uint32_t process, int64_t time_ns, std::optional<int> status) {
  ledger_.endProcess(process, time_ns);
  if (book_ != nullptr) book_->endProcess(process, time_ns);
  SessionProcess& it = processes_[process];
  it.ended_ns = time_ns;
  if (status) spaces_.forget(it.seen.pid);  // after exec the new program's is there already
  if (status) perf_maps_.forget(it.seen.pid);
  std::erase_if(stack_of_, [&](const auto& entry) { return entry.first.first == process; });
  auto reason = status ? store::EndReason::kExit : store::EndReason::kExec;
  if (reason == store::EndReason::kExec) run_another_.insert(it.seen.pid);
  if (status == kUnknownStatus) status.reset();
  it.status = status;
  it.end_reason = reason;
  if (process_ids_.find(process))
    write([&](auto& file) { return file.endProcess(process, time_ns, status, reason); });
}

// One that was let go and is watched again is the same: what is told of it must not grow.
void Session::libraryWatched(const WatchedLibrary& library) {
  auto known = std::find_if(libraries_.begin(), libraries_.end(), [&](const WatchedLibrary& it) {
    return it.file == library.file && it.path == library.path;
  });
  if (known != libraries_.end())
    *known = library;
  else
    libraries_.push_back(library);
}

void Session::call(const model::MemoryCall& seen) {
  model::MemoryCall call = seen;
  if (call.stack != model::kNoStackOfCall) {
    auto stack = stack_of_.find({call.process, call.stack});
    // The program became another one, say, before anybody looked at where its code lay.
    if (stack == stack_of_.end()) stacks_lost_ += 1;
    call.stack = stack == stack_of_.end() ? model::kNoStackOfCall : stack->second;
  }
  calls_ += 1;
  part_calls_ += 1;
  if (call.plane == model::Plane::kFramework) {
    SessionProcess& process = processes_[call.process];
    (call.verb == model::Verb::kAllocate ? process.framework_allocations
                                         : process.framework_frees) += 1;
  }
  ledger_.take(call);
  newest_call_ns_ = std::max(newest_call_ns_, call.end_ns);
  if (!writer_) return;
  call.process = fileProcess(call.process);
  call.stack = fileStack(call.stack);
  write([&](auto& file) { return file.addCall(call); });
  if (error_ || writer_->rowsInTransaction() < kMaxRowsOpen) return;
  write([](auto& file) { return file.commit(); });
  lookAtSize();
}

uint32_t Session::frameOf(const CodePlace& place) {
  auto [found, is_new] = frame_ids_.try_emplace(place, static_cast<uint32_t>(frames_.size()));
  if (!is_new) return found->second;
  const Rows<Module>& modules = spaces_.modules();
  for (; modules_written_ < modules.size(); ++modules_written_)
    if (!ring_) writeModule(static_cast<uint32_t>(modules_written_));
  frames_.push_back({place, {}});
  std::optional<uint32_t> module;
  if (place.module != kNoModule) module = place.module;
  if (!ring_) write([&](auto& file) { return file.addFrame(module, place.offset); });
  if (module && modules[*module].descriptor >= 0)
    symbols_.ask({found->second, modules[*module].descriptor, *module, place.offset});
  return found->second;
}

uint32_t Session::namedFrame(const CodeName& name, uint64_t address) {
  auto [found, is_new] = named_frames_.try_emplace(name, static_cast<uint32_t>(frames_.size()));
  if (!is_new) return found->second;
  uint32_t frame = found->second;
  frames_.push_back({{kNoModule, address}, {frame, name.function, name.file, 0}});
  if (ring_) return frame;  // a part has it once a row names it
  write([&](auto& file) { return file.addFrame(std::nullopt, address); });
  write([&](auto& file) { return file.nameFrame(frame, name.function, name.file, 0); });
  return frame;
}

void Session::stackSeen(uint32_t process, uint32_t stack, const std::vector<uint64_t>& addresses) {
  std::vector<uint32_t> frames;
  frames.reserve(addresses.size());
  for (uint64_t address : addresses) {
    auto place = spaces_.place(processes_[process].seen.pid, address);
    // A program at its end gives back what it made at run time; the names that it wrote stay.
    const CodeName* name = !place || place->module == kNoModule
                               ? perf_maps_.find(processes_[process].seen.pid, address - 1)
                               : nullptr;
    if (!place && name == nullptr) break;
    frames.push_back(name != nullptr ? namedFrame(*name, address) : frameOf(*place));
  }
  if (frames.empty()) return;
  auto [found, is_new] = stack_ids_.try_emplace(frames, static_cast<uint32_t>(stacks_.size()));
  if (is_new) {
    stacks_.push_back(frames);
    if (!ring_) write([&](auto& file) { return file.addStack(frames); });
  }
  stack_of_[{process, stack}] = found->second;
}

void Session::kernelNamed(const KernelName& name) {
  auto& names = processes_[name.process].kernel_names;
  std::string fresh;
  if (name.made_from == 0) {
    fresh = demangled(name.name);
  } else if (auto kernel = names.find(name.made_from); kernel != names.end()) {
    fresh = kernel->second;
  }
  if (names.size() >= kMaxKernelNames && !names.contains(name.handle)) return;
  auto [known, is_new] = names.try_emplace(name.handle, fresh);
  if (!is_new && known->second == fresh) return;
  known->second = std::move(fresh);
  // The handle was that of a kernel that is gone, or had no name: its launches stay those of that
  // one.
  kernels_.erase({name.process, name.handle});
}

uint32_t Session::kernelOf(uint32_t process, uint64_t handle) {
  auto [found, is_new] = kernels_.try_emplace({process, handle}, next_kernel_);
  if (is_new) next_kernel_ += 1;
  if (ring_ ? kernel_ids_.find(found->second).has_value() : !is_new)
    return *kernel_ids_.find(found->second);
  const auto& names = processes_[process].kernel_names;
  auto name = names.find(handle);
  std::string_view known = handle == 0           ? kNotToldApart
                           : name == names.end() ? std::string_view()
                                                 : std::string_view(name->second);
  uint32_t owner = fileProcess(process);
  write([&](auto& file) { return file.addKernel(owner, handle, known); });
  return kernel_ids_.add(found->second);
}

Session::Window Session::windowOf(const SessionProcess& process) const {
  Window window{last_counts_ns_, now()};
  window.begin_ns = std::max(window.begin_ns, process.seen.first_ns);
  if (process.ended_ns) window.end_ns = std::min(window.end_ns, *process.ended_ns);
  // It ended before the window began: what it did last is told late.
  window.begin_ns = std::min(window.begin_ns, window.end_ns);
  return window;
}

void Session::launchesSeen(const std::vector<LaunchCount>& launches) {
  for (const LaunchCount& seen : launches) {
    if (!processes_.contains(seen.process)) continue;  // ended long ago
    SessionProcess& process = processes_[seen.process];
    Window window = windowOf(process);
    store::LaunchRow row;
    row.begin_ns = window.begin_ns;
    row.end_ns = window.end_ns;
    row.process = fileProcess(seen.process);
    row.kernel = kernelOf(seen.process, seen.kernel);
    row.function = seen.function;
    std::copy(std::begin(seen.grid), std::end(seen.grid), row.grid.begin());
    std::copy(std::begin(seen.block), std::end(seen.block), row.block.begin());
    row.count = seen.launches;
    counted_ += seen.launches;
    std::string name = kernelName(process, seen.kernel);
    if (book_ != nullptr)
      book_->addLaunches(seen.process, name, row.count, row.begin_ns, row.end_ns);
    process.launches[std::move(name)] += seen.launches;
    write([&](auto& file) { return file.addLaunches(row); });
  }
}

void Session::launched(const Launch& seen) {
  store::LaunchEventRow row;
  row.launch.begin_ns = row.launch.end_ns = seen.time_ns;
  row.launch.process = fileProcess(seen.what.process);
  row.launch.kernel = kernelOf(seen.what.process, seen.what.kernel);
  row.launch.function = seen.what.function;
  std::copy(std::begin(seen.what.grid), std::end(seen.what.grid), row.launch.grid.begin());
  std::copy(std::begin(seen.what.block), std::end(seen.what.block), row.launch.block.begin());
  row.launch.count = 1;
  row.thread = seen.thread;
  row.shared_bytes = seen.shared_bytes;
  row.stream = seen.stream;
  row.device = seen.device;
  auto stack = stack_of_.find({seen.what.process, seen.stack});
  if (stack != stack_of_.end()) row.stack = fileStack(stack->second);
  row.arguments = seen.arguments;
  write([&](auto& file) { return file.addLaunchEvent(row); });
}

void Session::copiesSeen(const std::vector<CopyCount>& copies) {
  for (const CopyCount& seen : copies) {
    if (!processes_.contains(seen.process)) continue;
    SessionProcess& process = processes_[seen.process];
    auto same = std::find_if(process.copies.begin(), process.copies.end(), [&](const auto& it) {
      return it.direction == seen.direction && it.submitted == seen.submitted &&
             it.function == seen.function;
    });
    if (same == process.copies.end()) {
      process.copies.push_back(seen);
    } else {
      same->calls += seen.calls;
      same->bytes += seen.bytes;
      same->time_ns += seen.time_ns;
      same->failures += seen.failures;
    }
    Window window = windowOf(process);
    store::CopyRow row;
    row.begin_ns = window.begin_ns;
    row.end_ns = window.end_ns;
    row.process = fileProcess(seen.process);
    row.direction = directionName(seen.direction);
    row.function = seen.function;
    row.submitted = seen.submitted;
    row.count = seen.calls;
    counted_ += seen.calls + seen.failures;
    row.size_bytes = seen.bytes;
    row.host_ns = seen.time_ns;
    row.failures = seen.failures;
    if (book_ != nullptr)
      book_->addCopies(seen.process,
                       {row.begin_ns, row.end_ns, std::string(row.direction), row.submitted,
                        row.count, row.size_bytes, row.host_ns, row.failures});
    write([&](auto& file) { return file.addCopies(row); });
  }
}

void Session::takeNames(std::vector<SymbolAnswer> answers) {
  for (SymbolAnswer& answer : answers) {
    auto row = frame_ids_of_file_.find(answer.frame);
    if (row && (!answer.function.empty() || !answer.file.empty()))
      write([&](auto& file) {
        return file.nameFrame(*row, answer.function, answer.file, answer.line);
      });
    frames_[answer.frame].name = std::move(answer);
  }
}

// They only grow; what programs share with the recorder (--preload) may say anything.
void Session::writeLosses(const Losses& seen) {
  for (size_t i = 0; i < LOSS_KINDS; ++i) {
    if (seen[i] <= losses_[i]) continue;
    uint64_t more = seen[i] - losses_[i];
    if (book_ != nullptr) book_->addLoss(std::string(kReasons[i]), more);
    write([&](auto& file) { return file.addLoss(now(), kReasons[i], more); });
    losses_[i] = seen[i];
  }
}

base::Status Session::tick(Source& source) {
  int64_t time_ns = now();
  if (finishing_ || time_ns - last_counts_ns_ >= kCountEvery_ns) {
    source.tellCounts();
    stack_counts_ = source.stackCounts();
    Losses losses = source.losses();
    losses[LOSS_STACK] += stacks_lost_;
    writeLosses(losses);
    assignUnwatched(time_ns, true);
    forgetEnded(time_ns);
    last_counts_ns_ = time_ns;
  }
  if (time_ns - last_commit_ns_ >= kCommitEvery_ns) {
    takeDevices();
    takeNames(symbols_.take());
    assignUnwatched(time_ns, false);
    write([](auto& file) { return file.commit(); });
    lookAtSize();
    last_commit_ns_ = time_ns;
  }
  if (error_) return *error_;
  return base::okStatus();
}

base::Status Session::finish(Source& source) {
  finishing_ = true;
  TG_RETURN_IF_ERROR(tick(source));
  takeNames(symbols_.finish());
  StackCounts stacks = source.stackCounts();
  write([&](auto& file) { return file.setMeta("stacks_cut", std::to_string(stacks.cut)); });
  write([&](auto& file) { return file.setMeta("stacks_deep", std::to_string(stacks.deep)); });
  write([](auto& file) { return file.finish(now()); });
  if (error_) return *error_;
  return base::okStatus();
}

std::set<std::string> Session::olderPythons() const {
  std::set<std::string> versions;
  for (const Module& module : spaces_.modules())
    if (std::string version = olderPython(module.path); !version.empty()) versions.insert(version);
  return versions;
}

model::StackWords Session::describeStack(uint32_t stack) const {
  model::StackWords words;
  if (stack >= stacks_.size()) return words;
  for (uint32_t id : stacks_[stack]) {
    const Frame& frame = frames_[id];
    std::string_view module;
    if (frame.place.module != kNoModule) module = spaces_.modules()[frame.place.module].path;
    words.add({frame.name.function, frame.name.file, frame.name.line, module, frame.place.offset});
  }
  return words;
}

}  // namespace tidegauge::record
