// Following a growing recording gives the same at each look as reading the whole file: two ways
// through the same rows, one call after another and all of them in their order.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "model/ledger/ledger.h"
#include "model/recorded_work.h"
#include "readers/recording/follow_recording.h"
#include "readers/recording/open_recording.h"
#include "support/any_call.h"
#include "support/recording_file.h"

namespace tidegauge::readers::recording {
namespace {

using model::LiveRow;
using model::LiveSnapshot;
using model::MemoryCall;
using model::MemoryKind;
using model::Verb;
using testing::RecordingFile;

constexpr int64_t kSecond_ns = 1'000'000'000;

// The figures of both for one process.
struct Figures {
  uint64_t device_bytes = 0, host_bytes = 0, block_bytes = 0;
  uint64_t refused = 0, launches = 0, copies = 0, copied_bytes = 0;
  auto operator<=>(const Figures&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Figures& it) {
  return out << "device " << it.device_bytes << " host " << it.host_bytes << " blocks "
             << it.block_bytes << " refused " << it.refused << " launches " << it.launches
             << " copies " << it.copies << " copied " << it.copied_bytes;
}

Figures figuresOf(const model::RecordedWork& work) {
  Figures sums;
  for (size_t i = 0; i < work.held.size(); ++i) {
    MemoryKind kind = work.held.kind[i];
    (kind == MemoryKind::kBlock  ? sums.block_bytes
     : model::isHostMemory(kind) ? sums.host_bytes
                                 : sums.device_bytes) += work.held.bytes[i];
  }
  for (uint64_t count : work.refused.count) sums.refused += count;
  for (int64_t count : work.launches.count) sums.launches += static_cast<uint64_t>(count);
  for (int64_t count : work.copies.count) sums.copies += static_cast<uint64_t>(count);
  for (int64_t bytes : work.copies.size_bytes) sums.copied_bytes += static_cast<uint64_t>(bytes);
  return sums;
}

// What an ended process kept: the reader ignores its end.
Figures figuresOf(const LiveRow& row) {
  return {row.ended_ns ? row.unfreed_bytes : row.live_bytes,
          row.host_bytes,
          row.framework_used_bytes.value_or(0),
          row.failures,
          row.launches,
          row.copies,
          row.copied_to_device_bytes};
}

bool isAtLeastOnADevice(const model::RecordedWork& work) {
  return std::any_of(work.at_least.begin(), work.at_least.end(),
                     [](int32_t device) { return device >= 0; });
}

class Grower {
 public:
  explicit Grower(uint32_t seed) : random_(seed), follower_(file_.path()) {}

  void run() {
    for (int step = 0; step < 12; ++step) {
      std::vector<MemoryCall> calls;
      for (uint64_t i = pick(40); i > 0; --i) addCall(calls);
      file_.add(calls);
      if (pick(3) == 0) addWork();
      ASSERT_TRUE(file_.writer().commit().ok());
      compare();
    }
    for (uint32_t process = 0; process < written_; ++process)
      ASSERT_TRUE(file_.writer().endProcess(process, now_ns_ + 1, 0, store::EndReason::kExit).ok());
    file_.finish();
    has_ended_ = true;
    compare();
  }

 private:
  uint64_t pick(uint64_t below) { return random_() % below; }

  void addCall(std::vector<MemoryCall>& calls) {
    MemoryCall call = testing::anyCall(random_, now_ns_ += 10);
    call.process = static_cast<uint32_t>(std::min(pick(3), written_));
    written_ = std::max<uint64_t>(written_, call.process + 1);
    if (call.verb == Verb::kAllocate && pick(12) == 0) call.code = 2;
    bool frees = call.verb == Verb::kFree && call.kind != MemoryKind::kBlock;
    if (frees && pick(3) == 0) {
      // Another thread gets the freed memory before this call returns.
      MemoryCall again = call;
      again.verb = Verb::kAllocate;
      again.thread += 7;
      calls.push_back(again);
      now_ns_ += 10;
      call.end_ns = now_ns_;
      call.start_ns = again.start_ns - 1;
    }
    calls.push_back(call);
  }

  void addWork() {
    if (written_ == 0) return;
    auto process = static_cast<uint32_t>(pick(written_));
    store::LaunchRow launches;
    launches.begin_ns = now_ns_;
    launches.end_ns = now_ns_ + kSecond_ns;
    launches.process = process;
    launches.kernel = file_.writer().addKernel(process, 0xabc + pick(3), "gemm").value();
    launches.count = pick(1000);
    ASSERT_TRUE(file_.writer().addLaunches(launches).ok());
    store::CopyRow copies;
    copies.begin_ns = now_ns_;
    copies.end_ns = now_ns_ + kSecond_ns;
    copies.process = process;
    copies.direction = "host to device";
    copies.count = pick(100);
    copies.size_bytes = pick(1 << 20);
    ASSERT_TRUE(file_.writer().addCopies(copies).ok());
  }

  void compare() {
    auto now = follower_.look({});
    ASSERT_TRUE(now.ok()) << now.error().what;
    RecordingFollower late(file_.path());
    auto at_once = late.look({});
    ASSERT_TRUE(at_once.ok()) << at_once.error().what;
    auto traces = openRecording(file_.path(), {});
    ASSERT_TRUE(traces.ok()) << traces.error().what;
    for (const LiveSnapshot* snapshot : {&now.value(), &at_once.value()}) {
      ASSERT_EQ(snapshot->read_share, 1);
      std::map<int64_t, const LiveRow*> rows;
      for (const LiveRow& row : snapshot->processes) rows[row.process] = &row;
      for (const model::Trace& trace : traces.value()) {
        const model::RecordedWork& work = *trace.work;
        if (work.process_id == kNoProcess) continue;
        ASSERT_TRUE(rows.contains(work.process_id)) << trace.source.name;
        const LiveRow& row = *rows[work.process_id];
        Figures read = figuresOf(work), followed = figuresOf(row);
        // gone; only device memory is reported
        if (has_ended_) read.host_bytes = read.block_bytes = 0;
        ASSERT_EQ(read, followed) << trace.source.name;
        ASSERT_TRUE(row.at_least || !isAtLeastOnADevice(work)) << trace.source.name;
      }
      ASSERT_EQ(rows.size(), written_);
    }
  }

  std::mt19937 random_;
  RecordingFile file_;
  RecordingFollower follower_;
  int64_t now_ns_ = kSecond_ns;
  uint64_t written_ = 0;  // processes
  bool has_ended_ = false;
};

TEST(FollowTwin, AGrowingFileIsFollowedAsItIsReadWhole) {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Grower(seed).run();
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tidegauge::readers::recording
