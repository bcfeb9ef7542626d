// The longest lives that a recording without allocs, or without frees, allows.
//
//   no frees    alloc x [0,8)    alloc y [4,12)            x ends at the latest where y begins
//   no allocs   free x [0,8)     free y [4,12)             y begins at the earliest where x ends
//                                segment_alloc [0,16)      … or where its segment begins
//
// Blocks never overlap and lie inside segments, so with these lives active memory never exceeds
// reserved memory. Blocks that the final state lacks end before it.
// Cost: O((events + blocks) × log live blocks), only for such recordings.
#pragma once

#include <vector>

#include "model/lives/blocks/older_blocks.h"
#include "model/trace.h"

namespace tidegauge::model {

// For the device's traced rows, from row `base` on, and its older blocks, before they are in
// drawing order. device.missing names the kinds.
void drawLongestLives(Trace& trace, const Device& device, size_t base,
                      std::vector<OlderBlock>& older);

}  // namespace tidegauge::model
