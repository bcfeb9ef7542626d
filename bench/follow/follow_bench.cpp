// follow_bench CALLS REFRESHES NEW: how much processor time a refresh of a growing recording takes.
//
//   follow_bench 6800000 5 10000
//
// Writes a recording of two programs with CALLS calls: one uses PyTorch's way (segments with blocks
// inside), one takes driver memory directly. Then it adds NEW calls, reads the recording, and so
// on. Prints the processor time of all threads: reading with lives, the indexes, the map of the
// first process and its growth; at last, what some other views of the newest reading take.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "analysis/growth/growth.h"
#include "analysis/identities.h"
#include "analysis/trace/analysed_trace.h"
#include "analysis/trace/flame.h"
#include "readers/recording/growing_recording.h"
#include "store/recording_writer.h"
#include "view/map/address_map.h"
#include "view/state_at.h"
#include "view/timeline/stack_tile.h"

namespace {

using namespace tidegauge;
using model::MemoryKind;
using model::Plane;
using model::Verb;

constexpr uint64_t kMiB = uint64_t{1} << 20;

double processorSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

template <class T>
T must(base::Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "follow_bench: %s\n", result.error().what.c_str());
  std::exit(3);
}

class Programs {
 public:
  explicit Programs(const std::string& path)
      : writer_(must(store::RecordingWriter::create(path, {.replace = true, .recorder = ""}))) {
    uint32_t module = must(writer_.addModule("/opt/app/libapp.so", "c0ffee"));
    std::vector<uint32_t> frames;
    for (uint32_t i = 0; i < 100; ++i) {
      frames.push_back(must(writer_.addFrame(module, 0x1000 + i)));
      must(writer_.nameFrame(frames.back(), fmt::format("layer{}", i), "model.cpp", i + 1));
    }
    for (uint32_t i = 0; i < 2000; ++i) {
      std::vector<uint32_t> stack;
      for (uint32_t depth = 0; depth < 20; ++depth) stack.push_back(frames[random_() % 100]);
      stacks_.push_back(must(writer_.addStack(stack)));
    }
    for (uint32_t i = 0; i < 2; ++i)
      processes_.push_back(must(writer_.addProcess({{}, 100 + i, std::nullopt, "app", "", 0, 1})));
    take_ = must(writer_.addFunction(
        {"cuMemAlloc_v2", Plane::kDriver, Verb::kAllocate, MemoryKind::kDevice}));
    give_ = must(
        writer_.addFunction({"cuMemFree_v2", Plane::kDriver, Verb::kFree, MemoryKind::kDevice}));
    block_ = must(writer_.addFunction(
        {"pytorch_malloc", Plane::kFramework, Verb::kAllocate, MemoryKind::kBlock}));
    free_ = must(
        writer_.addFunction({"pytorch_free", Plane::kFramework, Verb::kFree, MemoryKind::kBlock}));
    for (uint64_t i = 0; i < 400; ++i) {
      send(0, take_, Plane::kDriver, Verb::kAllocate, MemoryKind::kDevice,
           0x7f0000000000 + i * 64 * kMiB, 64 * kMiB);
      for (uint64_t slot = 0; slot < 32; ++slot)
        free_slots_.push_back(0x7f0000000000 + i * 64 * kMiB + slot * 2 * kMiB);
    }
  }

  void add(uint64_t calls) {
    for (uint64_t i = 0; i < calls; ++i) {
      if (random_() % 8 == 0) {
        addDirect();
      } else {
        addBlock();
      }
    }
    must(writer_.commit());
  }

  void must(const base::Status& status) {
    if (status.ok()) return;
    std::fprintf(stderr, "follow_bench: %s\n", status.error().what.c_str());
    std::exit(3);
  }
  template <class T>
  static T must(base::Result<T> result) {
    return ::must(std::move(result));
  }

 private:
  void addBlock() {
    bool frees = !used_.empty() && (free_slots_.empty() || random_() % 100 < 50);
    std::vector<uint64_t>& from = frees ? used_ : free_slots_;
    size_t which = random_() % from.size();
    uint64_t address = from[which];
    from[which] = from.back();
    from.pop_back();
    (frees ? free_slots_ : used_).push_back(address);
    if (frees) {
      send(0, free_, Plane::kFramework, Verb::kFree, MemoryKind::kBlock, address, 0);
    } else {
      send(0, block_, Plane::kFramework, Verb::kAllocate, MemoryKind::kBlock, address,
           kMiB + random_() % kMiB);
    }
  }

  void addDirect() {
    if (direct_.size() > 1000) {
      size_t which = random_() % direct_.size();
      send(1, give_, Plane::kDriver, Verb::kFree, MemoryKind::kDevice, direct_[which], 0);
      direct_[which] = direct_.back();
      direct_.pop_back();
      return;
    }
    uint64_t address = 0x500000000000 + (next_++ % 100000) * 8 * kMiB;
    direct_.push_back(address);
    send(1, take_, Plane::kDriver, Verb::kAllocate, MemoryKind::kDevice, address,
         kMiB * (1 + random_() % 4));
  }

  void send(size_t process, uint16_t function, Plane plane, Verb verb, MemoryKind kind,
            uint64_t address, uint64_t bytes) {
    model::MemoryCall call;
    now_ns_ += 100'000;
    call.start_ns = now_ns_ - 700;
    call.end_ns = now_ns_;
    call.process = processes_[process];
    call.thread = 1;
    call.plane = plane;
    call.verb = verb;
    call.kind = kind;
    call.function = function;
    call.address = address;
    call.size_bytes = bytes;
    call.device = verb == Verb::kFree ? model::kUnknownDevice : 0;
    call.stack = stacks_[random_() % stacks_.size()];
    must(writer_.addCall(call));
    if (++sent_ % 10000 == 0) must(writer_.commit());
  }

  std::mt19937_64 random_{7};
  store::RecordingWriter writer_;
  std::vector<uint32_t> stacks_, processes_;
  uint16_t take_ = 0, give_ = 0, block_ = 0, free_ = 0;
  std::vector<uint64_t> free_slots_, used_, direct_;
  uint64_t next_ = 0, sent_ = 0;
  int64_t now_ns_ = 1'790'000'000'000'000'000;
};

// Three readings take turns, as in `view`: one is shown, one may still be asked for, and one is
// continued.
class Turns {
 public:
  using Analysed = std::vector<std::unique_ptr<analysis::AnalysedTrace>>;

  explicit Turns(readers::recording::GrowingRecording& recording) : recording_(recording) {}

  void read(const char* what, uint64_t calls) {
    auto begin = std::chrono::steady_clock::now();
    double begin_s = processorSeconds();
    if (shown_.size() > 1) takeOldest();
    if (!shown_.empty())
      for (const auto& shown : shown_.back().traces) recording_.lend(shown->trace);
    auto read = must(recording_.read());
    double read_s = processorSeconds() - begin_s;
    size_t events = 0;
    Analysed next;
    for (model::Trace& trace : read) {
      events += trace.events.size();
      analysis::BeforeTrace before;
      if (const model::Continuation* it = recording_.continuationOf(trace))
        before = {std::move(indexes_[it->of.get()]), *it};
      next.push_back(
          std::make_unique<analysis::AnalysedTrace>(std::move(trace), nullptr, std::move(before)));
    }
    double all_s = processorSeconds() - begin_s;
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    std::printf(
        "%-8s read %.3f s, indexes %.3f s, elapsed %.3f s, %zu events, %.3f µs per call, "
        "%zu traces continued so far\n",
        what, read_s, all_s - read_s, elapsed.count(), events,
        all_s * 1e6 / static_cast<double>(calls),
        static_cast<size_t>(recording_.continuedTraces()));
    begin_s = processorSeconds();
    const analysis::AnalysedTrace& first = *next.front();
    const model::Continuation* it = recording_.continuationOf(first.trace);
    const model::RecordedWork* of = it == nullptr ? nullptr : it->of.get();
    auto map = view::AddressMap::following(first, *first.devices.front(), false,
                                           std::move(maps_[of]), it ? *it : model::Continuation());
    std::printf("         map %.3f s, %s; ", processorSeconds() - begin_s,
                map->isContinued() ? "continued" : "built anew");
    begin_s = processorSeconds();
    analysis::findGrowth(first, *first.devices.front());
    std::printf("growth %.3f s\n", processorSeconds() - begin_s);
    std::fflush(stdout);
    maps_.clear();
    shown_.push_back({std::move(next), std::move(map)});
  }

  // What the views of the newest reading compute, of its first process.
  void askViews() const {
    const analysis::AnalysedTrace& analysed = *shown_.back().traces.front();
    const analysis::DeviceAnalysis& device = *analysed.devices.front();
    model::Step steps = device.totals.steps();
    time("tile of everything",
         [&] { return view::stackTile(analysed, device, tileOf(device, 0)); });
    time("tile of the end", [&] {
      return view::stackTile(analysed, device, tileOf(device, steps - std::min(steps, 20000U)));
    });
    time("state at the end", [&] {
      view::StateQuestion question;
      question.step = steps - 1;
      question.pixel_bytes = 65536;
      return view::stateAt(analysed, device, question);
    });
    time("flame at the end", [&] {
      auto weights = analysis::weightsOf(analysed.trace, device.live.liveAt(steps - 1));
      return analysis::flameOf(analysed, weights, {});
    });
    time("names of stacks", [&] { return analysed.names.of(model::StackId(0)); });
    time("identities", [&] { return analysis::identitiesOf(analysed, device); });
  }

 private:
  void takeOldest() {
    indexes_.clear();
    maps_[shown_.front().traces.front()->trace.work.get()] = std::move(shown_.front().map);
    for (auto& old : shown_.front().traces) {
      const model::RecordedWork* work = old->trace.work.get();
      recording_.takeBack(std::move(old->trace));
      indexes_[work] = std::move(old);
    }
    shown_.erase(shown_.begin());
  }

  static view::TileRequest tileOf(const analysis::DeviceAnalysis& device, model::Step begin) {
    view::TileRequest request;
    request.x.x0 = begin;
    request.x.x1 = device.totals.steps();
    request.x.columns = 512;
    request.y1_bytes = static_cast<double>(device.totals.peakActive().bytes);
    request.row_bytes = request.y1_bytes / 800;
    return request;
  }

  template <class F>
  static void time(const char* what, const F& ask) {
    double begin_s = processorSeconds();
    (void)ask();
    std::printf("  %-20s %.3f s\n", what, processorSeconds() - begin_s);
    std::fflush(stdout);
  }

  readers::recording::GrowingRecording& recording_;
  struct Reading {
    Analysed traces;
    std::shared_ptr<view::AddressMap> map;  // of the first process
  };
  std::vector<Reading> shown_;  // the newest last
  std::map<const model::RecordedWork*, std::shared_ptr<view::AddressMap>> maps_;
  std::map<const model::RecordedWork*, std::unique_ptr<analysis::AnalysedTrace>> indexes_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: follow_bench CALLS REFRESHES NEW\n");
    return 2;
  }
  uint64_t calls = std::strtoull(argv[1], nullptr, 10);
  int refreshes = std::atoi(argv[2]);
  uint64_t fresh = std::strtoull(argv[3], nullptr, 10);
  std::string path = std::filesystem::temp_directory_path() / "follow_bench.sqlite";
  Programs programs(path);
  programs.add(calls);
  readers::recording::GrowingRecording recording(path, {.is_followed = true, .takes_back = true});
  Turns turns(recording);
  for (int i = 0; i <= refreshes; ++i) {
    if (i > 0) programs.add(fresh);
    turns.read(i == 0 ? "first" : "refresh", calls);
  }
  turns.askViews();
  std::filesystem::remove(path);
  return 0;
}
