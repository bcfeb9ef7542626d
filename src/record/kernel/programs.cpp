#include "record/kernel/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/bpf.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/memory/memory.h"
#include "record/kernel/functions.h"
#include "record/kernel/links.h"
#include "record/process/errors.h"

// The object, as bytes (cmake/bpf.cmake).
extern "C" const unsigned char tidegauge_bpf_object[];
extern "C" const unsigned char tidegauge_bpf_object_end[];

namespace tidegauge::record {
namespace {

constexpr uint32_t kMaxWholeKernels = 65536;
constexpr int kLeastMajor = 6, kLeastMinor = 1;

// Messages of libbpf are kept for the error, not printed.
thread_local std::string last_words;
int keepWords(libbpf_print_level level, const char* format, va_list arguments) {
  if (level > LIBBPF_WARN) return 0;
  std::array<char, 512> line{};
  int length = vsnprintf(line.data(), line.size(), format, arguments);
  if (length > 0 && last_words.size() < 4096) last_words += line.data();
  return length;
}

// "5.10" of "5.10.0-39-cloud-amd64"; empty: it is new enough.
std::string kernelIfTooOld() {
  utsname name{};
  int major = 0, minor = 0;
  if (uname(&name) != 0 || std::sscanf(name.release, "%d.%d", &major, &minor) != 2) return {};
  bool is_enough = major > kLeastMajor || (major == kLeastMajor && minor >= kLeastMinor);
  return is_enough ? std::string() : fmt::format("{}.{}", major, minor);
}

base::Error whyNot(int code) {
  if (code == EPERM || code == EACCES)
    return missing(
        "the kernel does not let this user load BPF programs",
        "Run as root (`record --sudo`), or with CAP_BPF and CAP_PERFMON; `tidegauge doctor` "
        "says what is missing; `record --preload` needs no privilege");
  if (std::string version = kernelIfTooOld(); !version.empty())
    return missing(fmt::format("Linux {} is too old to record with eBPF, which needs 6.1; here "
                               "`record --preload -- COMMAND` records without it",
                               version),
                   {});
  if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
    return missing("this kernel carries no type information (/sys/kernel/btf/vmlinux)",
                   "it must be built with CONFIG_DEBUG_INFO_BTF; `record --preload` needs none");
  return missing(
      fmt::format("the kernel refuses the BPF programs ({}): {}", std::strerror(code),
                  last_words.substr(0, 400)),
      "`tidegauge doctor` says what this machine allows; `record --preload` needs none of it");
}

uint16_t idOf(std::string_view name) {
  auto functions = watchedFunctions();
  for (size_t i = 0; i < functions.size(); ++i)
    if (functions[i].name == name) return static_cast<uint16_t>(i);
  return 0xffff;
}

}  // namespace

struct Programs::Handle {
  bpf_object* object = nullptr;
  std::vector<bpf_link*> links;
  void detach() {
    for (bpf_link* link : links) bpf_link__destroy(link);
    links.clear();
  }
  ~Handle() {
    detach();
    if (object != nullptr) bpf_object__close(object);
  }
};

Programs::Programs(std::unique_ptr<Handle> handle, bool links_many)
    : handle_(std::move(handle)), links_many_(links_many) {}
Programs::Programs(Programs&&) noexcept = default;
Programs& Programs::operator=(Programs&&) noexcept = default;
Programs::~Programs() = default;

base::Result<Programs> Programs::load(const ProgramSettings& wanted) {
  libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
  libbpf_set_print(keepWords);
  last_words.clear();
  auto handle = std::make_unique<Handle>();
  bpf_object_open_opts options{};
  options.sz = sizeof(options);
  options.object_name = "tidegauge";
  handle->object = bpf_object__open_mem(
      tidegauge_bpf_object, static_cast<size_t>(tidegauge_bpf_object_end - tidegauge_bpf_object),
      &options);
  if (handle->object == nullptr)
    return missing(
        fmt::format("the BPF object cannot be opened: {}{}", std::strerror(errno), last_words), {});
  recorder_settings settings{};
  settings.watched_cgroup = wanted.cgroup;
  settings.watched_cgroup_level = wanted.cgroup_level;
  settings.recorder_tgid = static_cast<uint32_t>(getpid());
  settings.launch_arguments = wanted.launch_arguments;
  settings.function_pytorch_malloc = idOf("pytorch_malloc");
  settings.function_pytorch_free = idOf("pytorch_free");
  settings.watch_all = wanted.watch_all;
  settings.take_stacks = wanted.take_stacks;
  settings.take_block_stacks = wanted.take_block_stacks;
  settings.follow_children = wanted.follow_children;
  settings.launch_events = wanted.launch_events;
  settings.whole_arguments = wanted.whole_arguments;
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, handle->object) {
    std::string_view name = bpf_map__name(map);
    if (name.ends_with(".rodata.settings"))
      bpf_map__set_initial_value(map, &settings, sizeof(settings));
    else if (name == "memory_ring")
      bpf_map__set_max_entries(map, wanted.ring_bytes);
    else if (name == "launch_ring" && wanted.launch_events)
      bpf_map__set_max_entries(map, wanted.whole_arguments ? 64U << 20 : 8U << 20);
    else if (name == "parameters_of" && wanted.whole_arguments)
      bpf_map__set_max_entries(map, kMaxWholeKernels);
    else if (!wanted.take_stacks && (name == "stack_ring" || name == "known_stacks"))
      bpf_map__set_max_entries(map, 4096);
  }
  bool links_many = !wanted.link_each && kernelLinksMany();
  base::allowManyFiles();  // links, and files of code; a command was started before
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, handle->object) {
    if (links_many && std::string_view(bpf_program__section_name(program)).starts_with("uprobe"))
      bpf_program__set_expected_attach_type(program, static_cast<bpf_attach_type>(kUprobeMulti));
  }
  if (int code = bpf_object__load(handle->object); code != 0) return whyNot(-code);
  bpf_object__for_each_program(program, handle->object) {
    if (!std::string_view(bpf_program__section_name(program)).starts_with("tp_btf")) continue;
    bpf_link* link = bpf_program__attach(program);
    if (link == nullptr) return whyNot(errno);
    handle->links.push_back(link);
  }
  return Programs(std::move(handle), links_many);
}

Capabilities neededToRecord(bool link_each) {
  bool many = !link_each && kernelLinksMany();
  return many ? kRecorderCapabilities : kRecorderCapabilities | kEachLinkCapabilities;
}

void Programs::detach() { handle_->detach(); }

bpf_program* Programs::program(const char* name) const {
  return bpf_object__find_program_by_name(handle_->object, name);
}

int Programs::mapDescriptor(const char* name) const {
  return bpf_object__find_map_fd_by_name(handle_->object, name);
}

int Programs::attachMany(const char* program_name, const std::string& path,
                         const std::vector<uint64_t>& offsets, const std::vector<uint64_t>& cookies,
                         bool at_return, const std::vector<uint64_t>& counters) const {
  int descriptor = bpf_program__fd(program(program_name));
  if (links_many_) return linkMany(descriptor, path, offsets, cookies, at_return, counters);
  if (offsets.size() != 1) return -E2BIG;
  return linkOne(descriptor, path, offsets[0], cookies[0], at_return,
                 counters.empty() ? 0 : counters[0]);
}

base::Status Programs::watchProcess(uint32_t tgid, bool may_stop) const {
  uint32_t flags = TARGET_WATCHED | (may_stop ? TARGET_MAY_STOP : 0);
  if (bpf_map_update_elem(mapDescriptor("targets"), &tgid, &flags, BPF_ANY) != 0)
    return limit(fmt::format("process {} cannot be watched: {}", tgid, std::strerror(errno)));
  return base::okStatus();
}

Losses Programs::losses() const {
  Losses sums{};
  int processors = libbpf_num_possible_cpus();
  if (processors <= 0) return sums;
  std::vector<uint64_t> values(static_cast<size_t>(processors));
  int map = mapDescriptor("losses");
  for (uint32_t what = 0; what < COUNT_KINDS; ++what) {
    if (bpf_map_lookup_elem(map, &what, values.data()) != 0) continue;
    for (uint64_t value : values) sums[what] += value;
  }
  return sums;
}

}  // namespace tidegauge::record
