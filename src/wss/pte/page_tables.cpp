#include "wss/pte/page_tables.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "wss/pages/huge_pages.h"
#include "wss/pages/linear_map.h"
#include "wss/pages/own_page.h"
#include "wss/pte/bpf_loader.h"

// The object, and the program that loads it, as bytes (cmake/bpf.cmake).
extern "C" const unsigned char tidegauge_page_tables_object[];
extern "C" const unsigned char tidegauge_page_tables_object_end[];
extern "C" const unsigned char tidegauge_page_tables_loader[];
extern "C" const unsigned char tidegauge_page_tables_loader_end[];

namespace tidegauge::wss {
namespace {

constexpr uint64_t kFrameBits = (uint64_t{1} << 55) - 1;  // in an entry of pagemap
// This process's page tables are somewhere in memory: the map begins at most this far below them.
constexpr uint64_t kMaxGiB = 65536;
// Per run: 256 KiB, which are still in the core's caches when they are summed.
constexpr size_t kWholeTables = 64;
static_assert(kWholeTables <= PAGE_TABLES_HELD);

// Its frame number; 0: hidden without CAP_SYS_ADMIN.
uint64_t frameOf(const OwnPage& page) { return page.pagemapEntry().value_or(0) & kFrameBits; }

base::Error missing(std::string what, std::string hint) {
  return {base::ErrorKind::kMissingFeature, std::move(what), std::nullopt, std::move(hint)};
}

// In the order that the build gives make_bpf_loader.
constexpr std::array<const char*, kLoadedMaps> kMapNames{"request", "wanted", "kinds", "tables"};

base::Status checkPages() {
  long page_bytes = sysconf(_SC_PAGESIZE);
  if (page_bytes == kPage) return base::okStatus();
  return missing(
      fmt::format(
          "the kernel has pages of {} KiB, and wss reads only page tables with pages of 4 KiB",
          page_bytes / 1024),
      "Use --backend smaps");
}

int keepQuiet(libbpf_print_level, const char*, va_list) { return 0; }

// Memory of a map, shared with the program.
template <class Value>
class Shared {
 public:
  Shared() = default;
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() {
    if (values_ != nullptr) munmap(values_, bytes_);
  }
  bool open(int map, size_t count) {
    auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    bytes_ = (count * sizeof(Value) + page - 1) / page * page;
    void* at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
    if (at != MAP_FAILED) values_ = static_cast<Value*>(at);
    return values_ != nullptr;
  }
  Value& operator[](size_t i) { return values_[i]; }

 private:
  Value* values_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace

struct PageTables::Handle {
  bpf_object* object = nullptr;  // if libbpf loaded it: it owns the descriptors
  LoadedProgram loaded;
  int link = -1;
  pid_t link_pid = 0;
  Shared<page_tables_request> request;
  Shared<uint64_t> wanted, kinds;
  Shared<page_table> tables;
  page_table part;  // entries of one, at their positions
  HugeZero huge_zero;

  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    closeLink();
    bpf_object__close(object);
    if (object != nullptr) return;
    for (int file :
         {loaded.maps[0], loaded.maps[1], loaded.maps[2], loaded.maps[3], loaded.program})
      if (file >= 0) close(file);
  }

  void closeLink() {
    if (link >= 0) close(std::exchange(link, -1));
  }

  // For this process only, if the kernel supports that (6.1); else it visits all.
  bool linkTo(pid_t pid) {
    if (link >= 0 && link_pid == pid) return true;
    closeLink();
    bpf_iter_link_info info{};
    info.task.tid = static_cast<uint32_t>(pid);
    bpf_link_create_opts options{};
    options.sz = sizeof(options);
    options.iter_info = &info;
    options.iter_info_len = sizeof(info);
    link = bpf_link_create(loaded.program, 0, BPF_TRACE_ITER, &options);
    if (link < 0) link = bpf_link_create(loaded.program, 0, BPF_TRACE_ITER, nullptr);
    link_pid = pid;
    return link >= 0;
  }

  // One run of the program over the requests; returns how many it processed.
  std::optional<uint32_t> run(pid_t pid, uint32_t count) {
    if (!linkTo(pid)) return std::nullopt;
    request[0].pid = static_cast<uint32_t>(pid);
    request[0].count = count;
    request[0].done = 0;
    int iterator = bpf_iter_create(link);
    if (iterator < 0) return std::nullopt;
    std::array<char, 64> unused{};
    while (::read(iterator, unused.data(), unused.size()) > 0) {
    }
    close(iterator);
    return request[0].done;
  }

  const page_table& tableOf(size_t i, page_table_part what, page_table_kind kind,
                            uint64_t address) {
    size_t entries = page_table_part_entries(what), at = i * entries;
    if (entries == PAGE_TABLE_ENTRIES) return tables[i];
    const __u64* from = &tables[at / PAGE_TABLE_ENTRIES].entry[at % PAGE_TABLE_ENTRIES];
    size_t to = address / kPage % PAGE_TABLE_ENTRIES / entries * entries;
    if (kind != PAGE_TABLE_OF_PAGES)
      part.entry[0] = *from;
    else
      std::copy_n(from, entries, part.entry + to);
    return part;
  }

  bool leadsTo(const OwnPage& page) {
    auto done = run(getpid(), 1);
    if (!done || *done != 1 || kinds[0] != PAGE_TABLE_OF_PAGES) return false;
    uint64_t entry = tables[0].entry[page.address() / kPage % PAGE_TABLE_ENTRIES];
    return (entry & kEntryPresent) != 0 && (entry & kEntryPlace) / kPage == frameOf(page);
  }

  // The top page table of this process; 0: the program did not find it.
  uint64_t findTop() {
    request[0].direct_map = request[0].top = 0;
    request[0].levels = 4;
    return run(getpid(), 0) ? request[0].top : 0;
  }

  // For arm64: nothing is read by guessing there (linear_map.h).
  base::Status takeDirectMap(const OwnPage& page) {
    auto direct_map = linearMapAt(request[0].top);
    if (!direct_map)
      return missing("/proc/kcore does not show where the kernel maps memory",
                     "Run as root, or with CAP_SYS_RAWIO; the kernel needs CONFIG_PROC_KCORE");
    wanted[0] = page.address();
    request[0].direct_map = *direct_map;
    request[0].levels = static_cast<uint16_t>(levelsOfArm64(request[0].top));
    if (leadsTo(page)) return base::okStatus();
    return missing("the page tables do not lead to where this process's own memory lies",
                   "Use --backend smaps, and report this kernel version");
  }

  base::Status findDirectMap(const OwnPage& page) {
    wanted[0] = page.address();
    uint64_t top = request[0].top & ~(kGiant - 1);
    for (uint64_t gib = 0; gib < kMaxGiB; ++gib) {
      for (uint16_t levels : {uint16_t{4}, uint16_t{5}}) {
        request[0].levels = levels;
        request[0].direct_map = top - gib * kGiant;
        kinds[0] = PAGE_TABLE_NONE;
        if (leadsTo(page)) return base::okStatus();
      }
    }
    return missing("wss could not find where the kernel maps memory",
                   "wss does not support memory encryption (SEV, TDX) yet");
  }
};

PageTables::PageTables(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
PageTables::PageTables(PageTables&&) noexcept = default;
PageTables& PageTables::operator=(PageTables&&) noexcept = default;
PageTables::~PageTables() = default;

base::Result<PageTables> PageTables::open() {
  TG_RETURN_IF_ERROR(checkPages());
  auto handle = std::make_unique<Handle>();
  auto loaded = loadByProgram({tidegauge_page_tables_loader, tidegauge_page_tables_loader_end});
  if (!loaded) return open({tidegauge_page_tables_object, tidegauge_page_tables_object_end});
  handle->loaded = *loaded;
  return prepared(std::move(handle));
}

base::Result<PageTables> PageTables::open(std::span<const unsigned char> program) {
  TG_RETURN_IF_ERROR(checkPages());
  libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
  libbpf_print_fn_t before = libbpf_set_print(keepQuiet);
  auto handle = std::make_unique<Handle>();
  bpf_object_open_opts options{};
  options.sz = sizeof(options);
  options.object_name = "tidegauge_wss";
  handle->object = bpf_object__open_mem(program.data(), program.size(), &options);
  int code = handle->object == nullptr ? -errno : bpf_object__load(handle->object);
  libbpf_set_print(before);
  if (code == -EPERM || code == -EACCES)
    return missing("this user may not load BPF programs, which are needed to read page tables",
                   "Run as root, or with CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN");
  if (code != 0)
    return missing(fmt::format("the kernel refuses the BPF program that reads page tables ({})",
                               std::strerror(-code)),
                   "It needs Linux 5.17 with BTF (/sys/kernel/btf/vmlinux)");
  for (size_t i = 0; i < kLoadedMaps; ++i)
    handle->loaded.maps[i] = bpf_object__find_map_fd_by_name(handle->object, kMapNames[i]);
  bpf_program* reader = bpf_object__find_program_by_name(handle->object, "readPageTables");
  handle->loaded.program = reader == nullptr ? -1 : bpf_program__fd(reader);
  return prepared(std::move(handle));
}

// Whatever loaded it: with its maps shared, and knowing where the kernel has memory mapped.
base::Result<PageTables> PageTables::prepared(std::unique_ptr<Handle> handle) {
  Handle& maps = *handle;
  const auto [request, wanted, kinds, tables] = maps.loaded.maps;
  if (!maps.request.open(request, 1) || !maps.wanted.open(wanted, PAGE_TABLES_BATCH) ||
      !maps.kinds.open(kinds, PAGE_TABLES_BATCH) || !maps.tables.open(tables, PAGE_TABLES_HELD))
    return missing("the maps of the BPF program cannot be shared", "Perhaps memory is short");
  OwnPage page;
  if (frameOf(page) == 0)
    return missing("/proc/self/pagemap does not show the address of a page",
                   "Run as root, or with CAP_SYS_ADMIN");
  if (maps.findTop() == 0)
    return missing(
        "the kernel has another PID for this process, because it is in its own PID namespace",
        "Run it outside the container, or in a container with --pid=host");
  TG_RETURN_IF_ERROR(kIsArm64 ? maps.takeDirectMap(page) : maps.findDirectMap(page));
  return PageTables(std::move(handle));
}

void PageTables::aimAt(pid_t pid) { handle_->linkTo(pid); }

std::optional<MappingsState> PageTables::mappingsOf(pid_t pid) {
  page_tables_request& request = handle_->request[0];
  request.top = 0;
  if (!handle_->run(pid, 0) || request.top == 0) return std::nullopt;
  MappingsState state{.count = request.mappings, .changes = std::nullopt};
  if (request.knows_changes != 0) state.changes = request.changes;
  return state;
}

base::Result<bool> PageTables::read(pid_t pid, std::span<const uint64_t> addresses,
                                    page_table_part part, const Visit& visit) {
  Handle& maps = *handle_;
  maps.request[0].part = static_cast<uint16_t>(part);
  while (!addresses.empty()) {
    size_t count =
        std::min(addresses.size(), part == PAGE_TABLE_ALL ? kWholeTables : PAGE_TABLES_BATCH);
    for (size_t i = 0; i < count; ++i) maps.wanted[i] = addresses[i];
    auto done = maps.run(pid, static_cast<uint32_t>(count));
    if (!done)
      return missing(fmt::format("the BPF iterator cannot be run: {}", std::strerror(errno)), {});
    if (*done != count) return false;
    for (size_t i = 0; i < count; ++i) {
      auto kind = static_cast<page_table_kind>(maps.kinds[i]);
      const page_table& table = maps.tableOf(i, part, kind, addresses[i]);
      if (kind == PAGE_TABLE_HUGE && part != PAGE_TABLE_KIND && maps.huge_zero.isIt(table.entry[0]))
        kind = PAGE_TABLE_NONE;
      visit(addresses[i] / kTable * kTable, kind, Entries(table.entry));
    }
    addresses = addresses.subspan(count);
  }
  return true;
}

}  // namespace tidegauge::wss
