// make_live_recording OUT [LOST]: writes a recording of ten minutes of four invented processes,
// with launches, copies and refused calls, and prints the truth about it, as JSON:
//
//   41207, 41208  python      PyTorch on devices 0 and 1: a step every ten seconds
//   52110         serve       grows slowly on device 1
//   60877         preprocess  ends after six minutes with 12 MiB unfreed
//
// {"processes": [{"pid": 41207, "live": …, "peak": …, "launches": …, "to_device": …, "refused":
// …}]}
//
// With LOST, that number of events was lost.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "store/recording_writer.h"

namespace {

using namespace tidegauge;
using model::MemoryKind;
using model::Plane;
using model::Verb;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int kSeconds = 600;
// It ends now.
const int64_t kBegin = (std::time(nullptr) - kSeconds) * kSecond;
constexpr uint64_t kSegment = 64 * kMiB;

template <class T>
T must(base::Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "make_live_recording: %s\n", result.error().what.c_str());
  std::exit(3);
}

struct Process {
  uint32_t pid;
  std::string name, command;
  int32_t device;
  uint32_t id = 0;
  uint64_t live = 0, peak = 0, launches = 0, to_device = 0, refused = 0;
  std::vector<uint64_t> held{};  // addresses
  uint64_t next = 0;
};

class Maker {
 public:
  explicit Maker(store::RecordingWriter& writer) : writer_(writer) {
    uint32_t module = must(writer.addModule("/usr/lib/libtorch_cuda.so", "c0ffee"));
    auto frame = [&](std::string_view function, std::string_view file, uint32_t line) {
      uint32_t id = must(writer_.addFrame(module, 0x1000 + line));
      must(writer_.nameFrame(id, function, file, line));
      return id;
    };
    uint32_t main = frame("main", "train.py", 63);
    for (auto [function, file, line] : {std::tuple{"Linear.forward", "linear.py", 134U},
                                        {"log_softmax", "loss.py", 30U},
                                        {"append_block", "cache.py", 81U}}) {
      stacks_.push_back(must(writer_.addStack(std::array{frame(function, file, line), main})));
    }
    launch_ = must(writer_.addFunction({"cuLaunchKernel", Plane::kDriver, {}, {}}));
    copy_ = must(writer_.addFunction({"cuMemcpyHtoD_v2", Plane::kDriver, {}, {}}));
  }

  void begin(Process& process, int second) {
    store::ProcessRow row;
    row.pid = process.pid;
    row.name = process.name;
    row.command = process.command;
    row.began_ns = at(second);
    process.id = must(writer_.addProcess(row));
    process.next = uint64_t{process.pid} << 32;
    for (const char* name : {"ampere_bf16_s16816gemm_128x128_ldg8", "vectorized_elementwise_kernel",
                             "layer_norm_kernel", "flash_fwd_kernel"})
      kernels_[process.id].push_back(
          must(writer_.addKernel(process.id, kernels_[process.id].size() + 1, name)));
  }
  void take(Process& process, int second, uint64_t bytes, size_t stack, int32_t code = 0) {
    model::MemoryCall call = callOf(process, second, Verb::kAllocate, MemoryKind::kDevice, stack);
    call.address = code == 0 ? process.next : 0;
    call.size_bytes = bytes;
    call.code = code;
    must(writer_.addCall(call));
    if (code != 0) {
      ++process.refused;
      return;
    }
    process.held.push_back(process.next);
    process.next += 2 * kSegment;
    process.live += bytes;
    process.peak = std::max(process.peak, process.live);
  }
  void give(Process& process, int second, uint64_t bytes) {
    model::MemoryCall call = callOf(process, second, Verb::kFree, MemoryKind::kDevice, 0);
    call.address = process.held.back();
    process.held.pop_back();
    must(writer_.addCall(call));
    process.live -= bytes;
  }
  // A block of PyTorch, in the latest segment.
  void block(Process& process, int second, uint64_t bytes, size_t stack) {
    model::MemoryCall call = callOf(process, second, Verb::kAllocate, MemoryKind::kBlock, stack);
    call.address = process.held.back();
    call.size_bytes = bytes;
    must(writer_.addCall(call));
  }
  void work(Process& process, int second, uint64_t launches, uint64_t to_device) {
    const std::vector<uint32_t>& kernels = kernels_[process.id];
    for (size_t i = 0; i < kernels.size() && launches > 0; ++i) {
      store::LaunchRow row;
      row.begin_ns = at(second);
      row.end_ns = at(second + 1);
      row.process = process.id;
      row.kernel = kernels[i];
      row.function = launch_;
      row.count = i + 1 == kernels.size() ? launches : launches / 2;
      launches -= row.count;
      process.launches += row.count;
      must(writer_.addLaunches(row));
    }
    for (auto [direction, bytes] :
         {std::pair{"host to device", to_device}, {"device to host", to_device / 50}}) {
      store::CopyRow row;
      row.begin_ns = at(second);
      row.end_ns = at(second + 1);
      row.process = process.id;
      row.direction = direction;
      row.function = copy_;
      row.count = 40;
      row.size_bytes = bytes;
      row.host_ns = bytes / 12;
      must(writer_.addCopies(row));
    }
    process.to_device += to_device;
  }
  void end(Process& process, int second) {
    must(writer_.endProcess(process.id, at(second), 0, store::EndReason::kExit));
    process.live = 0;
  }

 private:
  static int64_t at(int second) { return kBegin + second * kSecond; }
  model::MemoryCall callOf(const Process& process, int second, Verb verb, MemoryKind kind,
                           size_t stack) {
    model::MemoryCall call;
    call.end_ns = at(second) + ++calls_ % kSecond;
    call.start_ns = call.end_ns - 1;
    call.process = process.id;
    call.thread = process.pid;
    call.device = process.device;
    call.plane = kind == MemoryKind::kBlock ? Plane::kFramework : Plane::kDriver;
    call.verb = verb;
    call.kind = kind;
    call.stack = stacks_[stack];
    auto [function, is_new] = functions_.try_emplace({verb, kind}, uint16_t{0});
    if (is_new) {
      std::string name = kind == MemoryKind::kBlock ? "pytorch_malloc"
                         : verb == Verb::kAllocate  ? "cuMemAlloc_v2"
                                                    : "cuMemFree_v2";
      function->second = must(writer_.addFunction({name, call.plane, verb, kind}));
    }
    call.function = function->second;
    return call;
  }

  store::RecordingWriter& writer_;
  std::vector<uint32_t> stacks_;
  std::map<uint32_t, std::vector<uint32_t>> kernels_;
  std::map<std::pair<Verb, MemoryKind>, uint16_t> functions_;
  uint16_t launch_ = 0, copy_ = 0;
  int64_t calls_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: make_live_recording OUT [LOST]\n");
    return 2;
  }
  auto writer = must(store::RecordingWriter::create(argv[1], {.replace = true, .recorder = ""}));
  Maker maker(writer);
  std::vector<Process> all = {{41207, "python", "python train.py --config 8b", 0},
                              {41208, "python", "python train.py --config 8b", 1},
                              {52110, "serve", "serve --model chat-7b", 1},
                              {60877, "preprocess", "preprocess_video clips/", 0}};
  for (Process& process : all) maker.begin(process, 0);
  for (int second = 1; second < kSeconds; ++second) {
    for (Process* trainer : {&all[0], &all[1]}) {
      int phase = (second + (trainer->device == 0 ? 0 : 4)) % 10;
      for (int i = 0; i < (second == 1 ? 200 : 0); ++i) {
        maker.take(*trainer, second, kSegment, 0);
        maker.block(*trainer, second, kSegment - kMiB, 0);
      }
      if (phase < 6) {
        maker.take(*trainer, second, kSegment, 1);
        maker.block(*trainer, second, kSegment / 2, 1);
      } else if (phase == 9) {
        while (trainer->held.size() > 200) maker.give(*trainer, second, kSegment);
      }
      maker.work(*trainer, second, 18'400, 212 * kMiB);
    }
    if (second % 12 == 0) maker.take(all[2], second, 20 * kMiB, 2);
    maker.work(all[2], second, 6'120, 18 * kMiB);
    if (second == 2) maker.take(all[3], second, 12 * kMiB, 0);
    if (second < 360) maker.work(all[3], second, 40, 60 * kMiB);
    if (second == 360) maker.end(all[3], second);
    if (second % 200 == 199) maker.take(all[0], second, 4008 * kMiB, 1, 2);
  }
  if (argc == 3) {
    must(writer.addLoss(kBegin + 300 * kSecond, "memory ring full",
                        std::strtoull(argv[2], nullptr, 10)));
    must(writer.addLoss(kBegin + 300 * kSecond, "no stack", 3));
    tidegauge::model::Unwatched locked;
    locked.pid = all[2].pid;
    locked.library = "/usr/lib/x86_64-linux-gnu/libcuda.so.1";
    locked.function = "cuLaunchKernelEx";
    locked.figures = {tidegauge::model::Figures::kLaunches};
    locked.reason = "its first instruction cannot be probed";
    must(writer.addUnwatched(locked, 2));
  }
  must(writer.finish());
  std::string rows;
  for (const Process& process : all)
    rows += fmt::format(
        R"({}{{"pid": {}, "live": {}, "peak": {}, "launches": {}, "to_device": {}, "refused": {}}})",
        rows.empty() ? "" : ", ", process.pid, process.live, process.peak, process.launches,
        process.to_device, process.refused);
  std::printf("{\"processes\": [%s]}\n", rows.c_str());
  return 0;
}
