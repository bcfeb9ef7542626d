#include "record/session/session_processes.h"

#include <algorithm>
#include <string_view>

#include "base/text_layout.h"
#include "model/call_words.h"
#include "record/code/demangle.h"

namespace tidegauge::record {
namespace {

constexpr size_t kMaxKernelNames = 1'000'000;  // of a process; PyTorch has 24,000

}  // namespace

std::string kernelName(const SessionProcess& process, uint64_t handle) {
  if (handle == 0) return kNotToldApart;
  const KernelNames::Table& names = process.kernel_names.all();
  auto found = names.find(handle);
  if (found != names.end() && !found->second.empty()) return base::printable(found->second);
  return model::namelessKernel(handle);
}

void SessionProcesses::add(const SeenProcess& seen) {
  if (between_programs_.erase(seen.pid) == 0) pids_ += 1;
  SessionProcess fresh;
  fresh.seen = seen;
  if (seen.forked_from && rows_.contains(*seen.forked_from))
    fresh.kernel_names = rows_[*seen.forked_from].kernel_names;
  write(fresh);
  (void)file_.numbers().processes.add(seen.index);
  rows_.push_back(std::move(fresh));
}

void SessionProcesses::write(const SessionProcess& process) {
  store::ProcessRow row;
  if (file_.hasParts()) row.id = process.seen.index;  // the same in each part
  row.pid = process.seen.pid;
  if (process.seen.parent != 0) row.parent_pid = process.seen.parent;
  row.name = process.seen.name;
  row.command = process.seen.command;
  row.cgroup = process.seen.cgroup;
  row.began_ns = process.seen.first_ns;
  file_.write([&](auto& file) { return file.addProcess(row); });
}

void SessionProcesses::writeEnd(uint32_t process) {
  const SessionProcess& it = rows_[process];
  file_.write(
      [&](auto& file) { return file.endProcess(process, *it.ended_ns, it.status, it.end_reason); });
}

void SessionProcesses::end(uint32_t process, int64_t time_ns, std::optional<int> status) {
  SessionProcess& it = rows_[process];
  it.ended_ns = time_ns;
  it.end_reason = status ? store::EndReason::kExit : store::EndReason::kExec;
  if (it.end_reason == store::EndReason::kExec) between_programs_.insert(it.seen.pid);
  if (status == kUnknownStatus) status.reset();
  it.status = status;
  if (file_.numbers().processes.find(process)) writeEnd(process);
}

void SessionProcesses::addCopies(const CopyCount& seen) {
  std::vector<CopyCount>& copies = rows_[seen.process].copies;
  auto same = std::find_if(copies.begin(), copies.end(), [&](const CopyCount& it) {
    return it.direction == seen.direction && it.submitted == seen.submitted &&
           it.function == seen.function;
  });
  if (same == copies.end()) {
    copies.push_back(seen);
    return;
  }
  same->calls += seen.calls;
  same->bytes += seen.bytes;
  same->time_ns += seen.time_ns;
  same->failures += seen.failures;
}

void SessionProcesses::nameKernel(const KernelName& name) {
  auto& names = rows_[name.process].kernel_names.own();
  std::string fresh;
  if (name.made_from == 0) {
    fresh = demangled(name.name);
  } else if (auto kernel = names.find(name.made_from); kernel != names.end()) {
    fresh = kernel->second;
  }
  if (names.size() >= kMaxKernelNames && !names.contains(name.handle)) return;
  auto [known, is_new] = names.try_emplace(name.handle, fresh);
  if (!is_new && known->second == fresh) return;
  bool had_none = is_new || known->second.empty();
  known->second = std::move(fresh);
  if (had_none && giveName(name.process, name.handle, known->second)) return;
  // The handle had no name, or belonged to a kernel that was unloaded: launches so far stay with
  // the old row.
  kernels_.erase({name.process, name.handle});
  rows_[name.process].kernel_parameters.erase(name.handle);
}

std::vector<uint32_t> SessionProcesses::endedBefore(int64_t time_ns) const {
  std::vector<uint32_t> ended;
  for (const SessionProcess& process : rows_)
    if (process.ended_ns && *process.ended_ns < time_ns) ended.push_back(process.seen.index);
  return ended;
}

void SessionProcesses::forget(uint32_t process) {
  std::erase_if(kernels_, [&](const auto& entry) { return entry.first.first == process; });
  rows_.forget(process);
}

uint32_t SessionProcesses::inFile(uint32_t process) {
  if (file_.numbers().processes.find(process)) return process;
  const SessionProcess& it = rows_[process];
  write(it);
  (void)file_.numbers().processes.add(process);
  if (it.ended_ns) writeEnd(process);
  return process;
}

uint32_t SessionProcesses::kernelInFile(uint32_t process, uint64_t handle) {
  auto [found, is_new] = kernels_.try_emplace({process, handle}, next_kernel_);
  if (is_new) next_kernel_ += 1;
  FileIds& in_file = file_.numbers().kernels;
  if (file_.hasParts() ? in_file.find(found->second).has_value() : !is_new)
    return *in_file.find(found->second);
  const KernelNames::Table& names = rows_[process].kernel_names.all();
  auto name = names.find(handle);
  std::string_view known = handle == 0           ? kNotToldApart
                           : name == names.end() ? std::string_view()
                                                 : std::string_view(name->second);
  uint32_t owner = inFile(process);
  const auto& layouts = rows_[process].kernel_parameters;
  std::optional<std::string_view> parameters;
  if (auto layout = layouts.find(handle); layout != layouts.end()) parameters = layout->second;
  file_.write([&](auto& file) { return file.addKernel(owner, handle, known, parameters); });
  return in_file.add(found->second);
}

// True: it was launched before it had a name, and its row has the name now.
bool SessionProcesses::giveName(uint32_t process, uint64_t handle, const std::string& name) {
  auto known = kernels_.find({process, handle});
  if (known == kernels_.end() || name.empty()) return false;
  auto row = file_.numbers().kernels.find(known->second);
  if (!row) return false;
  file_.write([&](auto& file) { return file.nameKernel(*row, name); });
  return true;
}

void SessionProcesses::setKernelParameters(uint32_t process, uint64_t handle,
                                           const std::string& parameters) {
  rows_[process].kernel_parameters[handle] = parameters;
  auto known = kernels_.find({process, handle});
  if (known == kernels_.end()) return;
  // Its row is there already, because it was launched before.
  if (auto row = file_.numbers().kernels.find(known->second))
    file_.write([&](auto& file) { return file.setKernelParameters(*row, parameters); });
}

}  // namespace tidegauge::record
