// What the kernel lets this process do beyond its user's rights, and how a recorder gives up what
// it does not need.
//
//   keepCapabilities(kRecorderCapabilities, {});        // root: the same user, four capabilities
//   keepCapabilities(kRecorderCapabilities, caller);    // sudo: the user who called it, with them
//
// Call it before threads start: the kernel keeps capabilities per thread. A program that is started
// afterwards gets what its user's programs get, not these (no capability is inheritable). Cost:
// some system calls. Source: capabilities(7), capset(2).
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "record/process/caller.h"

namespace tidegauge::record {

// A set, as the kernel numbers them: bit 39 is CAP_BPF.
using Capabilities = uint64_t;

// To load and place probes; to read where the code of other users' processes lies, and that code.
extern const Capabilities kRecorderCapabilities;
// As well, where each function needs a link of its own: perf's probes.
extern const Capabilities kEachLinkCapabilities;
// To continue a program of another user that waits, to pass signals on, and to open a file that was
// removed while it is mapped, and to let the recorder's threads run first: what the helper process
// (helper.h) does.
extern const Capabilities kHelperCapabilities;

Capabilities effectiveCapabilities();
// Whether this process could record by eBPF: it has CAP_BPF and CAP_PERFMON.
bool mayUseBpf();

// Keeps these of what the process has. With a caller it becomes that user and stays so. As root
// without a caller it also keeps CAP_DAC_OVERRIDE if `folder` could not be written to without:
// a folder of another user, as a container's root often gets.
base::Status keepCapabilities(Capabilities wanted, const std::optional<Caller>& caller,
                              const std::string& folder = {});

// Before 5.11, the kernel counts maps of BPF programs as locked memory: as root, no limit. Children
// inherit it: start them before.
void allowLockedMemory();

}  // namespace tidegauge::record
