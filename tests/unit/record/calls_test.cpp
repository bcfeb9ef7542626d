// The rules of bpf/calls.h, by which the BPF programs and the preloaded library make records, over
// a third side: arguments from an array, memory of this test, an unreadable first page.
#include <gtest/gtest.h>
#include <linux/types.h>

#include <array>
#include <cstring>
#include <map>
#include <string_view>
#include <vector>

#include "bpf/records.h"
#include "record/kernel/functions.h"

namespace tidegauge::record {
namespace {
namespace rules {

struct Entry {
  std::vector<uint64_t> arguments;  // six in registers, then those on the stack
};
struct Thread {
  bool copy_is_open = false;
  uint32_t inner_copies = 0;
  uint32_t copy_direction = 0;
};
using call_entry = Entry;
using call_thread = Thread;

std::array<int, COUNT_KINDS> counts;
std::map<uint64_t, int32_t> devices;

uint64_t argument(const Entry* entry, uint64_t place) {
  return place == 0 ? 0 : entry->arguments.at(place - 1);
}
bool readBytes(void* into, uint64_t address, uint32_t bytes) {
  std::memset(into, 0, bytes);  // as the kernel does where it cannot read
  if (address < 4096) return false;
  std::memcpy(into, reinterpret_cast<const void*>(address), bytes);
  return true;
}
void count(loss what) { ++counts.at(what); }
uint64_t readWord(uint64_t address) {
  uint64_t word = 0;
  if (!readBytes(&word, address, sizeof(word))) count(LOSS_READ_FAULT);
  return word;
}
uint64_t monotonicNow() { return 100; }
void keepContext(uint64_t context, uint32_t, int32_t device) { devices[context] = device; }
int32_t deviceOf(uint64_t context, uint32_t) {
  auto found = devices.find(context);
  return found == devices.end() ? DEVICE_UNKNOWN : found->second;
}
bool isInsideCopy(const Entry*, const Thread* thread) { return thread->copy_is_open; }
void openCopy(const Entry*, Thread* thread) { thread->copy_is_open = true; }
void closeCopy(Thread* thread) { thread->copy_is_open = false; }
bool hasOpenCopy(const Entry*, const Thread* thread) { return thread->copy_is_open; }

#include "bpf/context_calls.h"
#include "bpf/copy_calls.h"
#include "bpf/launch_calls.h"
#include "bpf/memory_calls.h"

}  // namespace rules

uint64_t cookieOf(std::string_view name) {
  for (const WatchedFunction& function : watchedFunctions())
    if (function.name == name) return function.cookie;
  ADD_FAILURE() << "not watched: " << name;
  return 0;
}
uint64_t at(const void* what) { return reinterpret_cast<uint64_t>(what); }

class Calls : public testing::Test {
 protected:
  void SetUp() override {
    rules::counts = {};
    rules::devices.clear();
  }

  // A memory call whose function runs `call` and returns `code`.
  template <typename Call>
  memory_record memory(std::string_view name, std::vector<uint64_t> arguments, Call call,
                       int32_t code = 0) {
    rules::Entry entry{std::move(arguments)};
    entry.arguments.resize(16);
    rules::flight flight;
    memory_record record;
    std::memset(&flight, 0x55, sizeof(flight));  // what lies on a stack
    std::memset(&record, 0x55, sizeof(record));
    flight.inner = flight.in_runtime = 0;
    flight.stack = -1;
    rules::memoryArguments(&entry, cookieOf(name), &flight);
    call();
    rules::fillMemory(&record, &flight, cookieOf(name), 3, code, 200);
    return record;
  }

  // A call that chooses a device; true if it has a record.
  bool context(std::string_view name, std::vector<uint64_t> arguments) {
    rules::Entry entry{std::move(arguments)};
    entry.arguments.resize(16);
    last_ = {};
    rules::contextArguments(&entry, cookieOf(name), &last_);
    return rules::contextReturned(&last_, cookieOf(name), 1, &chosen_);
  }

  rules::copy_flight copyBegins(std::string_view name, std::vector<uint64_t> arguments) {
    rules::Entry entry{std::move(arguments)};
    entry.arguments.resize(16);
    rules::copy_flight flight{};
    rules::copyArguments(&entry, &thread_, cookieOf(name), &flight);
    return flight;
  }
  bool copyIsCounted(std::string_view name, const rules::copy_flight& flight) {
    rules::Entry entry;
    return rules::isCopyCounted(&entry, &thread_, cookieOf(name), &flight);
  }

  rules::flight last_{};
  rules::chosen_device chosen_{DEVICE_NEVER_SET, {}, 0};
  rules::Thread thread_;
};

TEST_F(Calls, AnAllocationHasItsAddressBytesAndDevice) {
  uint64_t out = 0;
  memory_record record = memory("cuMemAlloc_v2", {at(&out), 4096}, [&] { out = 0x7f00; });
  EXPECT_EQ(record.start_ns, 100u);
  EXPECT_EQ(record.end_ns, 200u);
  EXPECT_EQ(record.address, 0x7f00u);
  EXPECT_EQ(record.size_bytes, 4096u);
  EXPECT_EQ(record.offset, 0u);
  EXPECT_EQ(record.device, 3) << "the one that the thread is on";
}

TEST_F(Calls, NothingComesOutOfAFailure) {
  uint64_t out = 0x1234;
  memory_record record = memory(
      "cuMemAlloc_v2", {at(&out), 4096}, [] {}, 2);
  EXPECT_EQ(record.code, 2);
  EXPECT_EQ(record.address, 0u);
  EXPECT_EQ(record.size_bytes, 4096u);
}

TEST_F(Calls, AResultThatCannotBeReadIsCountedAndMarked) {
  memory_record record = memory("cuMemAlloc_v2", {8, 4096}, [] {});
  EXPECT_EQ(record.flags, FLAG_READ_FAULT);
  EXPECT_EQ(record.address, 0u);
  EXPECT_EQ(rules::counts[LOSS_READ_FAULT], 1);
}

TEST_F(Calls, PitchedMemoryIsPitchTimesHeight) {
  uint64_t out = 0, pitch = 0;
  auto call = [&] { out = 0x7f00, pitch = 512; };
  memory_record record = memory("cuMemAllocPitch_v2", {at(&out), at(&pitch), 500, 10, 4}, call);
  EXPECT_EQ(record.size_bytes, 5120u);
  EXPECT_EQ(record.address, 0x7f00u);
  EXPECT_EQ(record.offset, 0u);
}

TEST_F(Calls, ACubeIsPitchTimesHeightTimesDepthOfTheExtentOnTheStack) {
  struct {
    uint64_t pointer, pitch, width, height;
  } out{};
  auto call = [&] { out.pointer = 0x7f00, out.pitch = 512; };
  memory_record record = memory("cudaMalloc3D", {at(&out), 0, 0, 0, 0, 0, 500, 10, 3}, call);
  EXPECT_EQ(record.size_bytes, 512u * 10 * 3);
  EXPECT_EQ(record.address, 0x7f00u);
}

TEST_F(Calls, PhysicalMemoryAndPoolsSayTheirDevice) {
  std::array<int32_t, 8> properties{1, 0, 1, 5};
  uint64_t out = 0;
  auto call = [&] { out = 77; };
  memory_record record = memory("cuMemCreate", {at(&out), 2 << 20, at(&properties)}, call);
  EXPECT_EQ(record.device, 5);
  EXPECT_EQ(record.handle, 77u);
  EXPECT_EQ(record.address, 0u);
  record = memory("cuMemPoolCreate", {at(&out), at(&properties)}, call);
  EXPECT_EQ(record.device, 5);
  EXPECT_EQ(record.handle, 77u);
  record = memory("cuMemCreate", {at(&out), 2 << 20, 0}, call);
  EXPECT_EQ(record.device, 3) << "properties that cannot be read say nothing";
  properties[2] = 3;  // CU_MEM_LOCATION_TYPE_HOST_NUMA
  record = memory("cuMemCreate", {at(&out), 2 << 20, at(&properties)}, call);
  EXPECT_EQ(record.device, 3) << "5 is a node of host memory, not a device";
}

TEST_F(Calls, APoolThatIsAskedForIsOfTheDeviceInTheRequest) {
  uint64_t out = 0;
  auto call = [&] { out = 77; };
  for (const char* name : {"cuDeviceGetDefaultMemPool", "cuDeviceGetMemPool"}) {
    memory_record record = memory(name, {at(&out), 6}, call);
    EXPECT_EQ(record.device, 6) << name;
    EXPECT_EQ(record.handle, 77u) << name;
    EXPECT_EQ(record.address, 0u) << name;
  }
  std::array<int32_t, 2> location{1, 4};
  for (const char* name : {"cuMemGetDefaultMemPool", "cuMemGetMemPool"}) {
    memory_record record = memory(name, {at(&out), at(&location), 1}, call);
    EXPECT_EQ(record.device, 4) << name;
    EXPECT_EQ(record.handle, 77u) << name;
    EXPECT_EQ(record.address, 0u) << name;
  }
}

TEST_F(Calls, AStreamIsOfTheDeviceThatTheThreadIsOn) {
  uint64_t out = 0;
  memory_record record = memory("cuStreamCreate", {at(&out), 0}, [&] { out = 88; });
  EXPECT_EQ(record.device, 3);
  EXPECT_EQ(record.handle, 88u);
}

TEST_F(Calls, ArraysHaveTheBytesOfTheirDescriptor) {
  uint64_t out = 0;
  auto call = [&] { out = 9; };
  struct {
    uint64_t width, height;
    uint32_t format, channels;
  } flat{100, 10, 0x20, 2};
  memory_record record = memory("cuArrayCreate_v2", {at(&out), at(&flat)}, call);
  EXPECT_EQ(record.size_bytes, 100u * 10 * 4 * 2);
  EXPECT_EQ(record.handle, 9u);
  EXPECT_EQ(record.address, 0u);
  struct {
    uint64_t width, height, depth;
    uint32_t format, channels;
  } deep{64, 0, 0, 0x10, 1};
  record = memory("cuArray3DCreate_v2", {at(&out), at(&deep)}, call);
  EXPECT_EQ(record.size_bytes, 64u * 2);
  deep.format = 0x77;
  record = memory("cuArray3DCreate_v2", {at(&out), at(&deep)}, call);
  EXPECT_EQ(record.size_bytes, 0u) << "a format that this version does not know";
}

TEST_F(Calls, MappingsHaveAnOffsetIntoTheirHandle) {
  memory_record record = memory("cuMemMap", {0x7f00, 4096, 8192, 77, 0}, [] {});
  EXPECT_EQ(record.address, 0x7f00u);
  EXPECT_EQ(record.size_bytes, 4096u);
  EXPECT_EQ(record.offset, 8192u);
  EXPECT_EQ(record.handle, 77u);
}

TEST_F(Calls, NodesOfGraphsAndWhatTheDriverSaysIsFreeComeOutOfStructures) {
  std::array<uint64_t, 15> node{};
  node[13] = 3 << 20;
  auto call = [&] { node[14] = 0x7f00; };
  memory_record record = memory("cuGraphAddMemAllocNode", {0, 0, 0, 0, at(&node)}, call);
  EXPECT_EQ(record.size_bytes, 3u << 20);
  EXPECT_EQ(record.address, 0x7f00u);
  EXPECT_EQ(record.device, 3);
  node[1] = uint64_t{2} << 32 | 1;  // its pool's location: {device, 2}
  EXPECT_EQ(memory("cuGraphAddMemAllocNode", {0, 0, 0, 0, at(&node)}, call).device, 2);
  uint64_t free = 0, all = 0;
  record = memory("cuMemGetInfo_v2", {at(&free), at(&all)}, [&] { free = 10, all = 30; });
  EXPECT_EQ(record.address, 10u);
  EXPECT_EQ(record.size_bytes, 30u);
}

TEST_F(Calls, ARuntimeCallSaysHowManyCallsOfTheDriverAreInsideUpTo255) {
  rules::flight flight{};
  memory_record record{};
  flight.inner = 1;
  rules::fillMemory(&record, &flight, cookieOf("cudaFree"), 0, 0, 0);
  EXPECT_EQ(record.inner, 1);
  flight.inner = 300;
  rules::fillMemory(&record, &flight, cookieOf("cudaFree"), 0, 0, 0);
  EXPECT_EQ(record.inner, 255);
}

TEST_F(Calls, AContextThatIsMadeOrRetainedHasARecordWithItsDevice) {
  uint64_t out = 0xA;
  EXPECT_TRUE(context("cuCtxCreate_v2", {at(&out), 0, 1}));
  EXPECT_EQ(last_.handle, 0xAu);
  EXPECT_EQ(last_.device, 1);
  EXPECT_EQ(chosen_.device, 1);
  out = 0xB;
  EXPECT_TRUE(context("cuDevicePrimaryCtxRetain", {at(&out), 0}));
  EXPECT_EQ(last_.device, 0);
  EXPECT_EQ(chosen_.device, 1) << "retained, not chosen";
  EXPECT_TRUE(context("cuCtxDestroy_v2", {0xB}));
  EXPECT_EQ(last_.device, 0);
  EXPECT_EQ(last_.handle, 0xBu);
  EXPECT_TRUE(context("cuDevicePrimaryCtxReset_v2", {1}));
  EXPECT_EQ(last_.device, 1);
  memory_record record;
  std::memset(&record, 0xFF, sizeof(record));
  rules::fillContext(&record, &last_, cookieOf("cuDevicePrimaryCtxReset_v2"));
  EXPECT_EQ(record.size_bytes | record.address | record.stream | record.offset, 0u);
  EXPECT_EQ(record.code | record.inner | record.flags, 0);
  EXPECT_EQ(record.stack, -1);
}

TEST_F(Calls, ADeviceIsChosenByNumberOrByContext) {
  rules::devices[0xB] = 1;
  EXPECT_FALSE(context("cudaSetDevice", {4}));
  EXPECT_EQ(chosen_.device, 4);
  EXPECT_FALSE(context("cuCtxSetCurrent", {0xB}));
  EXPECT_EQ(chosen_.device, 1);
  EXPECT_FALSE(context("cuCtxSetCurrent", {0xC}));
  EXPECT_EQ(chosen_.device, DEVICE_UNKNOWN);
}

TEST_F(Calls, PoppedContextsGiveTheirDevicesBackToADepthOfEight) {
  rules::devices = {{0xA, 0}, {0xB, 1}};
  for (int level = 0; level < 9; ++level)
    EXPECT_FALSE(context("cuCtxPushCurrent_v2", {level % 3 == 0 ? 0xBu : 0xAu}));
  std::vector<int32_t> popped;
  for (int level = 0; level < 10; ++level) {
    EXPECT_FALSE(context("cuCtxPopCurrent_v2", {}));
    popped.push_back(chosen_.device);
  }
  EXPECT_EQ(popped, (std::vector<int32_t>{DEVICE_UNKNOWN, 1, 0, 0, 1, 0, 0, 1, -1, -1}));
}

TEST_F(Calls, OfACopyOfTheRuntimeAndTheDriversInsideOnlyTheDriversCounts) {
  auto outer = copyBegins("cudaMemcpy", {0, 0, 100, COPY_HOST_TO_DEVICE});
  EXPECT_EQ(outer.direction, COPY_HOST_TO_DEVICE);
  auto inner = copyBegins("cuMemcpy", {0, 0, 100});
  EXPECT_EQ(inner.direction, COPY_HOST_TO_DEVICE) << "as the runtime's, for it says none itself";
  EXPECT_TRUE(copyIsCounted("cuMemcpy", inner));
  EXPECT_FALSE(copyIsCounted("cudaMemcpy", outer));
  EXPECT_EQ(rules::counts[COUNT_NESTED], 1);

  outer = copyBegins("cudaMemcpy", {0, 0, 100, 9});
  EXPECT_EQ(outer.direction, COPY_UNKNOWN);
  EXPECT_TRUE(copyIsCounted("cudaMemcpy", outer)) << "without one of the driver inside";
  EXPECT_FALSE(thread_.copy_is_open);
}

TEST_F(Calls, ACopyOfTheRuntimeInsideAnotherIsAPartOfIt) {
  auto outer = copyBegins("cudaMemcpy", {0, 0, 100, COPY_HOST_TO_DEVICE});
  auto inner = copyBegins("cudaMemcpyAsync", {0, 0, 100, COPY_DEVICE_TO_HOST});
  EXPECT_FALSE(copyIsCounted("cudaMemcpyAsync", inner));
  EXPECT_TRUE(thread_.copy_is_open);
  EXPECT_TRUE(copyIsCounted("cudaMemcpy", outer));
}

TEST_F(Calls, BytesOfCopiesAreTheProductOfTheirFactors) {
  EXPECT_EQ(copyBegins("cuMemsetD32_v2", {0, 0, 25}).bytes, 100u);
  EXPECT_EQ(copyBegins("cudaMemcpy2D", {0, 0, 0, 0, 30, 7, COPY_DEVICE_TO_HOST}).bytes, 210u);
}

TEST_F(Calls, CopiesAreAddedUpByCodeAndLostWithoutARow) {
  rules::copy_flight flight{100, 4096, COPY_HOST_TO_DEVICE, 0};
  copy_key key = rules::copyKey(&flight, cookieOf("cuMemcpyHtoDAsync_v2"), 5);
  EXPECT_EQ(key.program, 5u);
  EXPECT_EQ(key.direction, COPY_HOST_TO_DEVICE);
  EXPECT_EQ(key.submitted, 1);
  EXPECT_EQ(watchedFunctions()[key.function].name, "cuMemcpyHtoDAsync_v2");
  copy_sum sum{};
  rules::addCopy(&sum, &flight, 0, 130);
  rules::addCopy(&sum, &flight, 1, 150);
  EXPECT_EQ(sum.calls, 1u);
  EXPECT_EQ(sum.bytes, 4096u);
  EXPECT_EQ(sum.time_ns, 30u);
  EXPECT_EQ(sum.failures, 1u);
  rules::addCopy(nullptr, &flight, 0, 130);
  EXPECT_EQ(rules::counts[LOSS_COPY_TABLE], 1);
}

TEST_F(Calls, LaunchesHaveTheirKernelGridAndBlockInEveryShape) {
  auto launch = [](std::string_view name, std::vector<uint64_t> arguments, bool with_details) {
    rules::Entry entry{std::move(arguments)};
    entry.arguments.resize(16);
    launch_key key{};
    rules::launch_details details{};
    rules::launchArguments(&entry, cookieOf(name), with_details, &key, &details);
    launch_record record{};
    rules::fillLaunch(&record, &key, &details);
    EXPECT_EQ(watchedFunctions()[record.function].name, name);
    return record;
  };
  auto expect = [](const launch_record& record, uint32_t shared_bytes, uint64_t stream) {
    EXPECT_EQ(record.kernel, 0xFu);
    EXPECT_EQ(record.shared_bytes, shared_bytes);
    EXPECT_EQ(record.stream, stream);
    for (uint32_t i = 0; i < 3; ++i) {
      EXPECT_EQ(record.grid[i], i + 2);
      EXPECT_EQ(record.block[i], i + 5);
    }
  };
  expect(launch("cuLaunchKernel", {0xF, 2, 3, 4, 5, 6, 7, 128, 0x5, 0}, true), 128, 0x5);
  expect(launch("cuLaunchKernel", {0xF, 2, 3, 4, 5, 6, 7, 128, 0x5, 0}, false), 0, 0);
  uint64_t three = uint64_t{3} << 32, six = uint64_t{6} << 32;
  expect(launch("cudaLaunchKernel", {0xF, three | 2, 4, six | 5, 7, 0, 128, 0x5}, true), 128, 0x5);
  struct {
    uint32_t grid[3], block[3];
    uint64_t shared, stream;
  } config{{2, 3, 4}, {5, 6, 7}, 128, 0x5};
  expect(launch("cudaLaunchKernelExC", {at(&config), 0xF, 0}, false), 128, 0x5);
  EXPECT_EQ(rules::counts[LOSS_READ_FAULT], 0);
  EXPECT_EQ(launch("cudaLaunchKernelExC", {0, 0xF, 0}, false).grid[0], 0u);
  EXPECT_EQ(rules::counts[LOSS_READ_FAULT], 1);
  launch_record graph = launch("cudaGraphLaunch", {0xF, 0x5}, false);
  EXPECT_EQ(graph.kernel, 0xFu);
  EXPECT_EQ(graph.stream, 0x5u);
}

TEST_F(Calls, NamesOfKernelsComeWithTheKernelOrWithWhatItIsMadeFrom) {
  rules::Entry entry{{1, 2, 3, 4, 5, 6}};
  rules::flight flight{};
  rules::nameArguments(&entry, cookieOf("cuModuleGetFunction"), &flight);
  EXPECT_EQ(flight.out, 1u);
  EXPECT_EQ(flight.address, 3u);
  EXPECT_EQ(flight.handle, 0u);
  rules::nameArguments(&entry, cookieOf("cuKernelGetFunction"), &flight);
  EXPECT_EQ(flight.address, 0u);
  EXPECT_EQ(flight.handle, 2u);
}

}  // namespace
}  // namespace tidegauge::record
