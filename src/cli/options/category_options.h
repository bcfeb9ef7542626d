// --categories FILE: the user's rules for what memory is for, instead of the built-in ones, which
// `tidegauge categories` prints.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "analysis/labels/categories.h"
#include "base/result.h"

namespace tidegauge::cli {

void addCategoriesOption(CLI::App& command, std::string& path);

// Null if there is no path: the built-in rules. Errors name the file.
base::Result<std::shared_ptr<const analysis::CategoryRules>> readRules(const std::string& path);

}  // namespace tidegauge::cli
