// The cost of watching for the watched process and the watcher: probe_bench STANDIN_FOLDER [ROUNDS
// [--walks]]
//
//   this process: what watches, drains every 5 ms     Target: cuMemAlloc_v2, cudaLaunchKernel, …
//     "measure 20,000 calls" ──────────────────────►   thread CPU time before and after
//     ◄──────────────────────────────── ns a call
//
// One run measures all variants in turn, round by round, so that other load on the machine affects
// all of them; figures are medians, minus the bare call. Empty probes are two BPF instructions at
// the same places. tests/standin/build.py makes the folder. Needs root. docs/performance.md
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "other_probes.h"
#include "record/code/elf_file.h"
#include "record/kernel/functions.h"
#include "record/preload/preload.h"
#include "record/recorder.h"
#include "record/session/session.h"
#include "target.h"

namespace tidegauge::bench {
namespace {

// Takes everything and keeps nothing.
struct Counter final : record::RecorderSink {
  uint64_t calls = 0;
  void processSeen(const record::SeenProcess&) override {}
  void processEnded(uint32_t, int64_t, std::optional<int>) override {}
  void libraryWatched(const record::WatchedLibrary&) override {}
  void call(const model::MemoryCall&) override { calls += 1; }
  void stackSeen(uint32_t, uint32_t, const record::SeenStack&) override {}
  void kernelNamed(const record::KernelName&) override {}
  void launchesSeen(const std::vector<record::LaunchCount>&) override {}
  void launched(const record::Launch&) override {}
  void copiesSeen(const std::vector<record::CopyCount>&) override {}
};

std::unique_ptr<record::Recorder> startRecorder(bool stacks, record::RecorderSink& sink,
                                                uint32_t pid) {
  record::RecorderOptions options;
  options.programs.take_stacks = options.programs.take_block_stacks = stacks;
  auto recorder = record::Recorder::start(options, sink);
  if (!recorder.ok()) {
    fmt::print(stderr, "{}\n", recorder.error().what);
    exit(4);
  }
  if (auto status = recorder.value()->watch(pid); !status.ok()) exit(1);
  return std::move(recorder.value());
}

// Tidegauge's probes on three functions of the driver alone, without stacks: as many as the
// published design watches in the runtime.
class DriverAlone {
 public:
  DriverAlone(const std::string& driver, uint32_t pid) : programs_(load()) {
    if (!programs_.watchProcess(pid, false).ok()) exit(1);
    auto file = record::ElfFile::open(driver);
    for (const record::WatchedFunction& function : record::watchedFunctions()) {
      bool is_launch = function.name == "cuLaunchKernel";
      if (!is_launch && function.name != "cuMemAlloc_v2" && function.name != "cuMemFree_v2")
        continue;
      uint64_t offset = offsetOf(driver, function.name);
      offset += record::probeSkip(file.value().bytesAt(offset, 16));
      auto attach = [&](const char* program, bool at_return) {
        links_.push_back(
            programs_.attachMany(program, driver, {offset}, {function.cookie}, at_return));
        if (links_.back() < 0) exit(1);
      };
      if (!is_launch) attach("memory_exit", true);
      attach(is_launch ? "launch_enter" : "memory_enter", false);
    }
    ring_ = ring_buffer__new(
        programs_.mapDescriptor("memory_ring"), [](void*, void*, size_t) { return 0; }, nullptr,
        nullptr);
    if (ring_ == nullptr) exit(1);
  }
  ~DriverAlone() {
    ring_buffer__free(ring_);
    for (int link : links_) close(link);
  }
  DriverAlone(const DriverAlone&) = delete;
  DriverAlone& operator=(const DriverAlone&) = delete;
  void poll() {
    usleep(5000);
    ring_buffer__consume(ring_);
  }

 private:
  static record::Programs load() {
    record::ProgramSettings settings;
    settings.take_stacks = false;
    auto programs = record::Programs::load(settings);
    if (!programs.ok()) exit(4);
    return std::move(programs.value());
  }
  record::Programs programs_;
  std::vector<int> links_;
  ring_buffer* ring_ = nullptr;
};

double median(std::vector<double> list) {
  std::sort(list.begin(), list.end());
  return list[list.size() / 2];
}

// ---- what a call costs --------------------------------------------------------------------------
class Costs {
 public:
  Costs(const std::string& folder, int rounds) : rounds_(rounds), target_(folder) {
    const std::string driver = folder + "/libcuda.so.1", runtime = folder + "/libcudart.so.13";
    std::map<bool, std::unique_ptr<Preloaded>> preloaded;
    for (bool stacks : {false, true})
      preloaded[stacks] = std::make_unique<Preloaded>(folder, stacks);
    for (int round = 0; round < rounds; ++round) {
      auto nothing = [] {};
      all("bare", target_, nothing);
      {
        EmptyProbes probes(driver, {"cuMemAlloc_v2", "cuMemFree_v2"}, true);
        measure("empty", target_, kPairs, nothing);
      }
      {
        EmptyProbes probes(driver, {"cuLaunchKernel"}, false);
        measure("empty", target_, kLaunches, nothing);
      }
      for (bool stacks : {false, true}) {
        Counter counter;
        auto recorder = startRecorder(stacks, counter, target_.pid());
        all(stacks ? "ours+stacks" : "ours", target_, [&] { recorder->poll(5); });
      }
      {
        DriverAlone probes(driver, target_.pid());
        auto read = [&] { probes.poll(); };
        measure("driver alone", target_, kRuntimePairs, read);
        measure("driver alone", target_, kRuntimeLaunches, read);
      }
      for (bool stacks : {false, true}) {  // no probes in its libraries now
        Preloaded& other = *preloaded[stacks];
        all(stacks ? "shim+stacks" : "shim", other.target, [&] { other.recorder.poll(5); });
      }
      {
        PublishedProbes probes(runtime, {"cudaMalloc", "cudaFree", "cudaLaunchKernel"},
                               target_.pid());
        auto read = [&] { probes.read(5); };
        measure("published", target_, kRuntimePairs, read);
        measure("published", target_, kRuntimeLaunches, read);
      }
      {
        PublishedProbes probes(driver, {"cuMemAlloc_v2", "cuMemFree_v2", "cuLaunchKernel"},
                               target_.pid());
        auto read = [&] { probes.read(5); };
        measure("published", target_, kPairs, read);
        measure("published", target_, kLaunches, read);
      }
    }
  }

  double of(const std::string& way, Task task) const {
    return median(ns_.at({way, task})) - median(ns_.at({"bare", task}));
  }

  void print() const {
    double pair = of("empty", kPairs), launch = of("empty", kLaunches);
    fmt::print(
        "thread CPU time a call, median of {} rounds of "
        "{} calls {} frames down, less the bare call\n",
        rounds_, kCalls, kDepth);
    auto row = [](std::string_view what, double ns, const std::string& more = {}) {
      fmt::print("  {:<58}{:7.0f} ns  {}\n", what, ns, more);
    };
    auto budget = [](double value, double most) {
      return fmt::format("at most {:.0f}: {}", most, value <= most ? "met" : "not met");
    };
    auto times = [](double theirs, double ours, double wanted) {
      return fmt::format("{:.1f} × ours, {} wanted: {}", theirs / ours, wanted,
                         theirs >= wanted * ours ? "met" : "not met");
    };
    row("empty probe at entry and return of a driver call", pair);
    row("driver allocation or free, ours", of("ours", kPairs),
        budget(of("ours", kPairs), 1.2 * pair + 400));
    row("  with its stack", of("ours+stacks", kPairs));
    row("  published design, at the driver's entry", of("published", kPairs),
        times(of("published", kPairs), of("ours", kPairs), 3));
    row("runtime allocation or free and its driver call, ours", of("ours", kRuntimePairs));
    row("  with their stack", of("ours+stacks", kRuntimePairs));
    row("  ours at the driver's functions alone", of("driver alone", kRuntimePairs));
    row("  published design, at the runtime's functions", of("published", kRuntimePairs),
        times(of("published", kRuntimePairs), of("ours", kRuntimePairs), 3));
    row("    against ours at the driver alone", of("published", kRuntimePairs),
        times(of("published", kRuntimePairs), of("driver alone", kRuntimePairs), 3));
    row("empty probe at the entry of a launch", launch);
    row("driver launch counted, ours", of("ours", kLaunches),
        budget(of("ours", kLaunches), 1.2 * launch));
    row("  published design, at the driver's entry", of("published", kLaunches),
        times(of("published", kLaunches), of("ours", kLaunches), 5));
    row("runtime launch and its driver launch, counted once, ours", of("ours", kRuntimeLaunches));
    row("  ours at the driver's functions alone", of("driver alone", kRuntimeLaunches));
    row("  published design, at the runtime's functions", of("published", kRuntimeLaunches),
        times(of("published", kRuntimeLaunches), of("ours", kRuntimeLaunches), 5));
    row("    against ours at the driver alone", of("published", kRuntimeLaunches),
        times(of("published", kRuntimeLaunches), of("driver alone", kRuntimeLaunches), 5));
    row("PyTorch's block, USDT", of("ours", kBlocks));
    row("  with its stack", of("ours+stacks", kBlocks));
    row("preloaded: driver allocation or free", of("shim", kPairs));
    row("  with its stack, by unwind tables", of("shim+stacks", kPairs));
    row("preloaded: runtime allocation or free and its driver call", of("shim", kRuntimePairs));
    row("  with their stack", of("shim+stacks", kRuntimePairs));
    row("preloaded: driver launch counted", of("shim", kLaunches));
    row("preloaded: runtime launch and its driver launch", of("shim", kRuntimeLaunches));
  }
  Target& target() { return target_; }

 private:
  struct Preloaded {
    Preloaded(const std::string& folder, bool stacks)
        : area(makeArea(stacks)),
          target(folder, area.environment()),
          recorder(std::move(area), counter) {}
    static record::PreloadArea makeArea(bool stacks) {
      record::PreloadOptions options;
      options.take_stacks = stacks;
      auto area = record::PreloadArea::make(options);
      if (!area.ok()) exit(4);
      return std::move(area.value());
    }
    Counter counter;
    record::PreloadArea area;
    Target target;
    record::PreloadRecorder recorder;
  };

  template <class Drive>
  void measure(const std::string& way, Target& target, Task task, const Drive& drive) {
    target.ask({task, 0}, drive);  // warm
    ns_[{way, task}].push_back(target.ask({task, 0}, drive).ns_per_call);
  }
  template <class Drive>
  void all(const std::string& way, Target& target, const Drive& drive) {
    for (Task task : {kPairs, kLaunches, kRuntimePairs, kRuntimeLaunches, kBlocks})
      measure(way, target, task, drive);
  }

  int rounds_;
  Target target_;
  std::map<std::pair<std::string, Task>, std::vector<double>> ns_;
};

// ---- walks --------------------------------------------------------------------------------------
// The cost of a frame: a block of PyTorch's from deeper and deeper frames. Half of the calls (the
// frees) take no stack.
void walks(const std::string& folder, int rounds) {
  Target target(folder);
  std::map<uint32_t, std::vector<double>> ns;
  for (int round = 0; round < rounds; ++round) {
    Counter counter;
    auto recorder = startRecorder(true, counter, target.pid());
    for (uint32_t depth : {10U, 20U, 40U}) {
      auto drive = [&] { recorder->poll(5); };
      target.ask({kBlocks, 0, depth}, drive);  // learns the rules
      ns[depth].push_back(target.ask({kBlocks, 0, depth}, drive).ns_per_call * 2);
    }
  }
  fmt::print("a block taken and given with its stack, median (least) of {} rounds\n", rounds);
  auto least = [](const std::vector<double>& list) {
    return *std::min_element(list.begin(), list.end());
  };
  for (const auto& [depth, list] : ns)
    fmt::print("  {} frames down: {:.0f} ns ({:.0f})\n", depth, median(list), least(list));
  fmt::print("  a frame: {:.0f} ns ({:.0f})\n", (median(ns[40]) - median(ns[10])) / 30,
             (least(ns[40]) - least(ns[10])) / 30);
}

// ---- attaching ----------------------------------------------------------------------------------
template <class Do>
double secondsOf(const Do& action) {
  double before = seconds(CLOCK_MONOTONIC);
  action();
  return seconds(CLOCK_MONOTONIC) - before;
}

void attaching(Target& target, int rounds) {
  std::vector<double> attach, detach, whole;
  std::vector<uint64_t> offsets, cookies(300);
  for (int i = 0; i < 300; ++i)
    offsets.push_back(offsetOf(TIDEGAUGE_BENCH_BLOCKS, "many_" + std::to_string(i)));
  for (int round = 0; round < rounds; ++round) {
    auto programs = record::Programs::load({});
    if (!programs.ok()) exit(4);
    std::vector<int> links;
    attach.push_back(secondsOf([&] {
      for (bool at_return : {true, false})
        links.push_back(programs.value().attachMany(at_return ? "memory_exit" : "memory_enter",
                                                    TIDEGAUGE_BENCH_BLOCKS, offsets, cookies,
                                                    at_return));
    }));
    for (int link : links)
      if (link < 0) exit(1);
    detach.push_back(secondsOf([&] {
      for (int link : links) close(link);
    }));
    Counter counter;
    whole.push_back(secondsOf([&] { startRecorder(true, counter, target.pid()).reset(); }));
  }
  fmt::print("elapsed time, median of {}\n", rounds);
  double both = median(attach) + median(detach);
  fmt::print(
      "  300 functions, entry and return: attach {:.0f} ms, detach {:.0f} ms; at most 500: {}\n",
      median(attach) * 1e3, median(detach) * 1e3, both <= 0.5 ? "met" : "not met");
  fmt::print("  recorder: load, attach to driver, runtime and blocks, detach: {:.0f} ms\n",
             median(whole) * 1e3);
  constexpr size_t kFew = 8;
  std::vector<std::string> words;
  for (size_t i = 0; i < kFew; ++i) words.push_back("many_" + std::to_string(i));
  PublishedProbes probes(TIDEGAUGE_BENCH_BLOCKS, {words[0], words[1], words[2]}, target.pid());
  probes.attachMore(TIDEGAUGE_BENCH_BLOCKS, {words.begin(), words.end()});
  auto links = static_cast<double>(probes.links());
  double spent = secondsOf([&] { probes.detach(); });
  fmt::print(
      "  published design: detaching {:.0f} perf links takes {:.1f} s, so 600 take {:.0f} s\n",
      links, spent, spent / links * 600);
}

// ---- the recorder -------------------------------------------------------------------------------
void rates(Target& target, bool with_file) {
  for (uint32_t rate : {10'000U, 100'000U, 500'000U, 5'000'000U}) {
    std::string path = fmt::format("{}/probe_bench.{}.sqlite",
                                   std::filesystem::temp_directory_path().string(), getpid());
    std::optional<store::RecordingWriter> writer;
    if (with_file) {
      store::WriterOptions options;
      options.replace = true;
      auto created = store::RecordingWriter::create(path, options);
      if (!created.ok()) exit(1);
      writer.emplace(std::move(created.value()));
    }
    record::Session session(std::move(writer));
    auto recorder = startRecorder(true, session, target.pid());
    double before = seconds(CLOCK_PROCESS_CPUTIME_ID);
    Answer answer = target.ask({kPaced, rate}, [&] {
      recorder->poll(5);
      if (!session.tick(*recorder).ok()) exit(1);
    });
    recorder->finish();
    double spent = seconds(CLOCK_PROCESS_CPUTIME_ID) - before;
    if (!session.finish(*recorder).ok()) exit(1);
    fmt::print(
        "  {:>9} calls/s asked, {:>7.0f} came: {} of {} "
        "lost in 8 MiB, recorder {:.1f} % of a core{}\n",
        rate, answer.calls_per_second, recorder->losses()[LOSS_MEMORY_RING], answer.calls,
        spent / 2 * 100, with_file ? ", with a file" : "");
    if (with_file) std::filesystem::remove(path);
  }
}

}  // namespace
}  // namespace tidegauge::bench

int main(int count, char** words) {
  using namespace tidegauge::bench;
  if (count == 5 && std::string_view(words[1]) == "--serve")
    serve(words[2], std::atoi(words[3]), std::atoi(words[4]));
  if (count < 2) {
    fmt::print(
        stderr,
        "probe_bench STANDIN_FOLDER [ROUNDS [--walks]]   (tests/standin/build.py makes it)\n");
    return 2;
  }
  setvbuf(stdout, nullptr, _IOLBF, 0);  // a run that is ended early has printed its results so far
  int rounds = count > 2 ? std::atoi(words[2]) : 9;
  if (count > 3 && std::string_view(words[3]) == "--walks") {
    walks(words[1], rounds);
    return 0;
  }
  Costs costs(words[1], rounds);
  costs.print();
  attaching(costs.target(), std::min(rounds, 5));
  fmt::print("calls with their stacks of two threads for two seconds\n");
  rates(costs.target(), false);
  rates(costs.target(), true);
  return 0;
}
