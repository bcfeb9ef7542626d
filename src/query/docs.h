// The pages docs/use/sql.md, sql-functions.md and sql-recordings.md, generated from the schema, so
// that they match it: tidegauge query --print-docs sql > docs/use/sql.md
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "query/scan/schema.h"

namespace tidegauge::query {

struct Docs {
  std::string_view name;  // of the page in docs/, without .md
  std::string (*write)(const Schema& schema);
};

const std::vector<Docs>& allDocs();

}  // namespace tidegauge::query
