// The sections "kernels" and "copies" of a recording's report.
#pragma once

#include "model/recorded_work.h"
#include "report/words/section.h"

namespace tidegauge::exporting {

Section kernelsSection(const model::RecordedWork& work, size_t rows);
Section copiesSection(const model::RecordedWork& work);

}  // namespace tidegauge::exporting
