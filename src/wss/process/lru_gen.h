// The text of /sys/kernel/debug/lru_gen: how many pages of each cgroup are how old, in generations.
//
//   memcg    42 /shop/db
//    node     0
//           7      93010      12400       3100      generation, age (ms), private pages, file pages
//           8       1004        512          0
//
// The youngest generation has the highest number. Source:
// Documentation/admin-guide/mm/multigen_lru.rst.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tidegauge::wss {

struct Generation {
  uint64_t number = 0;
  uint64_t anonymous_pages = 0;
  uint64_t file_pages = 0;
};

struct LruNode {
  uint64_t node = 0;                    // of memory (NUMA)
  std::vector<Generation> generations;  // the youngest last; never empty
};

struct LruGroup {
  uint64_t id = 0;   // of the memory cgroup: not that of its folder
  std::string path;  // below the root of cgroups: "/shop/db"; of that root "/"
  std::vector<LruNode> nodes;
};

// Lines of no known form are passed over, and what has no generation.
std::vector<LruGroup> parseLruGen(std::string_view text);

// Of a process's /proc/PID/cgroup the path where its memory is counted: "4:memory:/a" (v1), else
// "0::/a" (v2). Empty: none.
std::string memoryCgroup(std::string_view text);

// That cgroup, or the nearest one above that counts memory. Null: none.
const LruGroup* findGroup(const std::vector<LruGroup>& groups, std::string_view path);

}  // namespace tidegauge::wss
