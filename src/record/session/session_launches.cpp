#include "record/session/session_launches.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "model/launch_arguments.h"

namespace tidegauge::record {
namespace {

constexpr size_t kMaxLaunchesWaiting = 100'000;
constexpr size_t kMaxKernels = 1'000'000;
constexpr int kMaxForks = 16;  // from a program to the one that registered its kernels
constexpr size_t kWord = sizeof(uint64_t);
// Names are cut there (name_record).
constexpr size_t kCutName = sizeof(name_record::name) - 1;

}  // namespace

void SessionLaunches::named(const KernelName& name) {
  if (!layouts_ || kernels_.size() >= kMaxKernels) return;
  Kernel fresh;
  fresh.name = name.name;
  if (name.made_from != 0) {
    auto origin = kernels_.find({name.process, name.made_from});
    if (origin != kernels_.end()) fresh = origin->second;
  }
  kernels_[{name.process, name.handle}] = std::move(fresh);
  if (whole_) unlearnt_.emplace_back(name.process, name.handle);
}

// A forked program has its parent's kernels.
std::map<SessionLaunches::Key, SessionLaunches::Kernel>::iterator SessionLaunches::kernelOf(
    const Key& key) {
  auto found = kernels_.find(key);
  if (found != kernels_.end()) return found;
  std::optional<uint32_t> parent = processes_[key.first].seen.forked_from;
  for (int depth = 0; parent && depth < kMaxForks; ++depth) {
    if (auto inherited = kernels_.find({*parent, key.second}); inherited != kernels_.end()) {
      if (kernels_.size() >= kMaxKernels) return inherited;
      if (whole_) unlearnt_.push_back(key);
      found = kernels_.emplace(key, Kernel(inherited->second)).first;
      if (const auto& layout = found->second.layout)
        processes_.setKernelParameters(key.first, key.second, *layout);
      return found;
    }
    parent = processes_.contains(*parent) ? processes_[*parent].seen.forked_from : std::nullopt;
  }
  return kernels_.end();
}

bool SessionLaunches::isReady(const Key& key) {
  auto found = kernelOf(key);
  if (found == kernels_.end() || found->second.name.empty()) return true;
  Kernel& kernel = found->second;
  if (kernel.layout) return true;
  if (!kernel.is_asked) {
    kernel.is_asked = true;
    // The runtime's handle is a function of the program or library that has the code.
    uint32_t pid = processes_[key.first].seen.pid;
    if (const auto [module, descriptor] = stacks_.moduleAt(pid, key.second); module != kNoModule) {
      kernel.module = module;
      layouts_->ask(module, descriptor);
    }
  }
  if (!kernel.module) return true;
  if (!layouts_->isRead(*kernel.module)) return false;
  kernel.layout = layouts_->find(*kernel.module, kernel.name, kernel.name.size() >= kCutName);
  if (!kernel.layout) {
    kernel.module.reset();
    return true;
  }
  kernel.sizes = model::parameterSizes(*kernel.layout);
  processes_.setKernelParameters(key.first, key.second, *kernel.layout);
  return true;
}

void SessionLaunches::take(const Launch& launch) {
  // Also if it must wait for others: its program may have ended, and its mappings be gone, by then.
  bool is_ready = !layouts_ || isReady({launch.what.process, launch.what.kernel});
  Waiting seen{launch, stacks_.find(launch.what.process, launch.stack)};
  // A stream counts before the device that the thread is on.
  if (const model::ProcessLedger* ledger = ledger_.find(launch.what.process))
    if (int32_t device = ledger->deviceOfStream(launch.stream); device >= 0)
      seen.launch.device = device;
  if (is_ready && waiting_.empty()) {
    write(seen);
    return;
  }
  waiting_.push_back(std::move(seen));
  if (waiting_.size() > kMaxLaunchesWaiting) {
    write(waiting_.front());
    waiting_.pop_front();
  }
}

// They stay in order of time: the first one that must wait holds the others.
void SessionLaunches::takeReady(Source& source) {
  takeWaiting();
  giveSizes(source);
}

// Before a kernel's first launch, if its code is read by then.
void SessionLaunches::giveSizes(Source& source) {
  for (; !unlearnt_.empty(); unlearnt_.pop_front()) {
    const Key& key = unlearnt_.front();
    if (!processes_.contains(key.first)) continue;
    if (!isReady(key)) return;
    auto kernel = kernels_.find(key);
    if (kernel != kernels_.end() && kernel->second.layout)
      source.setParameters(key.first, key.second, kernel->second.sizes);
  }
}

void SessionLaunches::takeWaiting() {
  while (!waiting_.empty()) {
    const LaunchCount& first = waiting_.front().launch.what;
    if (processes_.contains(first.process)) {
      if (!isReady({first.process, first.kernel})) return;
      write(waiting_.front());
    }
    waiting_.pop_front();
  }
}

void SessionLaunches::finish(const std::function<bool()>& must_end) {
  bool is_read = true;
  while (is_read && layouts_ && !waiting_.empty()) {
    is_read = layouts_->finish(must_end);
    takeWaiting();
  }
  for (; !waiting_.empty(); waiting_.pop_front())
    if (processes_.contains(waiting_.front().launch.what.process)) write(waiting_.front());
}

void SessionLaunches::forgetProcess(uint32_t process) {
  std::erase_if(kernels_, [&](const auto& entry) { return entry.first.first == process; });
}

void SessionLaunches::write(const Waiting& waiting) {
  const Launch& seen = waiting.launch;
  store::LaunchEventRow row;
  row.launch.begin_ns = row.launch.end_ns = seen.time_ns;
  row.launch.process = processes_.inFile(seen.what.process);
  row.launch.kernel = processes_.kernelInFile(seen.what.process, seen.what.kernel);
  row.launch.function = seen.what.function;
  std::copy(std::begin(seen.what.grid), std::end(seen.what.grid), row.launch.grid.begin());
  std::copy(std::begin(seen.what.block), std::end(seen.what.block), row.launch.block.begin());
  row.launch.count = 1;
  row.thread = seen.thread;
  row.shared_bytes = seen.shared_bytes;
  row.stream = seen.stream;
  row.device = seen.device;
  if (waiting.stack) row.stack = stacks_.inFile(*waiting.stack);
  std::vector<uint8_t> bytes;
  auto add = [&](uint64_t word, size_t size) {
    std::array<uint8_t, kWord> all;
    std::memcpy(all.data(), &word, kWord);
    bytes.insert(bytes.end(), all.begin(), all.begin() + static_cast<std::ptrdiff_t>(size));
  };
  auto kernel = kernels_.find({seen.what.process, seen.what.kernel});
  if (seen.parameters) {
    bytes = seen.bytes;
    row.parameters = *seen.parameters;
  } else if (kernel != kernels_.end() && kernel->second.layout) {
    const std::vector<uint64_t>& sizes = kernel->second.sizes;
    size_t count = std::min(sizes.size(), seen.arguments.size());
    for (size_t i = 0; i < count; ++i) add(seen.arguments[i], std::min<size_t>(sizes[i], kWord));
    row.parameters = static_cast<uint32_t>(count);
  } else {
    for (uint64_t word : seen.arguments) add(word, kWord);
  }
  row.arguments = bytes;
  file_.write([&](auto& file) { return file.addLaunchEvent(row); });
}

}  // namespace tidegauge::record
