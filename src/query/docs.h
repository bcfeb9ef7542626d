// The pages docs/sql.md, docs/sql-functions.md and docs/sql-recordings.md, written from the schema, so
// that they cannot differ from what a query finds: tidegauge query --print-docs sql > docs/sql.md
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
