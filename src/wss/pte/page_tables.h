// The page tables of a process, read by a BPF program (bpf/page_tables.bpf.c): for every page,
// whether the processor has accessed or written it since that was cleared.
//
//   read(4711, {0x7f0000000000, 0x7f0000200000}, …)
//     → 0x7f0000000000: 512 entries, one per 4 KiB      0x7f0000200000: one of 2 MiB
//
// The tables contain physical addresses. The kernel's map of all memory is found by walking this
// process's own tables to a page whose frame number is in /proc/self/pagemap. Needs CAP_BPF,
// CAP_PERFMON, CAP_SYS_ADMIN (for that number), BTF, Linux 5.17, x86-64 or arm64 (with pages of 4
// KiB; there the map is known, not searched: linear_map.h). Cost, measured on x86-64: 0.6 µs per 2
// MiB; 3 ms once, or 18 where libbpf loads the program (bpf_loader.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "wss/pages/page_sums.h"

namespace tidegauge::wss {

#ifdef __aarch64__
inline constexpr bool kIsArm64 = true;
#else
inline constexpr bool kIsArm64 = false;
#endif
// A note for figures there.
inline constexpr std::string_view kUntestedOnArm64 =
    "untested on arm64 hardware, right in QEMU: hold it against --backend smaps";

// What a kernel reports about the mappings of a process without visiting them.
struct MappingsState {
  uint32_t count = 0;
  // Increases by one each time they may change: mmap, munmap, mprotect, brk, a growing stack, a
  // fork, and each word written to clear_refs. Absent: they are being changed, or it is not counted
  // (before Linux 6.3). Source: mm_struct::mm_lock_seq, include/linux/mmap_lock.h;
  // clear_refs_write, fs/proc/task_mmu.c.
  std::optional<uint32_t> changes;
};

class PageTables {
 public:
  // Cost: 3 ms of CPU time, or 18 where libbpf has to load the BPF program (bpf_loader.h).
  static base::Result<PageTables> open();
  // By libbpf, of another object than the built-in one. For tests.
  static base::Result<PageTables> open(std::span<const unsigned char> program);
  PageTables(PageTables&&) noexcept;
  PageTables& operator=(PageTables&&) noexcept;
  ~PageTables();

  // Prepares reading of a process, which its first read would do otherwise: 20 µs that are then not
  // part of a window. The read reports errors of this.
  void aimAt(pid_t pid);
  // Absent: the process is gone. Cost: 15 µs.
  std::optional<MappingsState> mappingsOf(pid_t pid);
  // Calls `visit` for each of `addresses`, in order, with the table that covers it: its begin, and
  // the entries that `part` requests (the others are undefined); for a large page, the first is its
  // entry. False: the process is gone, or has no memory.
  using Visit = std::function<void(uint64_t table, page_table_kind kind, Entries entries)>;
  base::Result<bool> read(pid_t pid, std::span<const uint64_t> addresses, page_table_part part,
                          const Visit& visit);

 private:
  struct Handle;
  explicit PageTables(std::unique_ptr<Handle> handle);
  static base::Result<PageTables> prepared(std::unique_ptr<Handle> handle);
  std::unique_ptr<Handle> handle_;
};

}  // namespace tidegauge::wss
