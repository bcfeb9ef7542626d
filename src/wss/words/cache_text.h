// The page cache of a cgroup that no process maps, for people and for programs.
//
//   Cgroup /shop has 256 MiB of page cache that no process maps; 64.0 MiB of it were used in 1 s.
//      Ref(MB) Cached(MB)  Ref%  file
//        64.00     256.00  25.0  /srv/data
//         0.00       1.20   0.0  files without a name (not open now)
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "wss/cache/cgroup_cache.h"

namespace tidegauge::wss {

// At most `top` files.
std::string cacheText(const CacheUse& use, size_t top, size_t columns);
nlohmann::json cacheJson(const CacheUse& use);

}  // namespace tidegauge::wss
