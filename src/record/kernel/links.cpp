#include "record/kernel/links.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

namespace tidegauge::record {
namespace {

constexpr uint32_t kUprobeMultiReturn = 1;
constexpr int kPerfCounterBit = 32;  // "config:32-63", since Linux 4.20

// The number of uprobes in perf, or −1.
int perfTypeOfUprobes() {
  std::ifstream file("/sys/bus/event_source/devices/uprobe/type");
  int type = -1;
  return file >> type ? type : -1;
}

// "config:0": the bit that selects returns.
int perfBitOfReturns() {
  std::ifstream file("/sys/bus/event_source/devices/uprobe/format/retprobe");
  std::string text;
  int bit = 0;
  return std::getline(file, text, ':') && file >> bit && bit >= 0 && bit < 64 ? bit : 0;
}

}  // namespace

bool kernelLinksMany() {
  static const bool answer = [] {
    const bpf_insn nothing[] = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0},
                                {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
    bpf_prog_load_opts options{};
    options.sz = sizeof(options);
    options.expected_attach_type = static_cast<bpf_attach_type>(kUprobeMulti);
    int program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, nullptr, "GPL", nothing, 2, &options);
    if (program < 0) return false;
    // A folder cannot be probed (EBADF); a kernel without this link returns EINVAL.
    int link = linkMany(program, "/", {0}, {0}, false);
    close(program);
    return link == -EBADF;
  }();
  return answer;
}

int linkMany(int program, const std::string& path, const std::vector<uint64_t>& offsets,
             const std::vector<uint64_t>& cookies, bool at_return,
             const std::vector<uint64_t>& counters) {
  // The kernel's union bpf_attr, part link_create.uprobe_multi (Linux 6.6), written out.
  struct {
    uint32_t program, target, attach_type, flags;
    uint64_t path, offsets, reference_counters, cookies;
    uint32_t count, multi_flags, pid, padding;
  } attributes{};
  attributes.program = static_cast<uint32_t>(program);
  attributes.attach_type = kUprobeMulti;
  attributes.path = reinterpret_cast<uint64_t>(path.c_str());
  attributes.offsets = reinterpret_cast<uint64_t>(offsets.data());
  if (!counters.empty())
    attributes.reference_counters = reinterpret_cast<uint64_t>(counters.data());
  attributes.cookies = reinterpret_cast<uint64_t>(cookies.data());
  attributes.count = static_cast<uint32_t>(offsets.size());
  attributes.multi_flags = at_return ? kUprobeMultiReturn : 0;
  long descriptor = syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof(attributes));
  return descriptor < 0 ? -errno : static_cast<int>(descriptor);
}

int linkOne(int program, const std::string& path, uint64_t offset, uint64_t cookie, bool at_return,
            uint64_t counter) {
  static const int type = perfTypeOfUprobes();
  static const int return_bit = perfBitOfReturns();
  if (type < 0) return -ENOTSUP;
  perf_event_attr event{};
  event.size = sizeof(event);
  event.type = static_cast<uint32_t>(type);
  event.config = at_return ? uint64_t{1} << return_bit : 0;
  event.config |= counter << kPerfCounterBit;
  event.config1 = reinterpret_cast<uint64_t>(path.c_str());
  event.config2 = offset;
  // Every process, and so every processor, although perf needs one named.
  long perf = syscall(SYS_perf_event_open, &event, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
  if (perf < 0) return -errno;
  bpf_link_create_opts options{};
  options.sz = sizeof(options);
  options.perf_event.bpf_cookie = cookie;
  int link = bpf_link_create(program, static_cast<int>(perf), BPF_PERF_EVENT, &options);
  int why = link < 0 ? link : 0;
  close(static_cast<int>(perf));  // the link keeps it open
  return why < 0 ? why : link;
}

}  // namespace tidegauge::record
