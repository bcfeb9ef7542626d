// The page tables of a process, read by a BPF program (bpf/page_tables.bpf.c): for every page
// whether the processor has touched it, and written to it, since that was cleared.
//
//   read(4711, {0x7f0000000000, 0x7f0000200000}, …)
//     → 0x7f0000000000: 512 entries, one per 4 KiB      0x7f0000200000: one of 2 MiB
//
// The tables hold physical addresses; where the kernel has all memory mapped is found by walking
// our own tables to a page whose number /proc/self/pagemap tells. Needs CAP_BPF, CAP_PERFMON,
// CAP_SYS_ADMIN (for that number), BTF, Linux 5.17, x86-64 or arm64 (with pages of 4 KiB; there the
// map is told, not searched for: linear_map.h). Cost, measured on x86-64: 0.6 µs per 2 MiB; 30 ms
// once.
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
// What must be said of figures there.
inline constexpr std::string_view kUntestedOnArm64 =
    "untested on arm64 hardware, right in QEMU: hold it against --backend smaps";

// What a kernel says of the mappings of a process without going through them.
struct MappingsState {
  uint32_t count = 0;
  // Goes up by one each time that they may be changed: mmap, munmap, mprotect, brk, a stack that
  // grows, a fork; and each word that clear_refs is told. Not set: they are just being changed, or
  // it is not counted (until Linux 6.3). Source: mm_struct::mm_lock_seq, include/linux/mmap_lock.h;
  // clear_refs_write, fs/proc/task_mmu.c.
  std::optional<uint32_t> changes;
};

class PageTables {
 public:
  static base::Result<PageTables> open();
  // By another program than this build's own. For tests.
  static base::Result<PageTables> open(std::span<const unsigned char> program);
  PageTables(PageTables&&) noexcept;
  PageTables& operator=(PageTables&&) noexcept;
  ~PageTables();

  // Makes ready to read those of a process, which the first read of it would do else: 20 µs that
  // are no part of a window then. What goes wrong here the read tells.
  void aimAt(pid_t pid);
  // Not set: the process is gone. Cost: 15 µs.
  std::optional<MappingsState> mappingsOf(pid_t pid);
  // Calls `visit` for each of `addresses`, in order, with the table that tells of it: where that
  // begins, and of its entries as many as `part` says, the others being anything; of one large page
  // the first is its entry. False: the process is gone, or has no memory.
  using Visit = std::function<void(uint64_t table, page_table_kind kind, Entries entries)>;
  base::Result<bool> read(pid_t pid, std::span<const uint64_t> addresses, page_table_part part,
                          const Visit& visit);

 private:
  struct Handle;
  explicit PageTables(std::unique_ptr<Handle> handle);
  std::unique_ptr<Handle> handle_;
};

}  // namespace tidegauge::wss
