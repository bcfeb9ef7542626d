// Touches that the page tables of a process do not show, because others make them: a guest of KVM
// through page tables of its own, a device, the kernel. What a process has open shows them:
//
//   /proc/PID/fd/9  → anon_inode:kvm-vm        a guest of KVM: its memory is the process's
//   /proc/PID/fd/12 → /dev/vhost-net           vhost
//   /proc/PID/fd/14 → /dev/infiniband/uverbs0  RDMA
//   /proc/PID/fd/15 → /dev/vfio/17             a device that was passed through
//   /proc/PID/fd/16 → anon_inode:[io_uring]    and its fdinfo has "UserBufs: 4": registered buffers
//
// Cost: as descriptors.h, and a small file for each io_uring.
// Source: Linux 6.12, virt/kvm/kvm_main.c, io_uring/fdinfo.c, Documentation/driver-api/vfio.rst.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wss/process/process.h"

namespace tidegauge::wss {

// kDamon is not by what is open: another DAMON may clear the trace of a touch of a huge page.
enum class Toucher : uint8_t { kKvm, kVhost, kRdma, kVfio, kIoUring, kDamon };

// As in JSON, and in words.
struct ToucherName {
  std::string_view json, words;
};
inline constexpr std::array<ToucherName, 6> kTouchers{
    {{"kvm", "by a guest of KVM, through page tables of its own"},
     {"vhost", "by vhost in the kernel"},
     {"rdma", "by a network device (RDMA)"},
     {"vfio", "by a device that was passed through (VFIO)"},
     {"io_uring", "by the kernel, in registered buffers of io_uring"},
     {"damon", "of huge pages that another DAMON sampled"}}};

inline std::string_view jsonName(Toucher one) { return kTouchers[static_cast<size_t>(one)].json; }
// The one of that name; absent: there is none.
std::optional<Toucher> toucherOf(std::string_view json_name);

// A set of them.
class UnseenTouches {
 public:
  void add(Toucher one) { bits_ |= bit(one); }
  void remove(Toucher one) { bits_ &= ~bit(one); }
  void add(const UnseenTouches& more) { bits_ |= more.bits_; }
  bool has(Toucher one) const { return (bits_ & bit(one)) != 0; }
  bool any() const { return bits_ != 0; }
  std::vector<Toucher> list() const;

 private:
  static unsigned bit(Toucher one) { return 1U << static_cast<unsigned>(one); }
  unsigned bits_ = 0;
};

// Reports nothing of what cannot be read.
UnseenTouches unseenTouchesOf(const Process& process);

// "Not seen here: touches by a network device (RDMA). Ref is a lower bound."
// Empty: there are none.
std::string unseenSentence(const UnseenTouches& unseen);

}  // namespace tidegauge::wss
