// Reading what is new of a recording gives exactly what reading all of it gives: after every step
// of a recording that grows, whatever the calls are and in whatever order they return.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <optional>
#include <random>

#include "model/call_words.h"
#include "model/ledger/ledger.h"
#include "readers/recording/growing_recording.h"
#include "readers/recording/open_recording.h"
#include "store/recording_writer.h"
#include "support/any_call.h"
#include "support/temp_folder.h"
#include "unit/readers/recording/every_column.h"

namespace tidegauge::readers::recording {
namespace {

using model::MemoryCall;
using model::MemoryKind;
using model::Plane;
using model::Verb;

constexpr int64_t kOneSecond_ns = 1'000'000'000;

class GrowingFile {
 public:
  explicit GrowingFile(uint32_t seed) : random_(seed) {
    // Some recordings are of short steps: nothing in them is settled.
    step_ns_ = pick(4) == 0 ? 1000 : kOneSecond_ns;
    has_older_ = pick(2) == 0;
    has_launch_events_ = pick(2) == 0;
    begin();
  }

  void run(int steps) {
    bool takes_back = pick(2) == 0;
    GrowingRecording recording(path(), {.is_followed = true, .takes_back = takes_back});
    for (int step = 0; step < steps; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      for (uint64_t i = pick(40); i > 0; --i) addCall();
      if (pick(2) == 0) addWork();
      if (pick(3) == 0) addFacts();
      if (pick(3) == 0) nameFrames();
      if (pick(25) == 0) endProcess();
      ok(writer_->commit());
      if (pick(30) == 0) beginNextPart();
      compare(recording);
      if (::testing::Test::HasFatalFailure()) return;
    }
    if (pick(2) == 0) {
      writer_.reset();  // killed
    } else {
      ok(writer_->finish());
    }
    compare(recording);
    from_the_beginning = recording.readingsFromTheBeginning();
  }

  uint64_t from_the_beginning = 0;
  uint64_t parts = 1;
  uint64_t in_pieces_again = 0;  // readings in pieces that began again

 private:
  uint64_t pick(uint64_t below) { return random_() % below; }
  std::string path() const { return folder_.file("run.sqlite"); }
  static void ok(const base::Status& status) { ASSERT_TRUE(status.ok()) << status.error().what; }

  void begin() {
    auto made = store::RecordingWriter::create(path(), {.replace = true, .recorder = ""});
    ASSERT_TRUE(made.ok()) << made.error().what;
    writer_.emplace(std::move(made).value());
    module_ = writer_->addModule("/usr/lib/libpython3.13.so.1.0", "b1d").value();
    functions_.clear();
    stacks_.clear();
    frames_.clear();
    processes_.clear();
  }

  // Under the name of the part before, as with --max-size. What is live is carried over.
  void beginNextPart() {
    std::map<uint32_t, std::vector<MemoryCall>> carried;
    for (uint32_t process : ledger_.processes())
      carried[process] = ledger_.find(process)->carried();
    ok(writer_->finish());
    std::filesystem::rename(path(), folder_.file("part" + std::to_string(parts++)));
    begin();
    size_t calls = 0;
    for (auto& [process, all] : carried) calls += all.size();
    ok(writer_->setMeta("carried_calls", std::to_string(calls)));
    for (auto& [process, all] : carried) {
      for (MemoryCall call : all) {
        call.end_ns = now_ns_;
        call.process = process;
        send(call);
      }
    }
    ok(writer_->commit());
  }

  uint32_t processOf(uint32_t process) {
    auto [at, is_new] = processes_.try_emplace(process, 0U);
    if (is_new) {
      at->second =
          writer_->addProcess({{}, 41 + process, std::nullopt, "python", "", 0, 1}).value();
    }
    return at->second;
  }

  uint32_t stackOf(uint32_t stack) {
    auto [at, is_new] = stacks_.try_emplace(stack, 0U);
    if (is_new) {
      std::vector<uint32_t> frames;
      for (uint64_t i = 1 + pick(4); i > 0; --i) {
        if (frames_.empty() || pick(3) == 0) {
          frames_.push_back(writer_->addFrame(module_, 16 * frames_.size() + pick(8)).value());
          if (pick(4) == 0) ok(writer_->nameFrame(frames_.back(), "step", "train.py", 3));
        }
        frames.push_back(frames_[pick(frames_.size())]);
      }
      at->second = writer_->addStack(frames).value();
    }
    return at->second;
  }

  void nameFrames() {
    if (frames_.empty()) return;
    uint32_t frame = frames_[pick(frames_.size())];
    const char* file = pick(40) == 0 ? "late.py" : "ceval.c";
    ok(writer_->nameFrame(frame, "f" + std::to_string(pick(5)), file, 7));
  }

  void send(MemoryCall call) {
    auto [at, is_new] = functions_.try_emplace({call.plane, call.verb, call.kind}, uint16_t{0});
    if (is_new) {
      std::string name = fmt::format("{} {} {}", model::name(call.plane), model::name(call.verb),
                                     model::name(call.kind));
      at->second = writer_->addFunction({name, call.plane, call.verb, call.kind}).value();
    }
    call.function = at->second;
    call.process = processOf(call.process);
    if (call.stack != model::kNoStackOfCall) call.stack = stackOf(call.stack);
    ok(writer_->addCall(call));
  }

  MemoryCall anyCall() {
    MemoryCall call =
        testing::anyCall(random_, now_ns_ += static_cast<int64_t>(pick(step_ns_)) + 1);
    call.process = static_cast<uint32_t>(pick(3));
    call.stack = pick(10) == 0 ? model::kNoStackOfCall : static_cast<uint32_t>(pick(30));
    if (call.stack != model::kNoStackOfCall && pick(8) == 0) call.stack += made_++;
    call.stream = pick(4);
    return call;
  }

  void addCall() {
    MemoryCall call = anyCall();
    // Without them, memory is where the calls put it; with them, some is older than the recording.
    bool frees = call.verb == Verb::kFree;
    if (frees && !has_older_ && call.kind == MemoryKind::kBlock && pick(2) == 0) return;
    if (call.verb == Verb::kAllocate && pick(8) == 0) {
      refuse(call);
      return;
    }
    if (pick(10) == 0)
      call.start_ns -= static_cast<int64_t>(pick(4 * static_cast<uint64_t>(step_ns_)));
    // Longer than what is kept unsettled.
    if (frees && pick(15) == 0) call.start_ns -= static_cast<int64_t>(pick(25)) * kOneSecond_ns;
    if (frees && call.kind != MemoryKind::kBlock && pick(3) == 0) {
      // Another thread gets the freed memory before this call returns.
      MemoryCall again = call;
      again.verb = Verb::kAllocate;
      again.thread += 7;
      take(again);
      call.end_ns = now_ns_ += 10;
      call.start_ns = again.start_ns - 1;
    }
    take(call);
  }

  void take(const MemoryCall& call) {
    ledger_.take(call);
    send(call);
  }

  // Refused once or again, and then perhaps granted; or the program asks what is free.
  void refuse(MemoryCall call) {
    call.kind = pick(2) == 0 ? MemoryKind::kDevice : MemoryKind::kPinnedHost;
    call.plane = Plane::kDriver;
    for (uint64_t i = 1 + pick(3); i > 0; --i) {
      MemoryCall refused = call;
      refused.code = model::kOutOfMemoryCode;
      refused.end_ns = now_ns_ += 10;
      refused.start_ns = refused.end_ns - 5;
      take(refused);
    }
    if (pick(2) == 0) {
      call.end_ns = now_ns_ += 10;
      call.start_ns = call.end_ns - 5;
      take(call);
      return;
    }
    MemoryCall ask = call;
    ask.verb = Verb::kAsk;
    ask.kind = MemoryKind::kAnswer;
    ask.address = 0x1000 * pick(5);
    ask.size_bytes = 0x100000;
    ask.device = static_cast<int32_t>(pick(2));
    ask.end_ns = now_ns_ += 10;
    ask.start_ns = ask.end_ns - 5;
    take(ask);
  }

  void addWork() {
    auto process = static_cast<uint32_t>(pick(4));  // the last one makes no call
    store::LaunchRow launches;
    launches.begin_ns = now_ns_;
    launches.end_ns = now_ns_ + kOneSecond_ns;
    launches.process = processOf(process);
    launches.kernel = writer_->addKernel(launches.process, 0xabc + pick(3), "").value();
    launches.count = pick(1000);
    ok(writer_->addLaunches(launches));
    if (pick(2) == 0) ok(writer_->nameKernel(launches.kernel, "gemm"));
    if (has_launch_events_) addLaunchEvent(launches);
    store::CopyRow copies;
    copies.begin_ns = now_ns_;
    copies.end_ns = now_ns_ + kOneSecond_ns;
    copies.process = launches.process;
    copies.direction = pick(2) == 0 ? "host to device" : "device to host";
    copies.count = pick(100);
    ok(writer_->addCopies(copies));
  }

  void addLaunchEvent(const store::LaunchRow& launches) {
    store::LaunchEventRow event;
    event.launch = launches;
    event.launch.end_ns = event.launch.begin_ns;
    if (pick(30) == 0) event.launch.begin_ns = event.launch.end_ns -= 15 * kOneSecond_ns;
    event.stack = pick(3) == 0 ? model::kNoStackOfCall : stackOf(static_cast<uint32_t>(pick(50)));
    ok(writer_->addLaunchEvent(event));
  }

  void addFacts() {
    store::DeviceMemoryRow memory;
    memory.time_ns = now_ns_;
    if (pick(20) == 0) memory.time_ns -= 15 * kOneSecond_ns;
    memory.device = static_cast<int32_t>(pick(2));
    memory.pid = 41 + static_cast<uint32_t>(pick(3));
    memory.used_bytes = 0x1000 * pick(100);
    ok(writer_->addDeviceMemory(memory));
    if (pick(20) == 0) ok(writer_->addLoss(now_ns_, "full ring", pick(3)));
  }

  void endProcess() {
    if (processes_.empty()) return;
    uint32_t process = processes_.begin()->second;
    ok(writer_->endProcess(process, now_ns_ + 1, 0, store::EndReason::kExit));
  }

  void compare(GrowingRecording& recording) {
    auto now = recording.read();
    ASSERT_TRUE(now.ok()) << now.error().what;
    auto whole = openRecording(path(), {});
    ASSERT_TRUE(whole.ok()) << whole.error().what;
    {
      SCOPED_TRACE("what is new");
      testing::expectSameTraces(now.value(), whole.value());
    }
    if (::testing::Test::HasFatalFailure()) return;
    for (model::Trace& trace : now.value()) recording.takeBack(std::move(trace));
    // Calls are taken while later rows are read, here after each few.
    GrowingRecording early(path(), {.rows_at_once = 1 + pick(30)});
    auto in_pieces = early.read();
    ASSERT_TRUE(in_pieces.ok()) << in_pieces.error().what;
    SCOPED_TRACE("in pieces");
    testing::expectSameTraces(in_pieces.value(), whole.value());
    in_pieces_again += early.readingsFromTheBeginning() - 1;
  }

  std::mt19937 random_;
  testing::TempFolder folder_;
  std::optional<store::RecordingWriter> writer_;
  model::Ledger ledger_;  // knows what the next part must carry
  int64_t step_ns_ = 0;
  bool has_older_ = false, has_launch_events_ = false;
  int64_t now_ns_ = 1000 * kOneSecond_ns;
  uint32_t module_ = 0, made_ = 0;
  std::vector<uint32_t> frames_;
  std::map<std::tuple<Plane, Verb, MemoryKind>, uint16_t> functions_;
  std::map<uint32_t, uint32_t> stacks_, processes_;
};

TEST(GrowingTwin, EveryStepIsReadAsFromTheBeginning) {
  uint64_t readings = 0, from_the_beginning = 0, parts = 0, in_pieces_again = 0;
  for (uint32_t seed = 1; seed <= 16; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    GrowingFile file(seed);
    file.run(15);
    if (HasFatalFailure()) return;
    readings += 16;
    from_the_beginning += file.from_the_beginning;
    parts += file.parts;
    in_pieces_again += file.in_pieces_again;
  }
  // Both ways were taken, and parts began.
  EXPECT_GT(from_the_beginning, 16U);
  EXPECT_LT(from_the_beginning, readings / 2);
  EXPECT_GT(parts, 16U);
  EXPECT_GT(in_pieces_again, 0U);
  EXPECT_LT(in_pieces_again, readings / 2);
}

}  // namespace
}  // namespace tidegauge::readers::recording
