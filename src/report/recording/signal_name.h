// The names of Linux's signals by number, of a process that ended.
//
//   signalName(9) → "SIGKILL"     signalName(40) → "signal 40"
//
// glibc has them since 2.32 alone (sigabbrev_np). Source: signal(7), x86-64 and arm64.
#pragma once

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

namespace tidegauge::report {

inline constexpr std::array<std::string_view, 31> kSignalNames{
    "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1", "SEGV",
    "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN", "TTOU",
    "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "POLL", "PWR",  "SYS"};

inline std::string signalName(int signal) {
  bool has_name = signal >= 1 && signal <= static_cast<int>(kSignalNames.size());
  return has_name ? fmt::format("SIG{}", kSignalNames[static_cast<size_t>(signal) - 1])
                  : fmt::format("signal {}", signal);
}

}  // namespace tidegauge::report
