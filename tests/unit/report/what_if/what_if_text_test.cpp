// The text of a what-if, for cases without an example.
#include "report/what_if/what_if_text.h"

#include <gtest/gtest.h>

#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::report {
namespace {

// Half of a device of 4 GiB: relative to what the driver had if that is known, else alone.
TEST(WhatIfText, AFractionIsOfTheDriversMemoryWhereThatIsKnown) {
  testing::TraceBuilder b;
  b.segmentAlloc(kMiB << 20, 20 * kMiB).alloc(kMiB << 20, 20 * kMiB);
  analysis::AnalysedTrace analysed(b.build());
  analysis::WhatIf report;
  report.verified.events_checked = report.verified.events_exact = 2;
  report.verified.settings.fraction = 0.5;
  report.device_bytes = 4096 * kMiB;
  auto text = [&] { return whatIfText(analysed, *analysed.devices.front(), report, {}); };
  EXPECT_NE(text().find("fraction of 0.5 limited it to 2.00 GiB, or slightly more."),
            std::string::npos);
  report.capacity_bytes = 3072 * kMiB;
  report.capacity_source = analysis::CapacitySource::kOutOfMemory;
  EXPECT_NE(text().find("limited it to 2.00 GiB of that, or slightly more."), std::string::npos);
  report.capacity_bytes = 2048 * kMiB;  // all of it: nothing to report
  EXPECT_EQ(text().find("fraction of 0.5"), std::string::npos);
}

}  // namespace
}  // namespace tidegauge::report
