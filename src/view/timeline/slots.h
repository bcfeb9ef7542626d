// Colour slots: 1…8 are colours, 9 is "unknown", 0 is "other". A thing has the same slot in every
// picture and every file.
#pragma once

#include <cstdint>
#include <string_view>

#include "analysis/trace/analysed_trace.h"

namespace tidegauge::view {

inline constexpr uint8_t kSlotOther = 0;
inline constexpr uint8_t kSlotUnknown = 9;

// By the top user frame of the allocating stack; unknown if there is none, or if the only recorded
// stack is that of the free.
uint8_t stackSlot(const analysis::AnalysedTrace& analysed, uint32_t row);

// The number of the row's category (analysis/categories.h).
uint8_t categorySlot(const analysis::AnalysedTrace& analysed, uint32_t row);
// "norm and residual"
std::string_view categoryName(uint8_t slot);

}  // namespace tidegauge::view
