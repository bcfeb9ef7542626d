#include "cli/options/category_options.h"

#include <fmt/format.h>

#include "base/file_bytes.h"
#include "cli/options/usage.h"

namespace tidegauge::cli {

void addCategoriesOption(CLI::App& command, std::string& path) {
  command
      .add_option("--categories", path,
                  "YAML rules for memory categories; `tidegauge "
                  "categories` prints the built-in ones")
      ->type_name("FILE");
}

base::Result<std::shared_ptr<const analysis::CategoryRules>> readRules(const std::string& path) {
  using analysis::CategoryRules;
  if (path.empty()) return std::shared_ptr<const CategoryRules>();
  auto named = [&](base::Error error) {
    error.what = fmt::format("{}: {}", shownPath(path), error.what);
    return error;
  };
  base::Result<base::FileBytes> file =
      base::FileBytes::open(path, {.wanted = {}, .most_bytes = CategoryRules::kMaxBytes});
  if (!file.ok()) return named(file.error());
  std::span<const uint8_t> bytes = file.value().bytes();
  base::Result<CategoryRules> rules =
      CategoryRules::parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!rules.ok()) return named(rules.error());
  return std::make_shared<const CategoryRules>(std::move(rules).value());
}

}  // namespace tidegauge::cli
