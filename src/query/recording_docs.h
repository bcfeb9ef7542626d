// docs/sql-recordings.md: the tables that only recordings fill. docs/sql.md has the others.
#pragma once

#include <string>

#include "query/schema.h"

namespace tidegauge::query {

std::string recordingMarkdown(const Schema& schema);

}  // namespace tidegauge::query
