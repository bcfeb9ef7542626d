#include "record/recorder.h"

#include <bpf/bpf.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "bpf/processes/hold_records.h"
#include "record/decode.h"
#include "record/kernel/functions.h"
#include "record/process/errors.h"
#include "record/process/helper.h"
#include "record/process/running_process.h"

namespace tidegauge::record {
namespace {

constexpr size_t kDrainStacksEvery = 256;  // calls
// For a stack that another processor is about to send.
constexpr int kMaxWaits = 20;
constexpr useconds_t kWait_us = 100;

int64_t toEpoch(uint64_t kernel_ns) { return evenClock().ofKernel_ns(kernel_ns); }

}  // namespace

base::Result<std::unique_ptr<Recorder>> Recorder::start(const RecorderOptions& options,
                                                        RecorderSink& sink) {
  if (isInOwnPidNamespace())
    return missing(
        "in a pid namespace of its own (a container) "
        "processes have other numbers than in the kernel",
        "run it outside, or in a container with --pid=host (Kubernetes: hostPID: true); "
        "`record --preload` needs neither");
  TG_ASSIGN_OR_RETURN(Programs programs, Programs::load(options.programs));
  std::unique_ptr<Recorder> recorder(new Recorder(std::move(programs), options, sink));
  if (!recorder->rings_.open(recorder->programs_, options.programs.launch_events) ||
      !recorder->unwinder_.ok())
    return limit(fmt::format("no memory for the rings: {}", std::strerror(errno)));
  recorder->counts_.start();
  return recorder;
}

Recorder::Recorder(Programs programs, const RecorderOptions& options, RecorderSink& sink)
    : programs_(std::move(programs)),
      gates_(programs_),
      probes_(programs_, options.framework),
      unwinder_(programs_),
      pythons_(programs_),
      sink_(sink),
      counts_(programs_),
      name_glob_(options.name_glob),
      watch_all_(options.programs.watch_all),
      walks_python_(options.python && options.programs.take_stacks),
      let_go_unused_(options.programs.watch_all || options.let_go_unused) {
  if (options.programs.cgroup != 0)
    cgroup_ = {options.programs.cgroup, options.programs.cgroup_level};
}

Recorder::~Recorder() { letGo(); }

bool Recorder::isNameMeant(const std::string& name) const {
  return name_glob_.empty() || fnmatch(name_glob_.c_str(), name.c_str(), 0) == 0;
}

// No program may stay stopped: first no more are stopped, then the stopped ones continue.
void Recorder::letGo() {
  if (std::exchange(has_let_go_, true)) return;
  gates_.shut();
  probes_.detach();
  pythons_.detach();
  programs_.detach();
  std::vector<system_record> last;
  rings_.takeSystem(last);
  for (const system_record& record : last)
    if (record.stopped == STOPPED_BY_SIGNAL) continueProcess(static_cast<pid_t>(record.tgid));
}

void Recorder::inOrder(const system_record& record) {
  switch (record.event) {
    case SYSTEM_FIRST_SEEN: {
      // Another program with this number: the record of its start was lost (system ring full). Its
      // mappings are known already.
      if (auto before = running_.find(record.tgid); before != running_.end() &&
                                                    before->second.program != 0 &&
                                                    before->second.program != record.program)
        end(record.tgid, record.time_ns, std::nullopt);
      Running& it = running(record.tgid, &record);
      it.program = record.program;
      std::optional<uint32_t> process;
      if (!it.left_out) process = it.index;
      for (const name_record& name : book_.add(record.program, process)) named(name);
      break;
    }
    case SYSTEM_FORK:
      (void)running(record.tgid, &record);
      break;
    case SYSTEM_EXEC:
      end(record.tgid, record.time_ns, std::nullopt);
      // If the whole machine is watched, a process is reported at its first call.
      if (!watch_all_ || incomplete_.erase(record.tgid) > 0) (void)running(record.tgid, &record);
      break;
    case SYSTEM_LIBRARIES:
      if (incomplete_.erase(record.tgid) > 0) {
        system_record late = record;
        late.stopped = NOT_STOPPED;  // it may have waited, but not until its libraries were watched
        (void)running(record.tgid, &late);
      }
      break;
    case SYSTEM_EXIT:
      incomplete_.erase(record.tgid);
      end(record.tgid, record.time_ns, record.code);
      break;
    default:
      break;
  }
}

Recorder::Running& Recorder::running(uint32_t tgid, const system_record* seen) {
  auto found = running_.find(tgid);
  if (found != running_.end()) return found->second;
  Running& fresh = running_[tgid];
  SeenProcess process;
  process.pid = tgid;
  process.command = commandOf(tgid);
  process.name = nameOf(tgid);
  // A program that waited at its start until its libraries were watched is recorded from there on.
  process.from_start =
      from_start_.contains(tgid) ||
      (seen != nullptr &&
       (seen->event == SYSTEM_FORK || (seen->stopped != NOT_STOPPED && seen->stopped != NOT_HELD)));
  fresh.from_start = fresh.names_were_seen = process.from_start;
  if (seen != nullptr && seen->event == SYSTEM_FORK) {
    auto parent = running_.find(seen->parent);
    bool is_known = parent != running_.end() && !parent->second.left_out;
    if (is_known) process.forked_from = parent->second.index;
    fresh.names_were_seen = is_known && parent->second.names_were_seen;
  }
  process.names_were_seen = fresh.names_were_seen;
  process.first_ns = toEpoch(seen != nullptr ? seen->time_ns : evenClock().kernelNow_ns());
  if (seen != nullptr) {
    process.parent = seen->parent;
    process.cgroup = seen->cgroup;
    if (process.name.empty()) process.name.assign(seen->text, strnlen(seen->text, 16));
  }
  fresh.left_out = !isNameMeant(process.name);
  if (fresh.left_out) return fresh;
  process.index = fresh.index = next_index_++;
  sink_.processSeen(process);
  return fresh;
}

void Recorder::end(uint32_t tgid, uint64_t time_ns, std::optional<int> status) {
  auto found = running_.find(tgid);
  if (found == running_.end()) return;
  if (found->second.program != 0) book_.end(found->second.program);
  for (uint64_t kernel : found->second.sized_kernels) {
    parameter_key key{kernel, found->second.program, 0};
    (void)bpf_map_delete_elem(programs_.mapDescriptor("parameters_of"), &key);
  }
  if (found->second.left_out) {
    running_.erase(found);
    return;
  }
  sink_.processEnded(found->second.index, toEpoch(time_ns), status);
  if (status) {  // after exec, the new program is there already
    unwinder_.forget(tgid);
    learnt_.erase(tgid);
  }
  running_.erase(found);
}

void Recorder::sendStack(Running& process, int32_t stack) {
  if (stack < 0 || !process.stacks.insert(stack).second) return;
  // It was sent before the call. But the ring returns nothing after a record that another processor
  // is still writing.
  auto frames = unwinder_.take(static_cast<uint32_t>(stack));
  for (int i = 0; i < kMaxWaits && !frames; ++i) {
    if (i > 0) usleep(kWait_us);
    unwinder_.drain();
    frames = unwinder_.take(static_cast<uint32_t>(stack));
  }
  if (frames) sink_.stackSeen(process.index, static_cast<uint32_t>(stack), *frames);
}

// A new stack waits for its rules: the earlier they are set, the fewer copies are sent.
void Recorder::beforeCall(size_t number) {
  if (number % kDrainStacksEvery == 0) unwinder_.drain();
}

void Recorder::memoryCall(const memory_record& record) {
  if (record.function >= watchedFunctions().size()) return;
  Running& process = running(record.tgid);
  if (process.left_out) return;
  sendStack(process, record.stack);
  model::MemoryCall call = decoded(record, process.from_start);
  call.start_ns = toEpoch(record.start_ns);
  call.end_ns = toEpoch(record.end_ns);
  call.process = process.index;
  sink_.call(call);
}

void Recorder::named(const name_record& record) {
  std::optional<uint32_t> process = book_.processOf(record.program);
  if (!process) return;
  KernelName name;
  name.process = *process;
  name.handle = record.handle;
  name.made_from = record.of;
  name.name.assign(record.name, strnlen(record.name, sizeof(record.name)));
  sink_.kernelNamed(name);
}

// Names that found no room in the ring are read where they lie.
void Recorder::takeMissedNames() {
  int map = programs_.mapDescriptor("missed_names");
  missed_name_key key{};
  while (bpf_map_get_next_key(map, nullptr, &key) == 0) {
    missed_name missed{};
    if (bpf_map_lookup_elem(map, &key, &missed) != 0 || bpf_map_delete_elem(map, &key) != 0) return;
    name_record record{};
    record.handle = key.handle;
    record.of = missed.of;
    record.program = key.program;
    if (missed.text != 0) {
      std::string text = textOf(key.tgid, missed.text, sizeof(record.name) - 1);
      if (text.empty()) names_lost_ += 1;
      text.copy(record.name, sizeof(record.name) - 1);
    }
    if (book_.contains(record.program))
      named(record);
    else
      book_.keepName(record);
  }
}

Losses Recorder::losses() const {
  Losses losses = programs_.losses();
  losses[LOSS_NAME_RING] += names_lost_;
  return losses;
}

void Recorder::setParameters(uint32_t process, uint64_t kernel,
                             const std::vector<uint64_t>& sizes) {
  if (sizes.size() > WHOLE_PARAMETERS) return;
  parameter_sizes value{};
  value.count = static_cast<uint16_t>(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i)
    value.size[i] = static_cast<uint16_t>(std::min<uint64_t>(sizes[i], UINT16_MAX));
  for (auto& [pid, running] : running_) {
    if (running.left_out || running.index != process || running.program == 0) continue;
    parameter_key key{kernel, running.program, 0};
    if (bpf_map_update_elem(programs_.mapDescriptor("parameters_of"), &key, &value, BPF_ANY) == 0)
      running.sized_kernels.push_back(kernel);
  }
}

// A name may arrive before its program is known; after the program's end it is useless.
void Recorder::takeNames() {
  takeMissedNames();
  std::vector<name_record> names;
  rings_.takeNames(names);
  for (const name_record& record : names) {
    if (book_.contains(record.program))
      named(record);
    else
      book_.keepName(record);
  }
}

void Recorder::launched(const SeenLaunch& record) {
  Running& process = running(record.tgid);
  if (process.left_out) return;
  sendStack(process, record.stack);
  Launch launch = decoded(record);
  if (record.whole != 0) {
    launch.parameters = record.arguments;
    launch.bytes = record.bytes;
    launch.arguments.clear();
  }
  launch.what.process = process.index;
  launch.time_ns = toEpoch(record.time_ns);
  sink_.launched(launch);
}

size_t Recorder::poll(int timeout_ms) {
  // A process may be stopped until its event is handled, so handle events at once.
  rings_.wait(timeout_ms);
  takeUrgent();
  uint64_t until_ns = rings_.takeCalls(order_.memory(), order_.launches());
  takeNames();
  unwinder_.drain();
  takeUrgent();
  return order_.handOut(std::min(until_ns, rings_.systemReadAt()), *this);
}

// Until now: running programs may write as fast as this reads.
void Recorder::finish() {
  order_.endAt(evenClock().kernelNow_ns());
  for (int i = 0; i < 1000 && !order_.isAtEnd(); ++i) (void)poll(0);
  (void)poll(0);  // stacks of the last calls
  letGo();        // writing the rest may take seconds, in which a new program must not wait
}

void Recorder::tellCounts() {
  TakenCounts taken = counts_.take();
  auto add = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  TakenCounts& waiting = book_.waitingCounts();
  add(waiting.launches, taken.launches);
  add(waiting.beyond, taken.beyond);
  add(waiting.copies, taken.copies);
  std::vector<LaunchCount> launches;
  std::vector<CopyCount> copies;
  book_.giveRows(waiting.launches, [&](uint32_t process, const launch_key& key, uint64_t calls) {
    if (key.function >= watchedFunctions().size()) return;
    LaunchCount& count = launches.emplace_back(decoded(key));
    count.process = process;
    count.launches = calls;
  });
  book_.giveRows(waiting.beyond, [&](uint32_t process, const beyond_key& key, uint64_t calls) {
    LaunchCount& count = launches.emplace_back();
    count.process = process;
    count.function = key.function;
    count.launches = calls;
  });
  book_.giveRows(waiting.copies, [&](uint32_t process, const copy_key& key, const copy_sum& sum) {
    CopyCount& count = copies.emplace_back(decoded(key));
    count.process = process;
    record::add(count, sum);
  });
  sink_.launchesSeen(launches);
  sink_.copiesSeen(copies);
  releaseUnused();
  // They had ended before the tables were switched, so these were their last counts.
  for (uint32_t program : book_.forgetEnded()) counts_.forget(program);
}

}  // namespace tidegauge::record
