// All details of one allocation, for the page's inspector.
#pragma once

#include "server/http/json.h"
#include "server/session/session.h"

namespace tidegauge::server {

// {id, address_id, address, total_bytes, kind}; null if invalid.
json segmentJson(const model::Trace& trace, model::SegmentId segment);
json allocationJson(OpenFile& file, uint32_t row, Stacks stacks = Stacks::kWhole);
// null if there is none.
json allocationJson(OpenFile& file, std::optional<uint32_t> row);

}  // namespace tidegauge::server
