// The stand-in libnvidia-ml.so.1: returns what the file in STANDIN_NVML contains, read at each
// call.
//
//   device NVIDIA-Stand-in 85899345920 3221225472     a device: its name, total and used bytes
//   link 5 16                                         its link: PCIe generation, lanes
//   process 4711 2147483648                           uses that much of the device above
//   fail nvmlDeviceGetMemoryInfo 15                   this function returns that code (GPU is lost)
//   hang nvmlDeviceGetCount_v2                        this one does not return
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Process {
  unsigned pid = 0;
  unsigned long long bytes = 0;
};
struct Device {
  std::string name;
  unsigned long long total = 0, used = 0;
  unsigned generation = 0, lanes = 0;  // of its link; 0: not said
  std::vector<Process> processes;
};
struct Said {
  std::vector<Device> devices;
  int code = 0;  // of the calling function
};

Said read(const char* function) {
  Said said;
  const char* path = std::getenv("STANDIN_NVML");
  std::ifstream file(path == nullptr ? "" : path);
  if (!file) said.code = 9;  // NVML_ERROR_DRIVER_NOT_LOADED
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string what, name;
    words >> what;
    if (what == "device") {
      Device device;
      words >> device.name >> device.total >> device.used;
      said.devices.push_back(device);
    } else if (what == "link" && !said.devices.empty()) {
      words >> said.devices.back().generation >> said.devices.back().lanes;
    } else if (what == "process" && !said.devices.empty()) {
      Process process;
      words >> process.pid >> process.bytes;
      said.devices.back().processes.push_back(process);
    } else if (what == "fail") {
      int code = 0;
      words >> name >> code;
      if (name == function) said.code = code;
    } else if (what == "hang") {
      words >> name;
      while (name == function) pause();
    }
  }
  return said;
}

// The handle of a device is its number + 1.
const Device* find(const Said& said, void* handle) {
  size_t number = reinterpret_cast<size_t>(handle);
  return number == 0 || number > said.devices.size() ? nullptr : &said.devices[number - 1];
}

int words(const char* function, void* handle, char* to, unsigned room, const char* before) {
  Said said = read(function);
  if (said.code != 0) return said.code;
  const Device* device = find(said, handle);
  if (device == nullptr) return 2;
  std::snprintf(to, room, "%s%s", before, device->name.c_str());
  return 0;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

struct Memory {
  unsigned long long total, free, used;
};
struct Info {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};

EXPORT int nvmlInit_v2() { return read("nvmlInit_v2").code; }
EXPORT int nvmlShutdown() { return 0; }
EXPORT const char* nvmlErrorString(int) { return "an error of the stand-in"; }
EXPORT int nvmlDeviceGetCount_v2(unsigned* count) {
  Said said = read("nvmlDeviceGetCount_v2");
  *count = static_cast<unsigned>(said.devices.size());
  return said.code;
}
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  *handle = reinterpret_cast<void*>(size_t{index} + 1);
  return read("nvmlDeviceGetHandleByIndex_v2").code;
}
EXPORT int nvmlDeviceGetName(void* device, char* name, unsigned room) {
  return words("nvmlDeviceGetName", device, name, room, "");
}
EXPORT int nvmlDeviceGetUUID(void* device, char* uuid, unsigned room) {
  return words("nvmlDeviceGetUUID", device, uuid, room, "GPU-");
}
EXPORT int nvmlDeviceGetMemoryInfo(void* handle, Memory* memory) {
  Said said = read("nvmlDeviceGetMemoryInfo");
  const Device* device = find(said, handle);
  if (said.code != 0 || device == nullptr) return said.code != 0 ? said.code : 2;
  *memory = {device->total, device->total - device->used, device->used};
  return 0;
}
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void* handle, unsigned* count, Info* infos) {
  Said said = read("nvmlDeviceGetComputeRunningProcesses_v3");
  const Device* device = find(said, handle);
  if (said.code != 0 || device == nullptr) return said.code != 0 ? said.code : 2;
  unsigned room = *count;
  *count = static_cast<unsigned>(device->processes.size());
  if (*count > room) return 7;
  for (unsigned i = 0; i < *count; ++i)
    infos[i] = {device->processes[i].pid, device->processes[i].bytes, ~0U, ~0U};
  return 0;
}

namespace {
int link(const char* function, void* handle, unsigned Device::*figure, unsigned* value) {
  Said said = read(function);
  const Device* device = find(said, handle);
  if (said.code != 0 || device == nullptr) return said.code != 0 ? said.code : 2;
  *value = device->*figure;
  return *value == 0 ? 3 : 0;  // NVML_ERROR_NOT_SUPPORTED
}
}  // namespace
EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(void* device, unsigned* value) {
  return link("nvmlDeviceGetMaxPcieLinkGeneration", device, &Device::generation, value);
}
EXPORT int nvmlDeviceGetMaxPcieLinkWidth(void* device, unsigned* value) {
  return link("nvmlDeviceGetMaxPcieLinkWidth", device, &Device::lanes, value);
}
