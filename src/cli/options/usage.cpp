#include "cli/options/usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>

#include "base/format.h"
#include "base/sizes.h"
#include "base/text_layout.h"
#include "cli/options/output.h"
#include "cli/options/terminal.h"

namespace tidegauge::cli {
namespace {

template <class Number>
std::optional<Number> parse(const std::string& text) {
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

// CLI11 prints "--top: " before the message of a check.
CLI::Validator validator(const std::string& range, std::function<bool(const std::string&)> allows) {
  CLI::Validator check;
  check.operation([range, allows = std::move(allows)](std::string& text) {
    return allows(text) ? std::string() : fmt::format("must be {}, not “{}”", range, text);
  });
  check.description("");
  return check;
}

std::string withFullStop(std::string text) {
  size_t end = text.find_last_not_of(" \n");
  text.resize(end == std::string::npos ? 0 : end + 1);
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text.ends_with('.') ? text : text + '.';
}

// The number of values that are missing after an option: 1 of "--top: 1 required N missing".
std::optional<std::string> missingValues(std::string_view text) {
  constexpr std::string_view kRequired = " required ", kMissing = " missing";
  size_t colon = text.find(": ");
  size_t required = text.find(kRequired);
  if (colon == std::string_view::npos || required == std::string_view::npos || required < colon ||
      !text.ends_with(kMissing)) {
    return std::nullopt;
  }
  std::string_view count = text.substr(colon + 2, required - colon - 2);
  std::string_view type = text.substr(required + kRequired.size());
  type.remove_suffix(kMissing.size());
  return fmt::format("{} needs {} ({})", text.substr(0, colon),
                     count == "1" ? "a value" : fmt::format("{} values", count), type);
}

// "--top: must be …" becomes "--top must be …".
std::string inOurWords(const CLI::Error& error) {
  std::string text = error.what();
  if (auto missing = missingValues(text)) return *missing;
  constexpr std::string_view kExcludes = " excludes ";
  size_t excludes = text.find(kExcludes);
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr && excludes != std::string::npos) {
    return fmt::format("{} and {} exclude each other", text.substr(0, excludes),
                       text.substr(excludes + kExcludes.size()));
  }
  constexpr std::string_view kNotConverted = "Could not convert: ", kIs = " = ";
  if (size_t is = text.find(kIs); text.starts_with(kNotConverted) && is != std::string::npos) {
    return fmt::format("{} does not accept “{}”",
                       text.substr(kNotConverted.size(), is - kNotConverted.size()),
                       text.substr(is + kIs.size()));
  }
  size_t colon = std::min(text.find(": must be "), text.find(": must not be "));
  if (colon != std::string::npos) text.erase(colon, 1);
  return text;
}

std::vector<std::string> commandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  return names;
}

// The word in the place of a command, if it is not one.
std::optional<std::string> unknownCommand(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return std::nullopt;
  std::vector<std::string> names = commandNames(app);
  bool known = std::find(names.begin(), names.end(), argv[1]) != names.end();
  return known ? std::nullopt : std::optional<std::string>(argv[1]);
}

// "-x.pickle" is parsed as an option: did the user mean a file?
std::optional<std::string> fileWithDash(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::error_code none;
    bool dash = argv[i][0] == '-' && argv[i][1] != '\0';
    if (dash && std::filesystem::exists(argv[i], none)) return argv[i];
  }
  return std::nullopt;
}

// --help, at most as wide as the page.
class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(size_t columns) : columns_(columns) {}

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string name = "  " + make_option_name(option, is_positional) + make_option_opts(option);
    size_t indent = std::min<size_t>(28, columns_ / 3);
    std::string what = base::wrapped(make_option_desc(option), columns_, indent);
    if (base::displayWidth(name) + 2 > indent) return name + '\n' + what;
    return name + what.substr(name.size());
  }
  std::string make_description(const CLI::App* app) const override {
    return paragraphs(app->get_description());
  }
  std::string make_footer(const CLI::App* app) const override {
    return paragraphs(app->get_footer());
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    return paragraphs(CLI::Formatter::make_usage(app, std::move(name)));
  }

 private:
  std::string paragraphs(const std::string& text) const {
    std::string out;
    for (size_t begin = 0; begin < text.size();) {
      size_t end = std::min(text.find('\n', begin), text.size());
      out += paragraph(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return out;
  }
  // What follows a word and two spaces stays below itself: "  word   what it means".
  std::string paragraph(const std::string& line) const {
    size_t word = line.find_first_not_of(' ');
    if (word == std::string::npos) return "\n";
    size_t gap = line.find("  ", word);
    if (word == 0 || gap == std::string::npos) return base::wrapped(line, columns_, word, 2);
    size_t what = line.find_first_not_of(' ', gap);
    return line.substr(0, what) + base::wrapped(line.substr(what), columns_, what).substr(what);
  }

  size_t columns_;
};

const CLI::App& chosen(const CLI::App& app) {
  auto commands = app.get_subcommands();
  return commands.empty() ? app : *commands.front();
}

// Reports the arguments that no option and no place of a command took, in the order given.
std::string unexpectedArguments(const CLI::App& app) {
  bool is_before_command = !app.remaining().empty();
  const CLI::App& command = is_before_command ? app : chosen(app);
  std::vector<std::string> words = command.remaining();
  if (words.empty()) return {};
  std::string all = fmt::format("{}", fmt::join(words, " "));
  std::string rest = words.size() == 1 ? fmt::format("the argument “{}” was not expected", all)
                                       : fmt::format("the arguments “{}” were not expected", all);
  std::string& first = words.front();
  if (first.size() < 2 || first[0] != '-' || first == "--") return rest;
  first.resize(std::min(first.find('='), first.size()));
  return &command == &app ? fmt::format("there is no option {}", first)
                          : fmt::format("{} has no option {}", command.get_name(), first);
}

// The cause of an error of the command line.
std::string causeOf(const CLI::App& app, const CLI::Error& error) {
  bool no_command = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
                    std::string_view(error.what()).starts_with("A subcommand");
  if (no_command || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    if (std::string words = unexpectedArguments(app); !words.empty()) return words;
  }
  return no_command ? "a command is missing" : inOurWords(error);
}

// A variable of the shell that is not set must not become "no filter" or a default. An option may
// have no value at all, or one like PYTORCH_CUDA_ALLOC_CONF, for which empty is one more value.
void refuseEmptyValues(CLI::App& command) {
  for (CLI::Option* option : command.get_options([](CLI::Option* it) {
         return !it->get_positional() && it->get_items_expected_min() > 0 &&
                !it->check_lname("set");
       }))
    option->check([](const std::string& text) {
      return text.empty() ? std::string("must not be empty") : std::string();
    });
}

}  // namespace

CLI::Validator wholeNumber(uint64_t least, uint64_t most) {
  std::string range = most == UINT64_MAX
                          ? fmt::format("a whole number from {}", base::withCommas(least))
                          : fmt::format("a whole number from {} to {}", base::withCommas(least),
                                        base::withCommas(most));
  return validator(range, [least, most](const std::string& text) {
    std::optional<uint64_t> value = parse<uint64_t>(text);
    return value && *value >= least && *value <= most;
  });
}

CLI::Validator integer(int64_t least, int64_t most) {
  return validator(fmt::format("a whole number from {} to {}", least, most),
                   [least, most](const std::string& text) {
                     std::optional<int64_t> value = parse<int64_t>(text);
                     return value && *value >= least && *value <= most;
                   });
}

CLI::Validator number(double least, double most) {
  return validator(fmt::format("a number from {} to {}", least, most),
                   [least, most](const std::string& text) {
                     std::optional<double> value = parse<double>(text);
                     return value && std::isfinite(*value) && *value >= least && *value <= most;
                   });
}

CLI::Validator size(uint64_t least, uint64_t most, const std::string& range) {
  return validator(fmt::format("a size from {}", range), [least, most](const std::string& text) {
    std::optional<uint64_t> bytes = base::parseSize(text);
    return bytes && *bytes >= least && *bytes <= most;
  });
}

CLI::Validator oneOf(std::vector<std::string> names) {
  std::string choice = fmt::format("one of {}", fmt::join(names, ", "));
  return validator(choice, [names = std::move(names)](const std::string& text) {
    return std::find(names.begin(), names.end(), text) != names.end();
  });
}

std::string shownPath(const std::string& path) { return path == "-" ? "standard input" : path; }

int usageError(const std::string& what, const std::string& hint) {
  std::string text = "tidegauge: " + withFullStop(what);
  if (!hint.empty()) text += " " + withFullStop(hint);
  complain(base::printable(text));
  return 2;
}

int runCommandLine(CLI::App& app, int argc, char** argv, const int& exit_code) {
  // "help" and "help COMMAND" are often tried first.
  static char help_word[] = "--help";
  if ((argc == 2 || argc == 3) && std::string_view(argv[1]) == "help") {
    argv[1] = argc == 3 ? argv[2] : help_word;
    if (argc == 3) argv[2] = help_word;
  }
  std::string commands = fmt::format("{}", fmt::join(commandNames(app), ", "));
  if (std::optional<std::string> word = unknownCommand(app, argc, argv)) {
    return usageError(fmt::format("there is no command “{}”", *word),
                      fmt::format("The commands are: {}", commands));
  }
  if (argc < 2) return usageError("a command is missing", "The commands are: " + commands);
  auto help = std::make_shared<HelpFormatter>(pageColumns());
  app.formatter(help);
  for (CLI::App* command : app.get_subcommands(nullptr)) {
    command->formatter(help);
    refuseEmptyValues(*command);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    Output out;
    bool version = dynamic_cast<const CLI::CallForVersion*>(&success) != nullptr;
    out.write(version ? app.version() + "\n" : app.help());
    return out.finish(0);
  } catch (const CLI::Error& error) {
    if (std::optional<std::string> file = fileWithDash(argc, argv)) {
      return usageError(fmt::format("“{}” starts with a dash, as options do", *file),
                        fmt::format("Write ./{}", *file));
    }
    return usageError(causeOf(app, error),
                      fmt::format("`tidegauge {}--help` shows the options",
                                  &chosen(app) == &app ? "" : chosen(app).get_name() + " "));
  }
  return exit_code;
}

}  // namespace tidegauge::cli
