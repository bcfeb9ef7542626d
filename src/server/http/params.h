// The path and the parameters of a request's target.
//
//   "/TOKEN/api/tile?x0=0&q=a%20b"   →   path "/TOKEN/api/tile", x0 = "0", q = "a b"
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tidegauge::server {

class Params {
 public:
  // Decodes %XX and +; a % without two digits is unchanged.
  static Params ofQuery(std::string_view query);

  // The first value with that name; nullptr if there is none.
  const std::string* find(std::string_view name) const;
  std::string text(std::string_view name, std::string_view fallback = {}) const;

  // Errors (kUsage) name the parameter and its valid values.
  base::Result<double> number(std::string_view name) const;  // finite
  base::Result<double> number(std::string_view name, double fallback) const;
  base::Result<int64_t> integer(std::string_view name, int64_t least, int64_t most) const;
  base::Result<int64_t> integer(std::string_view name, int64_t least, int64_t most,
                                int64_t fallback) const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

struct Target {
  std::string path;
  Params params;
};
Target parseTarget(std::string_view target);

}  // namespace tidegauge::server
