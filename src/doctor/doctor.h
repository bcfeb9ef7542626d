// Doctor: what a recorder can do on this machine, and how to get the rest.
//
//   MachineFacts facts = lookAtMachine();     // reads, tries, cleans up
//   for (const Finding& it : judge(facts)) …  // {kMissing, "CAP_BPF", "not held", …}
//
// Facts and judgement are separate, so that the judgement is tested for other machines. Everything
// that can be tried is tried: the programs are loaded, and one of them is attached to a function of
// this program for some milliseconds. Nothing stays in the kernel. Cost: about half a second.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/kernel/functions.h"
#include "record/process/process_maps.h"

namespace tidegauge::doctor {

// A trial on this kernel. Absent: not possible, because something before it failed.
struct Trial {
  bool works = false;
  std::string why_not;  // in the kernel's or libbpf's words
};

struct MachineFacts {
  std::string kernel_release;         // "6.18.44"
  bool has_type_information = false;  // /sys/kernel/btf/vmlinux
  std::string lockdown;               // "none", "integrity", "confidentiality"; empty: not reported
  uint64_t capabilities = 0;          // effective, as bits
  Trial programs;                     // all programs of bpf/ loaded, processes watched
  std::optional<Trial> probes;        // a probe attached to a function of this program
  // one link for many functions (uprobe_multi); absent: not tried
  std::optional<bool> links_many;
  std::optional<bool> ring_buffers;      // asked from the kernel if the programs did not load
  std::optional<bool> kernel_tracing;    // tp_btf, same
  bool has_semaphores = false;           // of USDT probes: the kernel counts them up
  std::string cgroup_mount;              // of cgroup v2; empty: none
  bool own_pid_namespace = false;        // processes have other numbers here than in the kernel
  std::optional<uint32_t> nvml_devices;  // none: no NVML
  std::string nvml_problem;              // "NVML is there and says: Driver Not Loaded"
};

MachineFacts lookAtMachine();

enum class Verdict : uint8_t { kOk, kLimited, kMissing };
std::string_view name(Verdict verdict);  // "ok", "limited", "missing"

struct Finding {
  Verdict verdict = Verdict::kOk;
  std::string what;    // "CAP_BPF"
  std::string found;   // "held"
  std::string means;   // what does not work; empty if all works
  std::string remedy;  // how to get it
};

std::vector<Finding> judge(const MachineFacts& facts);
// Everything that a recording needs was tried, and worked.
bool canRecord(const MachineFacts& facts);

// ---- libraries ----------------------------------------------------------------------------------

struct ExaminedLibrary {
  std::string path;
  record::Library kind = record::Library::kDriver;
  size_t functions = 0;   // watched ones that it defines; for PyTorch: its probes
  size_t known = 0;       // functions that such a library may define
  size_t after_stub = 0;  // begin with a stub, so that probes attach after it (elf_file.h)
  size_t processes = 0;   // processes that map it now
  std::string problem;    // "cannot be read: …"
  size_t locked = 0;      // functions without a probe: they begin with a lock prefix
};

// Examines one file, opened at `path` and reported as `shown`. Absent if it is of no watched kind,
// or a program without CUDA.
std::optional<ExaminedLibrary> examineLibrary(const std::string& path, const std::string& shown,
                                              bool is_program = false);
// Libraries that the dynamic loader knows, in LD_LIBRARY_PATH, in running processes, and `more`.
// Each file once, by kind and path.
std::vector<ExaminedLibrary> findLibraries(const std::vector<std::string>& more);
std::vector<Finding> judge(const std::vector<ExaminedLibrary>& libraries);

// "…/libcuda.so.1" from the output of `ldconfig -p`: paths of watched libraries.
std::vector<std::string> librariesOfLoader(std::string_view list);

}  // namespace tidegauge::doctor
