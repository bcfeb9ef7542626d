#include "other_probes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "record/code/elf_file.h"

namespace tidegauge::bench {
namespace {

constexpr int kUprobeMulti = 48;  // BPF_TRACE_UPROBE_MULTI

int drop(void* count, void*, size_t) {
  *static_cast<uint64_t*>(count) += 1;
  return 0;
}
uint64_t records = 0;

}  // namespace

uint64_t offsetOf(const std::string& path, std::string_view name) {
  auto file = record::ElfFile::open(path);
  if (!file.ok()) exit(1);
  auto found = file.value().functions({name});
  if (found.empty()) exit(1);
  return found.begin()->second;
}

EmptyProbes::EmptyProbes(const std::string& path, const std::vector<std::string_view>& names,
                         bool returns) {
  const bpf_insn code[] = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0},
                           {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
  bpf_prog_load_opts options{};
  options.sz = sizeof(options);
  options.expected_attach_type = static_cast<bpf_attach_type>(kUprobeMulti);
  program_ = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "empty", "GPL", code, 2, &options);
  auto file = record::ElfFile::open(path);
  if (program_ < 0 || !file.ok()) exit(1);
  std::vector<uint64_t> offsets;
  for (const auto& [name, offset] : file.value().functions(names))
    offsets.push_back(offset + record::probeSkip(file.value().bytesAt(offset, 16)));
  attach(path, offsets, 0);
  if (returns) attach(path, offsets, 1);
}

EmptyProbes::~EmptyProbes() {
  for (int link : links_) close(link);
  close(program_);
}
void EmptyProbes::attach(const std::string& path, const std::vector<uint64_t>& offsets,
                         uint32_t flags) {
  struct {  // link_create.uprobe_multi of union bpf_attr
    uint32_t program, target, attach_type, flags;
    uint64_t path, offsets, counters, cookies;
    uint32_t count, multi_flags, pid, padding;
  } it{};
  it.program = static_cast<uint32_t>(program_);
  it.attach_type = kUprobeMulti;
  it.path = reinterpret_cast<uint64_t>(path.c_str());
  it.offsets = reinterpret_cast<uint64_t>(offsets.data());
  it.count = static_cast<uint32_t>(offsets.size());
  it.multi_flags = flags;
  auto link = static_cast<int>(syscall(SYS_bpf, BPF_LINK_CREATE, &it, sizeof(it)));
  if (link < 0) {
    fmt::print(stderr, "empty probe: {}\n", std::strerror(errno));
    exit(1);
  }
  links_.push_back(link);
}

PublishedProbes::PublishedProbes(const std::string& path, const Names& names, uint32_t pid)
    : pid_(pid) {
  object_ = bpf_object__open_file(TIDEGAUGE_BENCH_PUBLISHED, nullptr);
  if (object_ == nullptr || bpf_object__load(object_) != 0) {
    fmt::print(stderr, "{}: {}\n", TIDEGAUGE_BENCH_PUBLISHED, std::strerror(errno));
    exit(1);
  }
  rings_ = ring_buffer__new(bpf_object__find_map_fd_by_name(object_, "launches"), drop, &records,
                            nullptr);
  ring_buffer__add(rings_, bpf_object__find_map_fd_by_name(object_, "allocations"), drop, &records);
  attach("allocate_enter", path, offsetOf(path, names.allocate), false);
  attach("allocate_exit", path, offsetOf(path, names.allocate), true);
  attach("free_enter", path, offsetOf(path, names.release), false);
  attach("free_exit", path, offsetOf(path, names.release), true);
  attach("launch_enter", path, offsetOf(path, names.launch), false);
}

PublishedProbes::~PublishedProbes() {
  detach();
  ring_buffer__free(rings_);
  bpf_object__close(object_);
}

void PublishedProbes::attachMore(const std::string& path,
                                 const std::vector<std::string_view>& names) {
  for (std::string_view name : names) {
    attach("allocate_enter", path, offsetOf(path, name), false);
    attach("allocate_exit", path, offsetOf(path, name), true);
  }
}

void PublishedProbes::read(int timeout_ms) { ring_buffer__poll(rings_, timeout_ms); }

void PublishedProbes::detach() {
  for (bpf_link* link : links_) bpf_link__destroy(link);
  links_.clear();
}

void PublishedProbes::attach(const char* program, const std::string& path, uint64_t offset,
                             bool at_return) {
  bpf_link* link =
      bpf_program__attach_uprobe(bpf_object__find_program_by_name(object_, program), at_return,
                                 static_cast<pid_t>(pid_), path.c_str(), offset);
  if (link == nullptr) {
    fmt::print(stderr, "{}: {}\n", program, std::strerror(errno));
    exit(1);
  }
  links_.push_back(link);
}

}  // namespace tidegauge::bench
