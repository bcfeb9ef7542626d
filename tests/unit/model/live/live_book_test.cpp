#include "model/live/live_book.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "model/call_words.h"
#include "support/bytes.h"
#include "support/call_stream.h"

namespace tidegauge::model {
namespace {

using testing::CallStream;

constexpr int64_t kSecond = 1'000'000'000;

struct Books {
  LiveBook book;
  Ledger ledger{[this](const Effect& effect) { book.take(effect); }};
  LiveNames names{[](uint32_t stack) {
                    StackWords words;
                    words.frames = {"frame " + std::to_string(stack)};
                    return words;
                  },
                  [](uint16_t function) { return "function " + std::to_string(function); }};
  LiveMoment moment{LiveState::kMonitor, 2 * kSecond, 2 * kSecond};

  void add(uint32_t process, int64_t began_ns = kSecond) {
    book.addProcess({process, 41 + process, "python", "python train.py", began_ns});
  }
  void take(const CallStream& calls) {
    for (const MemoryCall& call : calls.all()) ledger.take(call);
  }
  LiveSnapshot look(const LiveWish& wish = {}) { return book.look(ledger, wish, moment, names); }
};

const LiveRow& rowOf(const LiveSnapshot& snapshot, uint32_t process) {
  static const LiveRow kNone;
  for (const LiveRow& row : snapshot.processes)
    if (row.process == process) return row;
  return kNone;
}

// The book's sums of effects equal the ledger's at every moment: by process, by device, by stack;
// and the peak is the ledger's highest value.
RC_GTEST_PROP(LiveBook, AgreesWithTheLedgerWhateverArrives,
              (const std::vector<std::array<uint8_t, 6>>& input)) {
  CallStream calls;
  for (const auto& [verb, kind, address, size, handle, rest] : input) {
    calls
        .allocate(static_cast<MemoryKind>(kind % kMemoryKinds), uint64_t{address} % 32 * kMiB,
                  uint64_t{size} % 8 * kMiB)
        .handle(handle % 8)
        .device(rest % 4 - 1)
        .process(verb % 3)
        .stack(size % 5)
        .plane(static_cast<Plane>(rest / 4 % 3))
        .code(rest % 16 == 0 ? 2 : 0);
  }
  std::vector<MemoryCall> stream = calls.all();
  for (size_t i = 0; i < stream.size(); ++i) stream[i].verb = static_cast<Verb>(input[i][0] % 13);
  Books books;
  for (uint32_t process : {0U, 1U, 2U}) books.add(process);
  std::map<uint32_t, uint64_t> peaks;
  std::map<int32_t, uint64_t> device_peaks;
  for (const MemoryCall& call : stream) {
    books.ledger.take(call);
    std::map<int32_t, uint64_t> on;
    for (uint32_t process : books.ledger.processes()) {
      uint64_t bytes = 0;
      for (int32_t device : books.ledger.find(process)->devices()) {
        bytes += books.ledger.find(process)->deviceSum(device).bytes;
        on[device] += books.ledger.find(process)->deviceSum(device).bytes;
      }
      peaks[process] = std::max(peaks[process], bytes);
    }
    for (auto [device, bytes] : on) device_peaks[device] = std::max(device_peaks[device], bytes);
  }
  LiveSnapshot now = books.look();
  uint64_t all = 0, held = 0, failures = 0;
  for (uint32_t process : books.ledger.processes()) {
    const ProcessLedger& ledger = *books.ledger.find(process);
    const LiveRow& row = rowOf(now, process);
    uint64_t bytes = 0, failed = 0;
    for (int32_t device : ledger.devices()) bytes += ledger.deviceSum(device).bytes;
    for (auto [code, count] : ledger.failuresByCode()) failed += count;
    RC_ASSERT(row.live_bytes == bytes);
    RC_ASSERT(row.failures == failed);
    // Within one call, memory may be freed before other memory is allocated.
    RC_ASSERT(row.peak_bytes >= peaks[process]);
    all += bytes;
    failures += failed;
  }
  uint64_t on_devices = 0;
  for (const LiveDevice& device : now.devices) {
    on_devices += device.live_bytes;
    RC_ASSERT(device.peak_bytes >= device_peaks[device.device]);
  }
  RC_ASSERT(on_devices == all);
  for (const LiveStack& stack : now.stacks) held += stack.bytes;
  RC_ASSERT(now.stacks_bytes == all);
  RC_ASSERT(now.more_stacks > 0 || held == all);
  uint64_t told = now.more_failures;
  for (const LiveFailure& failure : now.failures) told += failure.count;
  RC_ASSERT(told == failures);
}

TEST(LiveBook, ARowDescribesItsProcess) {
  Books books;
  books.add(0);
  books.add(1);
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x1000000, 20 * kMiB).device(0).stack(3);
  calls.allocate(MemoryKind::kBlock, 0x1000000, 3 * kMiB).device(0).stack(4);
  calls.allocate(MemoryKind::kDevice, 0x9000000, 4 * kMiB).device(1).stack(3);
  calls.allocate(MemoryKind::kPinnedHost, 0x60000000, kMiB).device(0);
  calls.free(MemoryKind::kDevice, 0x9000000);
  calls.allocate(MemoryKind::kDevice, 0x9000000, 80 * kMiB).device(0).code(2).stack(9);
  calls.allocate(MemoryKind::kDevice, 0x1000000, 7 * kMiB).device(0).process(1).stack(3);
  books.take(calls);
  books.book.addLaunches(0, "gemm", 500, kSecond, 2 * kSecond);
  books.book.addLaunches(0, "kernel 0x7", 60, kSecond, 2 * kSecond);
  books.book.addLaunches(0, "kernel 0x8", 40, kSecond, 2 * kSecond);
  books.book.renameKernel(0, "kernel 0x7", "relu");  // their name comes after them
  books.book.renameKernel(0, "kernel 0x8", "relu");
  books.book.renameKernel(0, "kernel 0x9", "none");
  books.book.addCopies(0, {kSecond, 2 * kSecond, "host to device", false, 4, 40, 1000, 1});
  books.book.addCopies(0, {kSecond, 2 * kSecond, "host to device", true, 1, 60, 9, 0});

  LiveSnapshot all = books.look();
  ASSERT_EQ(all.processes.size(), 2U);
  const LiveRow& row = all.processes[0];
  EXPECT_EQ(row.process, 0U) << "most live bytes first";
  EXPECT_EQ(row.live_bytes, 20 * kMiB);
  EXPECT_EQ(row.peak_bytes, 24 * kMiB);
  EXPECT_EQ(row.host_bytes, kMiB);
  EXPECT_EQ(row.framework_used_bytes, 3 * kMiB);
  EXPECT_EQ(row.framework_reserved_bytes, 20 * kMiB) << "only where it has placed blocks";
  EXPECT_EQ(row.allocations, 2U);
  EXPECT_EQ(row.frees, 1U);
  EXPECT_DOUBLE_EQ(row.launches_per_s, 600);
  EXPECT_DOUBLE_EQ(row.to_device_bytes_per_s, 100);
  EXPECT_EQ(row.copied_to_device_bytes, 100U);
  EXPECT_FALSE(row.is_average);
  ASSERT_EQ(row.devices.size(), 2U);
  EXPECT_EQ(row.devices[1].live_bytes, 0U);
  EXPECT_EQ(row.devices[1].peak_bytes, 4 * kMiB);
  EXPECT_FALSE(all.processes[1].framework_used_bytes.has_value());

  ASSERT_EQ(all.devices.size(), 2U);
  EXPECT_EQ(all.devices[0].live_bytes, 27 * kMiB);
  EXPECT_EQ(all.devices[0].processes, 2U);
  EXPECT_EQ(all.devices[1].processes, 0U);
  ASSERT_EQ(all.stacks.size(), 2U) << "host memory is none of the device's";
  EXPECT_EQ(all.stacks[0].stack.frames, (std::vector<std::string>{"frame 3"}));
  ASSERT_EQ(all.blocks.size(), 1U);
  EXPECT_EQ(all.blocks[0].bytes, 3 * kMiB);
  ASSERT_EQ(all.kernels.size(), 2U);
  EXPECT_EQ(all.kernels[0].name, "gemm");
  ASSERT_EQ(all.copies.size(), 1U);
  EXPECT_EQ(all.copies[0].bytes, 100U);
  EXPECT_EQ(all.copies[0].timed_bytes, 40U) << "a submitted copy has no transfer time";
  EXPECT_EQ(all.copies[0].failures, 1U);
  ASSERT_EQ(all.failures.size(), 1U);
  EXPECT_EQ(all.failures[0].code, 2);
  EXPECT_EQ(all.failures[0].last_bytes, 80 * kMiB);
  EXPECT_EQ(all.failures[0].stack.frames, (std::vector<std::string>{"frame 9"}));

  LiveWish one;
  one.process = 1;
  LiveSnapshot chosen = books.look(one);
  EXPECT_EQ(chosen.processes.size(), 2U);
  EXPECT_EQ(chosen.stacks_bytes, 7 * kMiB);
  EXPECT_TRUE(chosen.kernels.empty());
  EXPECT_TRUE(chosen.failures.empty());
}

TEST(LiveBook, AnEndedProcessShowsItsLifeAndWhatItKept) {
  Books books;
  books.add(0, 0);
  CallStream calls;  // a little after 1 s
  calls.allocate(MemoryKind::kDevice, 0x1000000, 20 * kMiB).device(0);
  books.take(calls);
  books.book.addLaunches(0, "gemm", 800, 0, kSecond);
  books.ledger.endProcess(0, 2 * kSecond);
  books.book.endProcess(0, 2 * kSecond);
  books.moment.now_ns = books.moment.counted_ns = 4 * kSecond;
  LiveWish wish;
  wish.window = LiveWindow::kWhole;
  wish.columns = 8;
  LiveSnapshot after = books.look(wish);
  const LiveRow& row = rowOf(after, 0);
  EXPECT_TRUE(row.is_average);
  EXPECT_DOUBLE_EQ(row.launches_per_s, 400) << "800 in its two seconds";
  EXPECT_EQ(row.live_bytes, 0U);
  EXPECT_EQ(row.unfreed_bytes, 20 * kMiB);
  EXPECT_EQ(row.frees, 0U) << "nobody freed it";
  ASSERT_EQ(after.unfreed.size(), 1U);
  EXPECT_EQ(after.unfreed[0].bytes, 20 * kMiB);
  EXPECT_TRUE(after.stacks.empty());
  EXPECT_EQ(after.devices[0].live_bytes, 0U);
  // Eight parts of five seconds: it was live in the second, third and fourth, one second of four.
  auto mib = static_cast<int64_t>(20 * kMiB);
  EXPECT_EQ(after.from_ns, -kSecond) << "five seconds at least";
  EXPECT_EQ(row.line, (std::vector<int64_t>{-1, 0, 0, mib, mib, -1, -1, -1}));
}

TEST(LiveBook, AForgottenProcessIsCountedAndNothingElse) {
  Books books;
  books.add(0);
  books.book.addLaunches(0, "gemm", 5, kSecond, kSecond);
  books.book.endProcess(0, kSecond);
  books.book.forgetProcess(0);
  books.book.forgetProcess(7);
  LiveSnapshot now = books.look();
  EXPECT_TRUE(now.processes.empty());
  EXPECT_EQ(now.more_processes, 1U);
  EXPECT_EQ(now.launches, 0U);
}

TEST(LiveBook, ALearnedDeviceTakesItsBytesAlong) {
  Books books;
  books.add(0);
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x1000000, 20 * kMiB);
  books.take(calls);
  EXPECT_EQ(books.look().devices[0].device, kUnknownDevice);
  CallStream more;
  more.allocate(MemoryKind::kBlock, 0x1000000, kMiB).device(3);
  books.take(more);
  LiveSnapshot now = books.look();
  ASSERT_EQ(now.devices.size(), 1U);
  EXPECT_EQ(now.devices[0].device, 3);
  EXPECT_EQ(now.devices[0].live_bytes, 20 * kMiB);
  EXPECT_EQ(now.devices[0].peak_bytes, 20 * kMiB);
}

TEST(LiveBook, EverythingIsBounded) {
  Books books;
  constexpr uint32_t kMany = 700;
  for (uint32_t process = 0; process < kMany; ++process) {
    books.add(process);
    books.book.addLaunches(process, "gemm", 1, kSecond, kSecond);
    if (process < 300) books.book.endProcess(process, kSecond + process);
  }
  LiveSnapshot many = books.look();
  EXPECT_EQ(many.processes.size() + many.more_processes, kMany) << "each is counted";
  EXPECT_TRUE(std::none_of(many.processes.begin(), many.processes.end(), [](const LiveRow& row) {
    return row.ended_ns.has_value();
  })) << "those that run come first";

  Books one;
  one.add(0);
  for (int i = 0; i < 1000; ++i) {
    one.book.addLaunches(0, "kernel" + std::to_string(i), 2, kSecond, kSecond);
    one.book.addLoss("reason" + std::to_string(i), 1);
  }
  CallStream calls;
  for (uint32_t i = 0; i < 1000; ++i)
    calls.allocate(MemoryKind::kDevice, 0x1000, kMiB).code(static_cast<int32_t>(i + 1)).stack(i);
  one.take(calls);
  LiveSnapshot now = one.look();
  EXPECT_EQ(now.launches, 2000U);
  EXPECT_LE(now.kernels.size(), 20U);
  EXPECT_EQ(now.kernels[0].name, "other");
  EXPECT_EQ(now.kernels[0].launches, 2 * (1000 - LiveBook::kMaxKernels));
  EXPECT_EQ(now.kernels.size() + now.more_kernels, LiveBook::kMaxKernels + 1);
  uint64_t failures = now.more_failures, lost = 0;
  for (const LiveFailure& failure : now.failures) failures += failure.count;
  for (const LiveLoss& loss : now.losses) lost += loss.count;
  EXPECT_EQ(failures, 1000U);
  EXPECT_EQ(rowOf(now, 0).failures, 1000U);
  EXPECT_EQ(lost, 1000U);
  EXPECT_LE(now.losses.size(), LiveBook::kMaxReasons + 1);
}

// Memory that a process allocated while there was no room for it is unknown when it is freed.
TEST(LiveBook, WhatWasTakenBeforeThereWasRoomTakesNothingAway) {
  Books books;
  for (uint32_t process = 0; process < LiveBook::kMaxProcesses; ++process) books.add(process);
  constexpr uint32_t kLate = LiveBook::kMaxProcesses;
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x1000000, 20 * kMiB).device(0).process(kLate);
  calls.allocate(MemoryKind::kDevice, 0x1000000, 3 * kMiB).device(0).process(1);
  calls.allocate(MemoryKind::kDevice, 0x9000000, 7 * kMiB).process(kLate);
  books.take(calls);
  books.book.endProcess(0, kSecond);
  CallStream more;
  more.free(MemoryKind::kDevice, 0x1000000).process(kLate);
  more.allocate(MemoryKind::kBlock, 0x9000000, kMiB).device(0).process(kLate);
  more.allocate(MemoryKind::kDevice, 0x1000000, kMiB).device(0).process(kLate);
  books.take(more);
  LiveSnapshot now = books.look();
  ASSERT_EQ(now.devices.size(), 1U);
  EXPECT_EQ(now.devices[0].live_bytes, 4 * kMiB);
  EXPECT_EQ(now.devices[0].peak_bytes, 4 * kMiB);
  EXPECT_EQ(rowOf(now, kLate).live_bytes, kMiB);
  EXPECT_EQ(rowOf(now, kLate).peak_bytes, kMiB);
}

TEST(LiveBook, AProcessThatRanBeforeItWasWatchedSaysAtLeast) {
  Books books;
  for (uint32_t process : {0, 1}) books.add(process);
  CallStream calls;
  for (uint32_t process : {0U, 1U})
    calls.allocate(MemoryKind::kDevice, 0x1000000, kMiB).device(0).process(process);
  calls.free(MemoryKind::kPinnedHost, 0x77).process(1);  // older, but nothing of a device
  books.take(calls);
  Unwatched before;
  before.end_ns = kSecond;
  before.figures = {Figures::kMemory};
  books.book.addUnwatched(0, before);
  EXPECT_TRUE(rowOf(books.look(), 0).at_least);
  EXPECT_FALSE(rowOf(books.look(), 1).at_least);
  CallStream more;
  more.map(0x7000000, kMiB, 9).process(1);  // physical memory whose creation was not recorded
  books.take(more);
  EXPECT_TRUE(rowOf(books.look(), 1).at_least);
}

TEST(LiveBook, AProcessThatNeverCalledIsNotShown) {
  Books books;
  books.add(0);
  EXPECT_TRUE(books.look().processes.empty());
}

TEST(CallWords, KnowTheCodesThatMatterAndSaySomethingOfEveryLoss) {
  EXPECT_EQ(codeWords(2), "out of memory");
  EXPECT_EQ(codeWords(123456), "");
  EXPECT_NE(lossMeaning("no stack"), lossMeaning("memory ring full"));
  EXPECT_FALSE(lossMeaning("a reason of tomorrow").empty());
}

}  // namespace
}  // namespace tidegauge::model
