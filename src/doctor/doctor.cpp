#include "doctor/doctor.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "base/format.h"

namespace tidegauge::doctor {
namespace {

struct Capability {
  unsigned bit;
  std::string_view name, means;
  Verdict without;
};
// linux/capability.h. CAP_SYS_ADMIN includes the first two.
constexpr unsigned kSysAdmin = 21;
constexpr std::array<Capability, 3> kCapabilities = {{
    {39, "CAP_BPF", "BPF programs cannot be loaded", Verdict::kMissing},
    {38, "CAP_PERFMON", "probes cannot be attached", Verdict::kMissing},
    {19, "CAP_SYS_PTRACE",
     "record cannot watch processes of other users, because it cannot see which libraries they map",
     Verdict::kLimited},
}};

std::pair<unsigned, unsigned> versionOf(std::string_view release) {
  unsigned major = 0, minor = 0;
  auto [dot, error] = std::from_chars(release.data(), release.data() + release.size(), major);
  if (error == std::errc() && dot != release.data() + release.size() && *dot == '.')
    std::from_chars(dot + 1, release.data() + release.size(), minor);
  return {major, minor};
}

bool attaches(const MachineFacts& facts) { return facts.probes && facts.probes->works; }

Finding kernel(const MachineFacts& facts) {
  Finding it{Verdict::kOk, "kernel", "Linux " + facts.kernel_release, {}, {}};
  auto version = versionOf(facts.kernel_release);
  if (attaches(facts) || version >= std::pair{6U, 1U}) return it;
  it.verdict = Verdict::kMissing;
  it.means = version < std::pair{5U, 8U} ? "this kernel has no ring buffers for BPF"
                                         : "its probes lack functions that the recorder needs";
  it.remedy = "Use Linux 6.1 or newer; 6.6 and newer attach all probes at once";
  return it;
}

Finding typeInformation(const MachineFacts& facts) {
  Finding it{Verdict::kOk, "type information", "/sys/kernel/btf/vmlinux", {}, {}};
  if (facts.has_type_information) return it;
  return {
      Verdict::kMissing, it.what, "no /sys/kernel/btf/vmlinux",
      "the BPF programs cannot be adapted to this kernel",
      "Use a kernel built with CONFIG_DEBUG_INFO_BTF, such as those of all large distributions"};
}

Finding lockdown(const MachineFacts& facts) {
  Finding it{
      Verdict::kOk, "lockdown", facts.lockdown.empty() ? "not reported" : facts.lockdown, {}, {}};
  if (facts.lockdown != "confidentiality") return it;
  it.verdict = facts.programs.works ? Verdict::kLimited : Verdict::kMissing;
  it.means = "BPF programs may not read memory of the kernel";
  it.remedy = "Boot with lockdown=integrity, or without lockdown";
  return it;
}

Finding capability(const MachineFacts& facts, const Capability& wanted) {
  auto has = [&](unsigned bit) { return (facts.capabilities >> bit & 1) != 0; };
  Finding it{Verdict::kOk, std::string(wanted.name), "held", {}, {}};
  if (has(wanted.bit)) return it;
  if (wanted.without == Verdict::kMissing && has(kSysAdmin)) {
    it.found = "held, by CAP_SYS_ADMIN";
    return it;
  }
  it.verdict = wanted.without;
  it.found = "not held";
  it.means = wanted.means;
  it.remedy = "Run as root, or: setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep on this program";
  return it;
}

// For what could not be tried: what is known, and how to find out. `since` is the first Linux that
// has it.
Finding untried(const MachineFacts& facts, std::string what, std::pair<unsigned, unsigned> since) {
  bool expected = versionOf(facts.kernel_release) >= since;
  return {Verdict::kLimited, std::move(what),
          fmt::format("not tested; Linux {}.{} and newer have it", since.first, since.second),
          fmt::format("on {} it {}", facts.kernel_release,
                      expected ? "should work" : "is unlikely to work"),
          "Run tidegauge doctor as root to test it"};
}

Finding trial(const MachineFacts& facts, std::string what, std::string found,
              const std::optional<Trial>& trial, std::pair<unsigned, unsigned> since,
              std::string means, std::string remedy) {
  if (!trial) return untried(facts, std::move(what), since);
  if (trial->works) return {Verdict::kOk, std::move(what), std::move(found), {}, {}};
  return {Verdict::kMissing, std::move(what), trial->why_not, std::move(means), std::move(remedy)};
}

std::optional<Trial> asked(const MachineFacts& facts, const std::optional<bool>& answer) {
  if (facts.programs.works) return Trial{true, {}};
  if (!answer) return std::nullopt;
  return Trial{*answer, "the kernel refuses it"};
}

Finding processNumbers(const MachineFacts& facts) {
  if (!facts.own_pid_namespace)
    return {Verdict::kOk, "process numbers", "those of the kernel", {}, {}};
  return {Verdict::kMissing, "process numbers",
          "this program is in its own PID namespace, as in a container",
          "processes have other PIDs than in the kernel and cannot be distinguished",
          "Run it outside, or in a container with --pid=host (Kubernetes: hostPID: true)"};
}

Finding links(const MachineFacts& facts) {
  if (facts.links_many.value_or(false))
    return {Verdict::kOk, "uprobe_multi", "one link can attach many functions", {}, {}};
  if (!facts.links_many) return untried(facts, "uprobe_multi", {6, 6});
  return {Verdict::kLimited, "uprobe_multi", "this kernel does not have it",
          "each function needs its own link, so a recording takes seconds to start and to stop",
          "Use Linux 6.6 or newer"};
}

Finding semaphores(const MachineFacts& facts) {
  if (facts.has_semaphores)
    return {Verdict::kOk, "probes of PyTorch", "the kernel can enable them", {}, {}};
  return {Verdict::kLimited, "probes of PyTorch", "the kernel cannot enable them",
          "record cannot see blocks inside PyTorch's segments",
          "Use a kernel with CONFIG_UPROBE_EVENTS (perf's uprobe event source)"};
}

Finding cgroup(const MachineFacts& facts) {
  if (!facts.cgroup_mount.empty()) return {Verdict::kOk, "cgroup v2", facts.cgroup_mount, {}, {}};
  return {Verdict::kLimited, "cgroup v2", "not mounted", "--cgroup does not work",
          "Use -p, --comm or --all; or mount -t cgroup2 none /sys/fs/cgroup"};
}

Finding nvml(const MachineFacts& facts) {
  if (facts.nvml_devices)
    return {Verdict::kOk, "NVML", base::counted(*facts.nvml_devices, "device"), {}, {}};
  return {Verdict::kLimited, "NVML", facts.nvml_problem,
          "record cannot compare the totals of the device with the recorded memory",
          "libnvidia-ml.so.1 comes with NVIDIA's driver"};
}

}  // namespace

std::string_view name(Verdict verdict) {
  return verdict == Verdict::kOk ? "ok" : verdict == Verdict::kLimited ? "limited" : "missing";
}

std::vector<Finding> judge(const MachineFacts& facts) {
  std::vector<Finding> all = {kernel(facts), typeInformation(facts), lockdown(facts)};
  for (const Capability& wanted : kCapabilities) all.push_back(capability(facts, wanted));
  all.push_back(trial(facts, "ring buffers", "work", asked(facts, facts.ring_buffers), {5, 8},
                      "calls cannot be passed to the recorder", "Use Linux 5.8 or newer"));
  all.push_back(trial(facts, "tp_btf", "works", asked(facts, facts.kernel_tracing), {5, 5},
                      "record cannot see starts and ends of processes",
                      "Use Linux 5.5 or newer, built with CONFIG_DEBUG_INFO_BTF"));
  all.push_back(processNumbers(facts));
  all.push_back(trial(facts, "BPF programs", "loaded and removed again", facts.programs, {6, 1},
                      "nothing can be recorded", "First fix what is missing above"));
  all.push_back(trial(facts, "probes", "attached and removed again", facts.probes, {6, 1},
                      "functions of libraries cannot be watched", "Use Linux 6.6 or newer"));
  all.push_back(links(facts));
  all.push_back(semaphores(facts));
  all.push_back(cgroup(facts));
  all.push_back(nvml(facts));
  return all;
}

bool canRecord(const MachineFacts& facts) {
  return facts.programs.works && attaches(facts) && !facts.own_pid_namespace;
}

}  // namespace tidegauge::doctor
