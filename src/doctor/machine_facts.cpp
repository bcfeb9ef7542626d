// lookAtMachine(): reads what the kernel reports, and tries the rest.
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <linux/bpf.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>

#include "doctor/doctor.h"
#include "record/kernel/programs.h"
#include "record/process/cgroup.h"
#include "record/process/running_process.h"

// A function of this program as the target of a probe; nothing calls it.
extern "C" __attribute__((noinline, used, visibility("default"))) int tidegauge_probe_target(
    int x) {
  asm volatile("" : "+r"(x));
  return x + 1;
}

namespace tidegauge::doctor {
namespace {

std::string lineOf(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "none [integrity] confidentiality" → "integrity"
std::string chosenOf(std::string_view line) {
  size_t begin = line.find('['), end = line.find(']');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
  return std::string(line.substr(begin + 1, end - begin - 1));
}

uint64_t effectiveCapabilities() {
  std::ifstream file("/proc/self/status");
  constexpr std::string_view kKey = "CapEff:\t";
  uint64_t bits = 0;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(kKey))
      std::from_chars(line.data() + kKey.size(), line.data() + line.size(), bits, 16);
  return bits;
}

// A probe on a function of this program, entry and return, attached as a recorder does.
Trial tryProbes(const record::Programs& programs) {
  auto address = reinterpret_cast<uint64_t>(&tidegauge_probe_target);
  for (const record::Mapping& mapping :
       record::executableMappings(static_cast<uint32_t>(getpid()))) {
    if (address < mapping.start || address >= mapping.end) continue;
    uint64_t offset = address - mapping.start + mapping.offset;
    for (bool at_return : {false, true}) {
      const char* program = at_return ? "memory_exit" : "memory_enter";
      int link = programs.attachMany(program, "/proc/self/exe", {offset}, {0}, at_return);
      if (link < 0) return {false, std::strerror(-link)};
      close(link);
    }
    return {true, {}};
  }
  return {false, "this program does not find itself in /proc/self/maps"};
}

// Reads NVML's own numbers; creates no CUDA context.
void askNvml(MachineFacts& facts) {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    facts.nvml_problem = "there is no libnvidia-ml.so.1";
    return;
  }
  auto find = [&]<class F>(const char* symbol, F& function) {
    function = reinterpret_cast<F>(dlsym(library, symbol));
    return function != nullptr;
  };
  int (*begin)() = nullptr;
  int (*end)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  const char* (*words)(int) = nullptr;
  if (!find("nvmlInit_v2", begin) || !find("nvmlShutdown", end) ||
      !find("nvmlDeviceGetCount_v2", count)) {
    facts.nvml_problem = "libnvidia-ml.so.1 lacks functions";
  } else if (int code = begin(); code != 0) {
    facts.nvml_problem = "NVML reports: ";
    facts.nvml_problem += find("nvmlErrorString", words) ? words(code) : "an error";
  } else {
    unsigned devices = 0;
    if (count(&devices) == 0)
      facts.nvml_devices = devices;
    else
      facts.nvml_problem = "NVML does not report the number of devices";
    end();
  }
  dlclose(library);
}

}  // namespace

MachineFacts lookAtMachine() {
  MachineFacts facts;
  utsname system{};
  if (uname(&system) == 0) facts.kernel_release = system.release;
  facts.has_type_information = access("/sys/kernel/btf/vmlinux", R_OK) == 0;
  facts.lockdown = chosenOf(lineOf("/sys/kernel/security/lockdown"));
  facts.capabilities = effectiveCapabilities();
  facts.cgroup_mount = record::mountOfCgroup2();
  facts.has_semaphores =
      access("/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset", R_OK) == 0;
  facts.own_pid_namespace = record::isInOwnPidNamespace();
  askNvml(facts);
  auto programs = record::Programs::load({});
  if (programs.ok()) {
    facts.programs.works = true;
    facts.probes = tryProbes(programs.value());
    facts.links_many = programs.value().linksMany();
  } else {
    facts.programs.why_not = programs.error().what;
    // Without privileges, the answer would be "no" on any kernel.
    auto answer = [](int code) { return code < 0 ? std::nullopt : std::optional(code > 0); };
    constexpr uint64_t kEither = uint64_t{1} << 39 | uint64_t{1} << 21;  // CAP_BPF, CAP_SYS_ADMIN
    if ((facts.capabilities & kEither) != 0) {
      facts.ring_buffers = answer(libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, nullptr));
      facts.kernel_tracing = answer(libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_TRACING, nullptr));
    }
  }
  return facts;
}

}  // namespace tidegauge::doctor
