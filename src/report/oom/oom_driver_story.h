// The verdict's sentences if there is no allocator between the program and the driver.
//
//   Capacity: the driver had 552 MiB of 1,000 MiB free, as it reported to the program 0.012 s
//   before; 48.0 MiB were missing. It fits only if this process frees 48.0 MiB first.
//   448 MiB held by this process + 552 MiB at the driver = 1,000 MiB, the device.
#pragma once

#include <string>
#include <vector>

#include "analysis/oom/oom_verdict.h"
#include "report/words/sentence.h"

namespace tidegauge::report {

// The text after the title of the row.
std::vector<Part> onDriverRow(const analysis::OomVerdict& verdict, const analysis::VerdictRow& row);
// The text after "No verdict: "; the driver is known to have had enough.
std::string whyRefusedWithEnough(const analysis::OomVerdict& verdict);

}  // namespace tidegauge::report
