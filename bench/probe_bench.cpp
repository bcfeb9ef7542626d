// What watching costs the watched: probe_bench STANDIN_FOLDER [ROUNDS]
//
//   parent: Recorder, drains every 5 ms          child: cuMemAlloc_v2 / cuMemFree_v2 / cuLaunchKernel
//     "measure 20,000 calls" ──────────────────►   thread CPU time before and after
//     ◄────────────────────────────── ns a call
//
// One run measures all ways in turn, round by round, so that what else the machine does hits all of
// them; figures are medians, less the bare call. Empty probes are two BPF instructions at the same
// places. The folder is what tests/standin/build.py made. Needs root. docs/performance.md
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <linux/bpf.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "record/elf_file.h"
#include "record/recorder.h"

namespace tidegauge {
namespace {

constexpr int kCalls = 20'000;
constexpr int kUprobeMulti = 48;  // BPF_TRACE_UPROBE_MULTI

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// ---- the watched process ------------------------------------------------------------------------
enum Task : uint32_t { kPairs, kLaunches, kRuntimePairs, kPaced };
struct Order {
  Task task = kPairs;
  uint32_t per_second = 0;  // kPaced: calls of all threads
};
struct Answer {
  double ns_per_call = 0;
  double calls_per_second = 0;
  uint64_t calls = 0;
};

struct Gpu {
  int (*init)(unsigned);
  int (*retain)(void**, int);
  int (*set)(void*);
  int (*allocate)(unsigned long long*, size_t);
  int (*release)(unsigned long long);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                void**, void**);
  int (*runtime_allocate)(void**, size_t);
  int (*runtime_release)(void*);
  void* context = nullptr;

  explicit Gpu(const std::string& folder) {
    void* driver = dlopen((folder + "/libcuda.so.1").c_str(), RTLD_NOW | RTLD_GLOBAL);
    void* runtime = dlopen((folder + "/libcudart.so.13").c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (driver == nullptr || runtime == nullptr) {
      fmt::print(stderr, "{}\n", dlerror());
      _exit(1);
    }
    auto find = [](void* library, const char* name, auto& function) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    };
    find(driver, "cuInit", init);
    find(driver, "cuDevicePrimaryCtxRetain", retain);
    find(driver, "cuCtxSetCurrent", set);
    find(driver, "cuMemAlloc_v2", allocate);
    find(driver, "cuMemFree_v2", release);
    find(driver, "cuLaunchKernel", launch);
    find(runtime, "cudaMalloc", runtime_allocate);
    find(runtime, "cudaFree", runtime_release);
    if (init(0) != 0 || retain(&context, 0) != 0) _exit(1);
  }
};

void pairs(const Gpu& gpu, int calls) {
  unsigned long long address = 0;
  for (int i = 0; i < calls; i += 2) {
    gpu.allocate(&address, 4096);
    gpu.release(address);
  }
}

// Two threads that call at a fixed rate for two seconds, or as fast as they can.
Answer paced(Gpu& gpu, uint32_t per_second) {
  std::atomic<uint64_t> calls = 0;
  double begin = seconds(CLOCK_MONOTONIC), end = begin + 2;
  auto work = [&] {
    gpu.set(gpu.context);
    constexpr int kBatch = 100;
    double next = seconds(CLOCK_MONOTONIC), step = 2.0 * kBatch / per_second;
    while (seconds(CLOCK_MONOTONIC) < end) {
      pairs(gpu, kBatch);
      calls += kBatch;
      next += step;
      while (seconds(CLOCK_MONOTONIC) < std::min(next, end)) sched_yield();
    }
  };
  std::thread other(work);
  work();
  other.join();
  Answer answer;
  answer.calls = calls;
  answer.calls_per_second = static_cast<double>(calls) / (seconds(CLOCK_MONOTONIC) - begin);
  return answer;
}

[[noreturn]] void serve(const std::string& folder, int orders, int answers) {
  Gpu gpu(folder);
  gpu.set(gpu.context);
  Order order;
  Answer ready;
  (void)!write(answers, &ready, sizeof(ready));
  while (read(orders, &order, sizeof(order)) == sizeof(order)) {
    Answer answer;
    double before = seconds(CLOCK_THREAD_CPUTIME_ID);
    if (order.task == kPairs) {
      pairs(gpu, kCalls);
    } else if (order.task == kLaunches) {
      for (int i = 0; i < kCalls; ++i)
        gpu.launch(&gpu, 1, 2, 3, 4, 5, 6, 0, nullptr, nullptr, nullptr);
    } else if (order.task == kRuntimePairs) {
      void* address = nullptr;
      for (int i = 0; i < kCalls; i += 2) {
        gpu.runtime_allocate(&address, 4096);
        gpu.runtime_release(address);
      }
    } else {
      answer = paced(gpu, order.per_second);
    }
    answer.ns_per_call = (seconds(CLOCK_THREAD_CPUTIME_ID) - before) * 1e9 / kCalls;
    (void)!write(answers, &answer, sizeof(answer));
  }
  _exit(0);
}

// ---- the watching process -----------------------------------------------------------------------
struct Counter final : record::RecorderSink {
  uint64_t calls = 0;
  void processSeen(const record::SeenProcess&) override {}
  void processEnded(uint32_t, int64_t, std::optional<int>) override {}
  void libraryWatched(const record::WatchedLibrary&) override {}
  void call(const model::MemoryCall&) override { calls += 1; }
  void stackSeen(uint32_t, uint32_t, const std::vector<uint64_t>&) override {}
  void kernelNamed(const record::KernelName&) override {}
  void launchesSeen(const std::vector<record::LaunchCount>&) override {}
  void launched(const record::Launch&) override {}
  void copiesSeen(const std::vector<record::CopyCount>&) override {}
};

// `mov r0, 0; exit` at the entry, and at the return if wanted, of functions of a file.
class EmptyProbes {
 public:
  EmptyProbes(const std::string& path, const std::vector<std::string_view>& names, bool returns) {
    const bpf_insn code[] = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0},
                             {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
    bpf_prog_load_opts options{};
    options.sz = sizeof(options);
    options.expected_attach_type = static_cast<bpf_attach_type>(kUprobeMulti);
    program_ = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "empty", "GPL", code, 2, &options);
    auto file = record::ElfFile::open(path);
    if (program_ < 0 || !file.ok()) exit(1);
    std::vector<uint64_t> offsets;
    for (const auto& [name, offset] : file.value().functions(names))
      offsets.push_back(offset + record::probeSkip(file.value().bytesAt(offset, 16)));
    attach(path, offsets, 0);
    if (returns) attach(path, offsets, 1);
  }
  ~EmptyProbes() {
    for (int link : links_) close(link);
    close(program_);
  }
  EmptyProbes(const EmptyProbes&) = delete;
  EmptyProbes& operator=(const EmptyProbes&) = delete;

 private:
  void attach(const std::string& path, const std::vector<uint64_t>& offsets, uint32_t flags) {
    struct {  // link_create.uprobe_multi of union bpf_attr
      uint32_t program, target, attach_type, flags;
      uint64_t path, offsets, counters, cookies;
      uint32_t count, multi_flags, pid, padding;
    } it{};
    it.program = static_cast<uint32_t>(program_);
    it.attach_type = kUprobeMulti;
    it.path = reinterpret_cast<uint64_t>(path.c_str());
    it.offsets = reinterpret_cast<uint64_t>(offsets.data());
    it.count = static_cast<uint32_t>(offsets.size());
    it.multi_flags = flags;
    auto link = static_cast<int>(syscall(SYS_bpf, BPF_LINK_CREATE, &it, sizeof(it)));
    if (link < 0) {
      fmt::print(stderr, "empty probe: {}\n", std::strerror(errno));
      exit(1);
    }
    links_.push_back(link);
  }
  int program_ = -1;
  std::vector<int> links_;
};

class Target {
 public:
  explicit Target(const std::string& folder) {
    std::array<int, 2> orders{}, answers{};
    if (pipe(orders.data()) != 0 || pipe(answers.data()) != 0) exit(1);
    pid_ = fork();
    if (pid_ == 0) {
      close(orders[1]);
      serve(folder, orders[0], answers[1]);
    }
    close(orders[0]);
    orders_ = orders[1];
    answers_ = answers[0];
    Answer ready;
    if (read(answers_, &ready, sizeof(ready)) != sizeof(ready)) exit(1);
  }
  ~Target() {
    close(orders_);
    waitpid(pid_, nullptr, 0);
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  uint32_t pid() const { return static_cast<uint32_t>(pid_); }
  Answer ask(const Order& order, record::Recorder* recorder) {
    (void)!write(orders_, &order, sizeof(order));
    pollfd news{answers_, POLLIN, 0};
    while (recorder != nullptr && ::poll(&news, 1, 0) == 0) recorder->poll(5);
    Answer answer;
    (void)!read(answers_, &answer, sizeof(answer));
    if (recorder != nullptr) recorder->finish();
    return answer;
  }

 private:
  pid_t pid_ = -1;
  int orders_ = -1, answers_ = -1;
};

std::unique_ptr<record::Recorder> startRecorder(bool stacks, Counter& counter, uint32_t pid) {
  record::RecorderOptions options;
  options.programs.take_stacks = stacks;
  auto recorder = record::Recorder::start(options, counter);
  if (!recorder.ok()) {
    fmt::print(stderr, "{}\n", recorder.error().what);
    exit(4);
  }
  if (auto status = recorder.value()->watch(pid); !status.ok()) exit(1);
  return std::move(recorder.value());
}

double median(std::vector<double> list) {
  std::sort(list.begin(), list.end());
  return list[list.size() / 2];
}

int run(const std::string& folder, int rounds) {
  Target target(folder);
  std::string driver = folder + "/libcuda.so.1";
  std::map<std::string, std::vector<double>> ns;
  auto measure = [&](const std::string& way, Task task, record::Recorder* recorder) {
    target.ask({task, 0}, recorder);  // warm
    ns[way].push_back(target.ask({task, 0}, recorder).ns_per_call);
  };
  for (int round = 0; round < rounds; ++round) {
    measure("bare call", kPairs, nullptr);
    measure("bare launch", kLaunches, nullptr);
    measure("bare runtime call", kRuntimePairs, nullptr);
    {
      EmptyProbes probes(driver, {"cuMemAlloc_v2", "cuMemFree_v2"}, true);
      measure("empty pair", kPairs, nullptr);
    }
    {
      EmptyProbes probes(driver, {"cuLaunchKernel"}, false);
      measure("empty launch", kLaunches, nullptr);
    }
    for (bool stacks : {false, true}) {
      Counter counter;
      auto recorder = startRecorder(stacks, counter, target.pid());
      std::string with = stacks ? ", stacks" : "";
      measure("recorded call" + with, kPairs, recorder.get());
      measure("recorded runtime call" + with, kRuntimePairs, recorder.get());
      if (!stacks) measure("counted launch", kLaunches, recorder.get());
    }
  }
  auto cost = [&](const std::string& way, const std::string& bare) {
    return median(ns[way]) - median(ns[bare]);
  };
  double pair = cost("empty pair", "bare call"), launch = cost("empty launch", "bare launch");
  double call = cost("recorded call", "bare call");
  double counted = cost("counted launch", "bare launch");
  fmt::print("thread CPU time a call, median of {} rounds of {} calls, less the bare call\n",
             rounds, kCalls);
  fmt::print("  empty entry and return                    {:6.0f} ns\n", pair);
  fmt::print(
      "  driver call recorded, no stack            {:6.0f} ns  budget 1.2 × empty + 400 = {:.0f}: "
      "{}\n",
      call, 1.2 * pair + 400, call <= 1.2 * pair + 400 ? "met" : "not met");
  fmt::print("  driver call recorded, with its stack      {:6.0f} ns\n",
             cost("recorded call, stacks", "bare call"));
  fmt::print("  runtime call and its driver call          {:6.0f} ns, with one stack {:.0f} ns\n",
             cost("recorded runtime call", "bare runtime call"),
             cost("recorded runtime call, stacks", "bare runtime call"));
  fmt::print("  empty entry of a launch                   {:6.0f} ns\n", launch);
  fmt::print(
      "  launch counted                            {:6.0f} ns  budget 1.2 × empty = {:.0f}: {}\n",
      counted, 1.2 * launch, counted <= 1.2 * launch ? "met" : "not met");

  for (uint32_t rate : {10'000U, 100'000U, 500'000U, 5'000'000U}) {
    Counter counter;
    auto recorder = startRecorder(false, counter, target.pid());
    double before = seconds(CLOCK_PROCESS_CPUTIME_ID);
    Answer answer = target.ask({kPaced, rate}, recorder.get());
    double spent = seconds(CLOCK_PROCESS_CPUTIME_ID) - before;
    fmt::print(
        "  {} calls/s asked, {:.0f} came: {} of {} lost in an 8 MiB ring, recorder {:.1f} % of a "
        "core\n",
        rate, answer.calls_per_second, recorder->losses()[LOSS_MEMORY_RING], answer.calls,
        spent / 2 * 100);
  }
  return 0;
}

}  // namespace
}  // namespace tidegauge

int main(int count, char** words) {
  if (count < 2) {
    fmt::print(stderr, "probe_bench STANDIN_FOLDER [ROUNDS]   (tests/standin/build.py makes it)\n");
    return 2;
  }
  return tidegauge::run(words[1], count > 2 ? std::atoi(words[2]) : 9);
}
