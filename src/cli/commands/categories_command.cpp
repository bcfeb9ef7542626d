#include "base/format.h"
#include "base/text_layout.h"
#include "cli/commands.h"
#include "cli/open_trace.h"
#include "cli/options/category_options.h"
#include "cli/options/output.h"
#include "cli/options/usage.h"

namespace tidegauge::cli {
namespace {

int run(const std::string& path) {
  Output out;
  if (path.empty()) {
    out.write(analysis::CategoryRules::builtInText());
    return out.finish(0);
  }
  auto rules = readRules(path);
  if (!rules.ok()) return reportError(rules.error());
  out.print("{} is valid ({}).\n", base::printable(shownPath(path)),
            base::counted(rules.value()->rules().size(), "rule"));
  return out.finish(0);
}

}  // namespace

void addCategoriesCommand(CLI::App& app, int& exit_code) {
  auto path = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("categories", "Print or check the rules for memory categories");
  command->add_option("FILE", *path, "YAML rules to check; without FILE, print the built-in rules")
      ->type_name("");
  command->callback([path, &exit_code] { exit_code = run(*path); });
}

}  // namespace tidegauge::cli
