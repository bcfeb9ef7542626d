// A recording of programs that also launch and copy:
//
//   pid 41  allocates, launches sgemm <<<64,256>>> 900 times and <<<8,256>>> 100, copies both ways
//   pid 42  allocates
//   pid 43  launches only: it never called for memory
//
// Kernel 1 has no name, and a launch refers to an unknown kernel 7.
#pragma once

#include "support/call_stream.h"
#include "support/recording_file.h"

namespace tidegauge::testing {

constexpr int64_t kSecond_ns = 1'000'000'000;

inline void addWork(RecordingFile& file) {
  store::RecordingWriter& writer = file.writer();
  CallStream calls;
  calls.allocate(model::MemoryKind::kDevice, 0x1000, 1 << 20).device(0).stack(3).process(0);
  calls.allocate(model::MemoryKind::kDevice, 0x1000, 2 << 20).device(0).stack(4).process(1);
  file.add(calls.all());
  store::ProcessRow third;
  third.pid = 43;
  third.parent_pid = 41;
  third.name = "it's";
  third.command = "./launch --all";
  third.cgroup = 7;
  third.began_ns = 5;
  uint32_t launcher = writer.addProcess(third).value();
  EXPECT_TRUE(writer.endProcess(launcher, 9 * kSecond_ns, 256, store::EndReason::kExit).ok());

  auto function = [&](const char* name, model::Plane plane) {
    return writer.addFunction({name, plane, {}, {}}).value();
  };
  uint16_t launch = function("cuLaunchKernel", model::Plane::kDriver);
  uint16_t to_device = function("cuMemcpyHtoD_v2", model::Plane::kDriver);
  uint16_t async = function("cuMemcpyDtoHAsync_v2", model::Plane::kDriver);
  uint16_t any = function("cuMemcpy", model::Plane::kDriver);
  uint32_t sgemm = writer.addKernel(0, 0xabc, "sgemm").value();
  uint32_t unnamed = writer.addKernel(0, 0xdef, "").value();
  uint32_t other = writer.addKernel(launcher, 0xabc, "other").value();
  auto launches = [&](uint32_t process, uint32_t kernel, uint32_t blocks, int64_t second,
                      uint64_t count) {
    store::LaunchRow row;
    row.begin_ns = second * kSecond_ns;
    row.end_ns = (second + 1) * kSecond_ns;
    row.process = process;
    row.kernel = kernel;
    row.function = launch;
    row.grid = {blocks, 1, 1};
    row.block = {256, 1, 1};
    row.count = count;
    EXPECT_TRUE(writer.addLaunches(row).ok());
  };
  launches(0, sgemm, 64, 1, 400);
  launches(0, sgemm, 8, 2, 100);
  launches(0, sgemm, 64, 4, 500);
  launches(0, unnamed, 1, 3, 2);
  launches(launcher, other, 3, 3, 30);
  launches(0, 7, 2, 3, 1);
  auto copies = [&](const char* direction, uint16_t by, bool submitted, uint64_t bytes,
                    uint64_t failures) {
    store::CopyRow row;
    row.begin_ns = kSecond_ns;
    row.end_ns = 2 * kSecond_ns;
    row.direction = direction;
    row.function = by;
    row.submitted = submitted;
    row.count = 4;
    row.size_bytes = bytes;
    row.host_ns = 500'000'000;
    row.failures = failures;
    EXPECT_TRUE(writer.addCopies(row).ok());
  };
  copies("host to device", to_device, false, 1 << 30, 0);
  copies("host to device", to_device, false, 1 << 30, 1);
  copies("device to host", async, true, 1 << 20, 0);
  copies("by the pointers", any, false, 1 << 10, 0);
  EXPECT_TRUE(writer.addLoss(3 * kSecond_ns, "memory ring full", 12).ok());
  EXPECT_TRUE(writer.addLoss(4 * kSecond_ns, "no stack", 3).ok());
  EXPECT_TRUE(writer.commit().ok());
}

// What the device measured of pid 41, and why nothing of pid 43. After addWork().
inline void addDeviceTimes(RecordingFile& file) {
  store::RecordingWriter& writer = file.writer();
  EXPECT_TRUE(writer.setMeta("device_times", "1").ok());
  EXPECT_TRUE(writer.addDeviceName(3, "sgemm").ok());
  auto activity = [&](const char* kind, std::optional<std::string_view> direction, int64_t start_ns,
                      int64_t end_ns, std::optional<uint64_t> bytes) {
    store::DeviceActivityRow row;
    row.kind = kind;
    row.direction = direction;
    row.start_ns = kSecond_ns + start_ns;
    row.end_ns = kSecond_ns + end_ns;
    row.size_bytes = bytes;
    row.context = 1;
    row.stream = 7;
    if (!bytes && start_ns < 5000) row.name = 3;
    EXPECT_TRUE(writer.addDeviceActivity(row).ok());
  };
  activity("kernel", {}, 1000, 2500, {});
  activity("kernel", {}, 2000, 4000, {});  // overlaps by 500 ns
  activity("kernel", {}, 6000, 6100, {});  // its name is not known
  activity("copy", "host to device", 10'000, 12'000, 63'000);
  activity("copy", "host to device", 11'000, 13'000, 33'000);
  activity("set", "set", 20'000, 20'100, 500);
  store::DeviceProgramRow timed, refused;
  timed.process = 0;
  timed.pid = 41;
  timed.outcome = "timed";
  timed.version = 130500;
  timed.library = "/opt/libcupti.so.13";
  refused.process = 2;
  refused.pid = 43;
  refused.outcome = "no library";
  refused.reason = "libcupti was not found";
  EXPECT_TRUE(writer.addDeviceProgram(timed).ok());
  EXPECT_TRUE(writer.addDeviceProgram(refused).ok());
  EXPECT_TRUE(writer.addDevice({0, "A", "GPU-1", 1 << 30, 5, 16}).ok());
  EXPECT_TRUE(writer.addDevice({1, "B", "GPU-2", 1 << 30, 5, 16}).ok());
  EXPECT_TRUE(writer.commit().ok());
}

}  // namespace tidegauge::testing
