#include "record/nvml/nvml.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace tidegauge::record {
namespace {

using std::chrono::milliseconds;

// The stand-in library, which takes the place of the real one, and the file that it reads.
class NvmlTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(dlopen(STANDIN_NVML_LIBRARY, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
    path_ = std::filesystem::temp_directory_path() / ("nvml-" + std::to_string(getpid()) + ".txt");
    setenv("STANDIN_NVML", path_.c_str(), 1);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  void say(const std::string& words) {
    std::ofstream(path_.string() + ".new") << words;
    std::filesystem::rename(path_.string() + ".new", path_);
  }
  // The first sample for which `wanted` holds.
  template <class Wanted>
  static DeviceSample until(Nvml& nvml, const Wanted& wanted) {
    while (true) {
      if (auto sample = nvml.take(); sample && wanted(*sample)) return *sample;
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  static DeviceSample next(Nvml& nvml) {
    return until(nvml, [](const DeviceSample&) { return true; });
  }

  std::filesystem::path path_;
};

TEST_F(NvmlTest, SaysWhatDevicesAndProcessesUse) {
  say("device A 1000 700\nprocess 41 300\nprocess 57 200\ndevice B 2000 5\n");
  Nvml nvml(milliseconds(1));
  DeviceSample sample = next(nvml);
  ASSERT_EQ(sample.devices.size(), 2U);
  const DeviceUse& a = sample.devices[0];
  EXPECT_EQ(a.name, "A");
  EXPECT_EQ(a.uuid, "GPU-A");
  EXPECT_EQ(a.total_bytes, 1000U);
  EXPECT_EQ(a.used_bytes, 700U);
  ASSERT_EQ(a.processes->size(), 2U);
  EXPECT_EQ(a.processes->at(1).pid, 57U);
  EXPECT_EQ(a.processes->at(1).used_bytes, 200U);
  EXPECT_EQ(sample.devices[1].device, 1);
  EXPECT_TRUE(sample.devices[1].processes->empty());
  EXPECT_GT(sample.time_ns, 0);
}

TEST_F(NvmlTest, AProcessOfSeveralInstancesIsOneAndWhatIsNotToldIsLeftOut) {
  say("device A 1000 700\nprocess 41 300\nprocess 41 50\nprocess 57 18446744073709551615\n");
  Nvml nvml(milliseconds(1));
  DeviceSample sample = next(nvml);
  ASSERT_EQ(sample.devices.at(0).processes->size(), 1U);
  EXPECT_EQ(sample.devices[0].processes->at(0).used_bytes, 350U);
}

TEST_F(NvmlTest, ACallThatFailsLeavesOutWhatItWouldHaveSaid) {
  say("device A 1000 700\nprocess 41 300\nfail nvmlDeviceGetMemoryInfo 15\n");
  Nvml nvml(milliseconds(1));
  DeviceSample sample = next(nvml);
  EXPECT_FALSE(sample.devices.at(0).used_bytes.has_value());
  EXPECT_EQ(sample.devices[0].processes->size(), 1U);
  say("device A 1000 700\nfail nvmlDeviceGetComputeRunningProcesses_v3 15\n");
  sample = until(nvml, [](const DeviceSample& s) { return s.devices[0].used_bytes.has_value(); });
  EXPECT_FALSE(sample.devices[0].processes.has_value());
}

TEST_F(NvmlTest, SizesThatCannotBeAreNotTold) {
  say("device A 1000 1001\n");
  Nvml nvml(milliseconds(1));
  EXPECT_FALSE(next(nvml).devices.at(0).used_bytes.has_value());
}

TEST_F(NvmlTest, ManyProcessesHaveRoomAndTooManyAreNotTold) {
  auto many = [](size_t count) {
    std::string words = "device A 1000000 700\n";
    for (size_t i = 1; i <= count; ++i) words += "process " + std::to_string(i) + " 1\n";
    return words;
  };
  say(many(1000));
  Nvml nvml(milliseconds(1));
  EXPECT_EQ(next(nvml).devices.at(0).processes->size(), 1000U);
  say(many(kMaxDeviceProcesses + 1));
  until(nvml, [](const DeviceSample& s) { return !s.devices.at(0).processes.has_value(); });
}

TEST_F(NvmlTest, ADriverThatIsNotThereGivesNothingAndOneThatHangsHoldsNobodyUp) {
  say("device A 1000 700\nfail nvmlInit_v2 9\n");
  { Nvml none(milliseconds(1)); }  // its thread has ended
  say("device A 1000 700\nhang nvmlDeviceGetHandleByIndex_v2\n");
  Nvml nvml(milliseconds(1));
  EXPECT_FALSE(nvml.take().has_value());
}

}  // namespace
}  // namespace tidegauge::record
