// The page's table of the tensors that the program named, on one device.
//
//   layers.0.weight   parameter   [4096, 1024]   bfloat16   8.0 MiB   of the allocation 17
#pragma once

#include "view/tables/table.h"

namespace tidegauge::view {

Table tensorTable(const analysis::AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
                  const FilterSet* filter);

}  // namespace tidegauge::view
