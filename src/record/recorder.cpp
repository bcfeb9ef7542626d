#include "record/recorder.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "record/decode.h"
#include "record/kernel/functions.h"
#include "record/process/errors.h"
#include "record/process/running_process.h"

namespace tidegauge::record {
namespace {

constexpr size_t kDrainStacksEvery = 256;  // calls
// Waiting for a stack that another processor is about to send.
constexpr int kMaxWaits = 20;
constexpr useconds_t kWait_us = 100;

int64_t toEpoch(uint64_t kernel_ns) { return evenClock().ofKernel_ns(kernel_ns); }

template <class Record, class Time>
void sortBy(std::vector<Record>& records, Time Record::*time) {
  std::stable_sort(records.begin(), records.end(),
                   [&](const Record& a, const Record& b) { return a.*time < b.*time; });
}

template <class Record>
void dropFirst(std::vector<Record>& records, size_t count) {
  records.erase(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(count));
}

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
      probes_(programs_, options.framework),
      unwinder_(programs_),
      sink_(sink),
      counts_(programs_),
      name_glob_(options.name_glob),
      watch_all_(options.programs.watch_all),
      let_go_unused_(options.programs.watch_all || options.let_go_unused) {}

// No program may stay stopped: first no more are stopped, then the stopped ones continue.
Recorder::~Recorder() {
  probes_.detach();
  programs_.detach();
  std::vector<system_record> last;
  rings_.takeSystem(last);
  for (const system_record& record : last)
    if (record.stopped != 0) kill(static_cast<pid_t>(record.tgid), SIGCONT);
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
      if (it.left_out)
        index_of_[record.program] = std::nullopt;
      else
        index_of_[record.program] = it.index;
      if (auto early = early_names_.extract(record.program); !early.empty())
        for (const name_record& name : early.mapped()) named(name);
      break;
    }
    case SYSTEM_FORK:
      (void)running(record.tgid, &record);
      break;
    case SYSTEM_EXEC:
      end(record.tgid, record.time_ns, std::nullopt);
      // If the whole machine is watched, a process is reported at its first call.
      if (!watch_all_) (void)running(record.tgid, &record);
      break;
    case SYSTEM_EXIT:
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
  process.from_start = from_start_.contains(tgid) ||
                       (seen != nullptr && (seen->event == SYSTEM_FORK || seen->stopped != 0));
  fresh.from_start = process.from_start;
  process.first_ns = toEpoch(seen != nullptr ? seen->time_ns : evenClock().kernelNow_ns());
  if (seen != nullptr) {
    process.parent = seen->parent;
    process.cgroup = seen->cgroup;
    if (process.name.empty()) process.name.assign(seen->text, strnlen(seen->text, 16));
  }
  fresh.left_out = !name_glob_.empty() && fnmatch(name_glob_.c_str(), process.name.c_str(), 0) != 0;
  if (fresh.left_out) return fresh;
  process.index = fresh.index = next_index_++;
  sink_.processSeen(process);
  return fresh;
}

void Recorder::end(uint32_t tgid, uint64_t time_ns, std::optional<int> status) {
  auto found = running_.find(tgid);
  if (found == running_.end()) return;
  if (found->second.program != 0) ended_programs_.push_back(found->second.program);
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

void Recorder::reportStack(Running& process, int32_t stack) {
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

void Recorder::memoryCall(const memory_record& record) {
  if (record.function >= watchedFunctions().size()) return;
  Running& process = running(record.tgid);
  if (process.left_out) return;
  reportStack(process, record.stack);
  model::MemoryCall call = decoded(record, process.from_start);
  call.start_ns = toEpoch(record.start_ns);
  call.end_ns = toEpoch(record.end_ns);
  call.process = process.index;
  sink_.call(call);
}

void Recorder::named(const name_record& record) {
  auto index = index_of_.find(record.program);
  if (index == index_of_.end() || !index->second) return;
  KernelName name;
  name.process = *index->second;
  name.handle = record.handle;
  name.made_from = record.of;
  name.name.assign(record.name, strnlen(record.name, sizeof(record.name)));
  sink_.kernelNamed(name);
}

// A name may arrive before its program is known; after the program's end it is useless.
void Recorder::takeNames() {
  std::vector<name_record> names;
  rings_.takeNames(names);
  for (const name_record& record : names) {
    if (index_of_.contains(record.program))
      named(record);
    else
      early_names_[record.program].push_back(record);
  }
}

void Recorder::launched(const launch_record& record) {
  Running& process = running(record.tgid);
  if (process.left_out) return;
  reportStack(process, record.stack);
  Launch launch = decoded(record);
  launch.what.process = process.index;
  launch.time_ns = toEpoch(record.time_ns);
  sink_.launched(launch);
}

void Recorder::inOrderUntil(uint64_t time_ns) {
  size_t done = 0;
  while (done < system_records_.size() && system_records_[done].time_ns <= time_ns)
    inOrder(system_records_[done++]);
  dropFirst(system_records_, done);
}

size_t Recorder::poll(int timeout_ms) {
  // A process may be stopped until its event is handled, so handle events at once.
  rings_.wait(timeout_ms);
  takeUrgent();
  uint64_t until_ns = rings_.takeCalls(memory_records_, launch_records_);
  takeNames();
  unwinder_.drain();
  takeUrgent();
  until_ns = std::min({until_ns, rings_.systemReadAt(), end_ns_});

  // Merges by time. Records after `until_ns` wait: an earlier one may still arrive.
  sortBy(memory_records_, &memory_record::end_ns);
  sortBy(launch_records_, &launch_record::time_ns);
  sortBy(system_records_, &system_record::time_ns);
  size_t calls = 0, launches = 0;
  for (size_t done = 0;;) {
    uint64_t call_ns = calls < memory_records_.size() ? memory_records_[calls].end_ns : UINT64_MAX;
    uint64_t launch_ns =
        launches < launch_records_.size() ? launch_records_[launches].time_ns : UINT64_MAX;
    uint64_t next_ns = std::min(call_ns, launch_ns);
    if (next_ns > until_ns) break;
    // A new stack waits for its rules: the earlier they are set, the fewer copies are sent.
    if (++done % kDrainStacksEvery == 0) unwinder_.drain();
    if (!system_records_.empty() && system_records_.front().time_ns <= next_ns)
      inOrderUntil(next_ns);
    if (launch_ns < call_ns)
      launched(launch_records_[launches++]);
    else
      memoryCall(memory_records_[calls++]);
  }
  inOrderUntil(until_ns);
  dropFirst(memory_records_, calls);
  dropFirst(launch_records_, launches);
  known_until_ns_ = until_ns;
  return calls;
}

// Until now: running programs may write as fast as this reads.
void Recorder::finish() {
  end_ns_ = evenClock().kernelNow_ns();
  for (int i = 0; i < 1000 && known_until_ns_ < end_ns_; ++i) (void)poll(0);
  (void)poll(0);  // stacks of the last calls
}

// Reports and removes the rows whose program is known; the others wait for the next time.
template <class Key, class Value, class Report>
void Recorder::reportRows(std::vector<std::pair<Key, Value>>& rows, const Report& report) {
  std::erase_if(rows, [&](const auto& row) {
    auto index = index_of_.find(row.first.program);
    if (index == index_of_.end()) return false;
    if (index->second) report(*index->second, row.first, row.second);
    return true;
  });
}

void Recorder::tellCounts() {
  TakenCounts taken = counts_.take();
  auto add = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  add(pending_.launches, taken.launches);
  add(pending_.beyond, taken.beyond);
  add(pending_.copies, taken.copies);
  std::vector<LaunchCount> launches;
  std::vector<CopyCount> copies;
  reportRows(pending_.launches, [&](uint32_t process, const launch_key& key, uint64_t calls) {
    if (key.function >= watchedFunctions().size()) return;
    LaunchCount& count = launches.emplace_back(decoded(key));
    count.process = process;
    count.launches = calls;
  });
  reportRows(pending_.beyond, [&](uint32_t process, const beyond_key& key, uint64_t calls) {
    LaunchCount& count = launches.emplace_back();
    count.process = process;
    count.function = key.function;
    count.launches = calls;
  });
  reportRows(pending_.copies, [&](uint32_t process, const copy_key& key, const copy_sum& sum) {
    CopyCount& count = copies.emplace_back(decoded(key));
    count.process = process;
    record::add(count, sum);
  });
  sink_.launchesSeen(launches);
  sink_.copiesSeen(copies);
  releaseUnused();
  // They had ended before the tables were switched, so these were their last counts.
  for (uint32_t program : ended_programs_) {
    index_of_.erase(program);
    early_names_.erase(program);
    counts_.forget(program);
  }
  ended_programs_.clear();
}

}  // namespace tidegauge::record
