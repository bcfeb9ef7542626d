#include "report/oom/oom_driver_story.h"

#include <fmt/format.h>

#include <cmath>

#include "base/format.h"
#include "base/sizes.h"

namespace tidegauge::report {
namespace {

using analysis::OomVerdict;
using base::humanBytes;
using base::sizeOrZero;

// ", as it reported to the program 0.012 s before"
std::string whenReported(const OomVerdict& v) {
  if (!v.driver_free) return ", as it reported right after";
  std::string words = v.driver_free->is_answer ? ", as it reported to the program"
                                               : ", as NVML reported to the recorder";
  if (!v.driver_free_before_us) return words;
  double seconds = static_cast<double>(*v.driver_free_before_us) / 1e6;
  const char* side = seconds < 0 ? "after" : "before";
  bool is_near = std::abs(seconds) < 0.0005;
  return words + (is_near ? fmt::format(" right {}", side)
                          : fmt::format(" {:.3f} s {}", std::abs(seconds), side));
}

// "The driver had 552 MiB of 1,000 MiB free, as it reported to the program 0.012 s before"
std::string whatTheDriverHad(const OomVerdict& v) {
  uint64_t free = v.driver_free ? v.driver_free->free_bytes : v.driver_bytes.value_or(0);
  std::string words = "The driver had " + sizeOrZero(free);
  if (v.total_bytes) words += " of " + humanBytes(*v.total_bytes);
  words += " free" + whenReported(v);
  int64_t taken = v.driver_free ? v.driver_free->taken_since_bytes : 0;
  if (taken != 0) {
    words += fmt::format("; since then this process {} {}", taken > 0 ? "took" : "freed",
                         humanBytes(static_cast<uint64_t>(std::abs(taken))));
  }
  return words;
}

// Whether the request could ever fit.
std::string couldFit(const OomVerdict& v) {
  if (!v.total_bytes) return {};
  uint64_t request = *v.request_bytes;
  uint64_t room = *v.total_bytes - request;
  if (v.reserved_bytes > room) {
    return fmt::format(" The request fits only if this process frees {} first.",
                       humanBytes(v.reserved_bytes - room));
  }
  return " The request would fit next to the memory of this process if no other process held any.";
}

}  // namespace

std::vector<Part> onDriverRow(const OomVerdict& v, const analysis::VerdictRow& row) {
  std::string bytes = humanBytes(row.bytes);
  std::vector<Part> parts;
  if (row.verdict == analysis::Verdict::kOthers) {
    return {plain(". "), strong(bytes),
            plain(" of the device are outside this process (other processes, contexts).")};
  }
  if (row.verdict == analysis::Verdict::kNeverFits) {
    uint64_t most = *v.request_bytes - row.bytes;
    return {plain(". The request is "),
            strong(bytes),
            plain(" more than "),
            plain(v.total_bytes ? "the device has (" : "this process could have had ("),
            strong(humanBytes(most)),
            plain("), so it can never fit.")};
  }
  if (v.driver_bytes) {
    parts = {plain(". " + whatTheDriverHad(v) + ". "), strong(bytes), plain(" were missing.")};
    if (!row.certain)
      parts.push_back(plain(" Other processes may have taken or freed some in between."));
  } else {
    parts = {plain(fmt::format(". The device has {}, and this process held {}. At least ",
                               humanBytes(*v.total_bytes), sizeOrZero(v.reserved_bytes))),
             strong(bytes), plain(" were missing.")};
  }
  parts.push_back(plain(couldFit(v)));
  return parts;
}

std::string whyRefusedWithEnough(const OomVerdict& v) {
  return whatTheDriverHad(v) +
         ". That was enough for the request, so other processes took it in between, or a limit "
         "refused the request.";
}

}  // namespace tidegauge::report
