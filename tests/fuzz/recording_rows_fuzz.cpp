// Any change of the rows of a recording → openRecording and the follower: an error with words, or
// consistent traces. The bytes choose the changes (support/spoil.h) to a recording of 300 calls of
// any kind, launches, copies, losses. recording_fuzz changes the bytes of a file instead.
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/trace/whole_recording.h"
#include "check_trace.h"
#include "model/ledger/contexts.h"
#include "readers/recording/follow_recording.h"
#include "readers/recording/open_recording.h"
#include "store/recording_writer.h"
#include "support/any_call.h"
#include "support/spoil.h"
#include "support/temp_folder.h"

namespace {

using namespace tidegauge;

constexpr int64_t kSecond_ns = 1'000'000'000;

template <class T>
T must(base::Result<T> result) {
  fuzz::require(result.ok());
  return std::move(result).value();
}

void addWork(store::RecordingWriter& writer) {
  for (uint32_t process : {0U, 1U}) {
    store::LaunchRow launches;
    launches.end_ns = kSecond_ns;
    launches.process = process;
    launches.kernel = must(writer.addKernel(process, 0xabc, "gemm"));
    launches.count = 1000;
    fuzz::require(writer.addLaunches(launches).ok());
    fuzz::require(writer.setKernelParameters(launches.kernel, "0:4 4:4").ok());
    const std::array<uint8_t, 8> arguments = {1, 0, 0, 0, 2, 0, 0, 0};
    fuzz::require(writer.addLaunchEvent({launches, 41, 0, 0, 0, 3, arguments, 2}).ok());
    store::CopyRow copies;
    copies.end_ns = kSecond_ns;
    copies.process = process;
    copies.direction = "host to device";
    copies.count = 4;
    copies.size_bytes = 1 << 30;
    copies.host_ns = kSecond_ns;
    fuzz::require(writer.addCopies(copies).ok());
  }
  fuzz::require(writer.addLoss(kSecond_ns, "memory ring full", 3).ok());
  model::Unwatched before;
  before.end_ns = kSecond_ns;
  before.figures = {model::Figures::kMemory};
  before.reason = "it ran before it was watched";
  fuzz::require(writer.addUnwatched(before, 0).ok());
  for (int32_t device : {0, 1})
    fuzz::require(writer.addDevice({device, "H100", "GPU-1", uint64_t{80} << 30}).ok());
  fuzz::require(writer.addDeviceMemory({kSecond_ns, 0, {}, uint64_t{2} << 30}).ok());
  fuzz::require(writer.addDeviceMemory({kSecond_ns, 0, 41, 1 << 30}).ok());
  for (auto [key, value] :
       {std::pair{"part", "2"}, {"continues", "run.1.tgr"}, {"carried_calls", "9"}})
    fuzz::require(writer.setMeta(key, value).ok());
}

void writeWhole(const std::string& path) {
  store::RecordingWriter writer = must(store::RecordingWriter::create(path, {true, "fuzz"}));
  uint32_t module = must(writer.addModule("/usr/bin/python3", "b1d"));
  for (uint32_t stack = 0; stack < 5; ++stack) {
    uint32_t frame = must(writer.addFrame(module, stack));
    fuzz::require(writer.nameFrame(frame, "step", "train.py", stack).ok());
    (void)must(writer.addStack(std::array{frame}));
  }
  for (uint32_t pid : {41U, 42U}) {
    store::ProcessRow process;
    process.pid = pid;
    process.name = "python";
    (void)must(writer.addProcess(process));
  }
  std::map<std::tuple<model::Plane, model::Verb, model::MemoryKind>, uint16_t> functions;
  std::mt19937 random(7);
  for (int64_t i = 1; i <= 300; ++i) {
    model::MemoryCall call = testing::anyCall(random, i * 1000);
    call.process = static_cast<uint32_t>(i % 2);
    auto [at, is_new] = functions.try_emplace({call.plane, call.verb, call.kind}, uint16_t{0});
    if (is_new) at->second = must(writer.addFunction({"f", call.plane, call.verb, call.kind}));
    call.function = at->second;
    fuzz::require(writer.addCall(call).ok());
  }
  addWork(writer);
  fuzz::require(writer.finish().ok());
}

const testing::TempFolder& folder() {
  static const auto made = [] {
    auto fresh = std::make_unique<testing::TempFolder>();
    writeWhole(fresh->file("whole.tgr"));
    return fresh;
  }();
  return *made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 200) return 0;
  std::string path = folder().file("spoilt.tgr");
  std::filesystem::copy_file(folder().file("whole.tgr"), path,
                             std::filesystem::copy_options::overwrite_existing);
  testing::spoil(path, {data, size});
  auto traces = readers::recording::openRecording(path, {{}, true});
  fuzz::require(traces.ok() ? !traces.value().empty() : !traces.error().what.empty());
  if (traces.ok()) {
    std::vector<std::unique_ptr<analysis::AnalysedTrace>> analysed;
    std::vector<const analysis::AnalysedTrace*> all;
    for (model::Trace& trace : traces.value()) {
      fuzz::checkTrace(trace);
      all.push_back(
          analysed.emplace_back(std::make_unique<analysis::AnalysedTrace>(std::move(trace))).get());
    }
    fuzz::require(analysis::wholeRecording(all).gpus.size() <= model::kMaxDevices);
  }
  readers::recording::RecordingFollower follower(path);
  auto now = follower.look({});
  fuzz::require(now.ok() || !now.error().what.empty());
  return 0;
}
