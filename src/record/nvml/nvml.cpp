#include "record/nvml/nvml.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/sizes.h"
#include "record/kernel/even_clock.h"

namespace tidegauge::record {
namespace {

constexpr int kSuccess = 0;
constexpr int kTooSmall = 7;                      // NVML_ERROR_INSUFFICIENT_SIZE
constexpr uint64_t kNotAvailable = ~uint64_t{0};  // NVML_VALUE_NOT_AVAILABLE
constexpr size_t kFirstRoom = 64;
constexpr unsigned kMaxLinkFigure = 64;  // more generations or lanes cannot be
constexpr int kMaxTries = 4;             // processes may come while there is being asked
constexpr std::chrono::milliseconds kWaitAtEnd{200};

// Of nvml.h, as it has been since version 2 of these functions.
using Device = void*;
struct MemoryInfo {
  unsigned long long total, free, used;
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

struct NvmlLibrary {
  int (*begin)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, Device*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*memory)(Device, MemoryInfo*) = nullptr;
  int (*processes)(Device, unsigned*, ProcessInfo*) = nullptr;
  int (*generation)(Device, unsigned*) = nullptr;
  int (*lanes)(Device, unsigned*) = nullptr;

  // Stays loaded: a thread may be inside it at the end.
  bool load() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    auto find = [&]<class F>(const char* symbol, F& function) {
      if (function == nullptr) function = reinterpret_cast<F>(dlsym(library, symbol));
      return function != nullptr;
    };
    find("nvmlDeviceGetName", name);
    find("nvmlDeviceGetUUID", uuid);
    find("nvmlDeviceGetMemoryInfo", memory);
    // An idle device lowers its current generation: the highest one counts.
    find("nvmlDeviceGetMaxPcieLinkGeneration", generation);
    find("nvmlDeviceGetMaxPcieLinkWidth", lanes);
    if (!find("nvmlDeviceGetComputeRunningProcesses_v3", processes))
      find("nvmlDeviceGetComputeRunningProcesses_v2", processes);
    return find("nvmlInit_v2", begin) && find("nvmlDeviceGetCount_v2", count) &&
           find("nvmlDeviceGetHandleByIndex_v2", handle);
  }
};

std::string text(int (*ask)(Device, char*, unsigned), Device device) {
  char words[97] = {};
  if (ask == nullptr || ask(device, words, sizeof(words) - 1) != kSuccess) return {};
  return words;
}

uint32_t number(int (*ask)(Device, unsigned*), Device device) {
  unsigned value = 0;
  if (ask == nullptr || ask(device, &value) != kSuccess || value > kMaxLinkFigure) return 0;
  return value;
}

std::optional<std::vector<ProcessUse>> processesOf(const NvmlLibrary& library, Device device) {
  if (library.processes == nullptr) return std::nullopt;
  std::vector<ProcessInfo> infos(kFirstRoom);
  for (int i = 0; i < kMaxTries; ++i) {
    unsigned count = static_cast<unsigned>(infos.size());
    int code = library.processes(device, &count, infos.data());
    if (code == kTooSmall && infos.size() < kMaxDeviceProcesses) {
      infos.resize(std::min<size_t>(kMaxDeviceProcesses, size_t{count} + kFirstRoom));
      continue;
    }
    if (code != kSuccess || count > infos.size()) return std::nullopt;
    std::map<uint32_t, uint64_t> by_pid;  // a process in several instances is there several times
    for (size_t row = 0; row < count; ++row) {
      const ProcessInfo& info = infos[row];
      static_assert(kNotAvailable > base::kMaxSizeBytes);
      if (info.used_bytes > base::kMaxSizeBytes) continue;
      by_pid[info.pid] += info.used_bytes;
    }
    std::vector<ProcessUse> uses;
    uses.reserve(by_pid.size());
    for (const auto& [pid, bytes] : by_pid) uses.push_back({pid, bytes});
    return uses;
  }
  return std::nullopt;
}

DeviceSample look(const NvmlLibrary& library) {
  DeviceSample sample;
  sample.time_ns = evenClock().now_ns();
  unsigned count = 0;
  if (library.count(&count) != kSuccess) return sample;
  for (unsigned i = 0; i < count && i < kMaxDevices; ++i) {
    Device device = nullptr;
    if (library.handle(i, &device) != kSuccess) continue;
    DeviceUse use;
    use.device = static_cast<int32_t>(i);
    use.name = text(library.name, device);
    use.uuid = text(library.uuid, device);
    MemoryInfo memory{};
    if (library.memory != nullptr && library.memory(device, &memory) == kSuccess &&
        memory.total <= base::kMaxSizeBytes && memory.used <= memory.total) {
      use.total_bytes = memory.total;
      use.used_bytes = memory.used;
    }
    use.pcie_generation = number(library.generation, device);
    use.pcie_lanes = number(library.lanes, device);
    use.processes = processesOf(library, device);
    sample.devices.push_back(std::move(use));
  }
  return sample;
}

}  // namespace

struct Nvml::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  bool stop = false, has_ended = false;
  std::optional<DeviceSample> newest;

  // On its own thread, which may outlive the Nvml: it touches nothing else.
  void run(std::chrono::milliseconds every) {
    NvmlLibrary library;
    bool works = library.load() && library.begin() == kSuccess;
    std::unique_lock lock(mutex);
    while (works && !stop) {
      lock.unlock();
      DeviceSample sample = look(library);
      lock.lock();
      if (!sample.devices.empty()) newest = std::move(sample);
      changed.wait_for(lock, every, [&] { return stop; });
    }
    has_ended = true;
    changed.notify_all();
  }
};

Nvml::Nvml(std::chrono::milliseconds every) : shared_(std::make_shared<Shared>()) {
  evenClock();  // made here, not on two threads at once
  // Signals are for the recorder's own thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([shared = shared_, every] { shared->run(every); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// NVML is not shut down: the process ends, or asks again, and its own thread may still be in it.
Nvml::~Nvml() {
  std::unique_lock lock(shared_->mutex);
  shared_->stop = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kWaitAtEnd, [&] { return shared_->has_ended; });
}

std::optional<DeviceSample> Nvml::take() {
  std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->newest, std::nullopt);
}

}  // namespace tidegauge::record
