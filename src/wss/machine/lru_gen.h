// The text of /sys/kernel/debug/lru_gen: the number of pages of each cgroup by generation.
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
  uint64_t id = 0;   // of the memory cgroup: not the id of its folder
  std::string path;  // below the root of cgroups: "/shop/db"; for that root "/"
  std::vector<LruNode> nodes;
};

// Unknown lines are skipped, and so are groups without generations.
std::vector<LruGroup> parseLruGen(std::string_view text);

// The path in a process's /proc/PID/cgroup whose controller counts its memory: "4:memory:/a" (v1),
// else "0::/a" (v2). Empty: none.
std::string memoryCgroup(std::string_view text);
// Whether that cgroup is `folder`, or below it.
bool isWithinCgroup(std::string_view path, std::string_view folder);

// That cgroup, or the nearest one above it that counts memory. Null: none.
const LruGroup* findGroup(const std::vector<LruGroup>& groups, std::string_view path);

}  // namespace tidegauge::wss
