// Names of memory pools.
//
//   (0, 0)  "default pool"      (2, 0)  "graph pool 2"      (0, 3)  "MemPool 3"
#pragma once

#include <fmt/format.h>

#include <string>

#include "model/trace.h"

namespace tidegauge::report {

inline std::string poolName(const model::Trace& trace, model::PoolId pool) {
  if (!pool.valid() || pool.index() >= trace.pools.size()) {
    return pool == model::PoolId(0) ? "default pool" : "unknown pool";
  }
  const model::Pool& named = trace.pools[pool.index()];
  if (named.first == 0 && named.second == 0) return "default pool";
  if (named.second == 0) return fmt::format("graph pool {}", named.first);
  if (named.first == 0) return fmt::format("MemPool {}", named.second);
  return fmt::format("pool ({}, {})", named.first, named.second);
}

}  // namespace tidegauge::report
