#include "record/process/capabilities.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "record/process/errors.h"

// Newer than the headers of some distributions.
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

namespace tidegauge::record {
namespace {

constexpr Capabilities bit(int capability) { return Capabilities{1} << capability; }

struct Sets {
  Capabilities effective = 0, permitted = 0;
};

Sets ownSets() {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (syscall(SYS_capget, &head, data.data()) != 0) return {};
  auto whole = [](uint32_t low, uint32_t high) { return Capabilities{high} << 32 | low; };
  return {whole(data[0].effective, data[1].effective), whole(data[0].permitted, data[1].permitted)};
}

// None is inheritable: what this process starts has only what its own user gets.
bool setSets(const Sets& sets) {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  for (size_t i = 0; i < data.size(); ++i) {
    data[i].effective = static_cast<uint32_t>(sets.effective >> (32 * i));
    data[i].permitted = static_cast<uint32_t>(sets.permitted >> (32 * i));
  }
  return syscall(SYS_capset, &head, data.data()) == 0;
}

bool mayWriteTo(const std::string& folder) {
  return faccessat(AT_FDCWD, folder.empty() ? "." : folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
}

base::Error cannot(const char* what) {
  return missing(fmt::format("the recorder cannot give up its privileges ({}): {}", what,
                             std::strerror(errno)),
                 "Nothing was recorded. --preload needs no privileges");
}

}  // namespace

const Capabilities kRecorderCapabilities =
    bit(CAP_BPF) | bit(CAP_PERFMON) | bit(CAP_SYS_PTRACE) | bit(CAP_DAC_READ_SEARCH);
const Capabilities kEachLinkCapabilities = bit(CAP_SYS_ADMIN);
const Capabilities kHelperCapabilities = bit(CAP_KILL) | bit(CAP_CHECKPOINT_RESTORE) |
                                         bit(CAP_SYS_PTRACE) | bit(CAP_DAC_READ_SEARCH) |
                                         bit(CAP_SYS_NICE);

Capabilities effectiveCapabilities() { return ownSets().effective; }

bool mayUseBpf() {
  Capabilities needed = bit(CAP_BPF) | bit(CAP_PERFMON);
  return (effectiveCapabilities() & needed) == needed;
}

void allowLockedMemory() {
  rlimit none{RLIM_INFINITY, RLIM_INFINITY};
  (void)setrlimit(RLIMIT_MEMLOCK, &none);
}

base::Status keepCapabilities(Capabilities wanted, const std::optional<Caller>& caller,
                              const std::string& folder) {
  if (caller) {
    if (prctl(PR_SET_KEEPCAPS, 1) != 0) return cannot("keepcaps");
    if (auto became = becomeUser(*caller); !became.ok()) return became;
    (void)prctl(PR_SET_KEEPCAPS, 0);
  }
  Sets own = ownSets();
  Sets kept{own.permitted & wanted, own.permitted & wanted};
  if (!caller && geteuid() == 0 && (own.permitted & bit(CAP_DAC_OVERRIDE)) != 0) {
    if (!setSets({kept.effective, own.permitted})) return cannot("capset");
    if (!mayWriteTo(folder)) kept.effective |= bit(CAP_DAC_OVERRIDE);
    kept.permitted = kept.effective;
  }
  if (!setSets(kept)) return cannot("capset");
  return base::okStatus();
}

}  // namespace tidegauge::record
