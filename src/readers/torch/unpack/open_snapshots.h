// openSnapshots: turns a path into finished traces: mapped, unpacked, read, joined into lives.
//
//   openSnapshots("rank0.pickle.zst", {})  →  one Trace
//   openSnapshots("page.html", {})         →  one Trace per embedded snapshot
//   openSnapshots("-", {})                 →  standard input
//
// Cost: reading plus model::buildLives; the unpacked bytes are freed before it returns.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/trace.h"
#include "readers/torch/snapshot_reader.h"

namespace tidegauge::readers::torch {

// At least one trace, or an error, with the byte offset in the unpacked data if that makes sense.
base::Result<std::vector<model::Trace>> openSnapshots(const std::string& path,
                                                      const ReadOptions& options);

// The same for bytes that are in memory already.
base::Result<std::vector<model::Trace>> openSnapshots(std::span<const uint8_t> bytes,
                                                      const std::string& name,
                                                      const ReadOptions& options);

// The same for a program's own objects (readObjects).
base::Result<std::vector<model::Trace>> openSnapshots(const FeedObjects& feed,
                                                      const std::string& name,
                                                      const ReadOptions& options);

}  // namespace tidegauge::readers::torch
