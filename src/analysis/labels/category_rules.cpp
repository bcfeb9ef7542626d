// From YAML to rules.
#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>

#include "analysis/labels/categories.h"
#include "base/ascii.h"

namespace tidegauge::analysis {
namespace {

constexpr size_t kMaxPatterns = 200;  // of one list

base::Error badRules(std::string what) {
  return {base::ErrorKind::kUsage,
          "the category rules are invalid: " + std::move(what),
          {},
          "`tidegauge categories` prints the built-in rules and explains their format."};
}

// "line 2, column 1: end of sequence flow not found"
base::Error noYaml(const YAML::Exception& error, const std::string& what) {
  if (error.mark.is_null()) return badRules(what);
  return badRules(
      fmt::format("line {}, column {}: {}", error.mark.line + 1, error.mark.column + 1, what));
}

base::Result<Category> categoryOf(const YAML::Node& node, std::string_view where) {
  std::string word = node.IsScalar() ? node.Scalar() : std::string();
  std::optional<Category> category = categoryByName(word);
  if (!category) return badRules(fmt::format("{} has no category “{}”", where, word));
  return *category;
}

base::Result<std::optional<TextPattern>> patternOf(const YAML::Node& list, std::string_view where) {
  std::vector<std::string> texts;
  if (list.IsScalar()) {
    texts.push_back(list.Scalar());
  } else if (list.IsSequence()) {
    for (const YAML::Node& member : list) {
      if (!member.IsScalar()) return badRules(fmt::format("{} must list texts", where));
      texts.push_back(member.Scalar());
      if (texts.size() > kMaxPatterns) {
        return badRules(fmt::format("{} lists more than {} texts", where, kMaxPatterns));
      }
    }
  }
  if (texts.empty()) return badRules(fmt::format("{} lists nothing", where));
  base::Result<TextPattern> pattern = TextPattern::compileAny(texts);
  if (!pattern.ok()) return badRules(fmt::format("{}: {}", where, pattern.error().what));
  return std::optional<TextPattern>(std::move(pattern).value());
}

// The text of a map's key. The library would keep both of two equal keys; users mean one.
base::Result<std::string> keyOf(const YAML::Node& node, std::set<std::string>& seen,
                                std::string_view where) {
  if (!node.IsScalar()) return badRules(fmt::format("a key of {} is not text", where));
  if (!seen.insert(node.Scalar()).second) {
    return badRules(fmt::format("{} has “{}” twice", where, node.Scalar()));
  }
  return node.Scalar();
}

base::Result<CategoryRules::Rule> ruleOf(const YAML::Node& node, size_t number) {
  std::string where = fmt::format("rule {}", number);
  if (!node.IsMap()) return badRules(where + " is not a map");
  CategoryRules::Rule rule;
  bool has_category = false;
  std::set<std::string> seen;
  for (const auto& entry : node) {
    const YAML::Node& value = entry.second;
    TG_ASSIGN_OR_RETURN(std::string key, keyOf(entry.first, seen, where));
    std::string what = fmt::format("{}, {}", where, key);
    if (key == "category") {
      TG_ASSIGN_OR_RETURN(rule.category, categoryOf(value, where));
      has_category = true;
    } else if (key == "function") {
      TG_ASSIGN_OR_RETURN(rule.function, patternOf(value, what));
    } else if (key == "file") {
      TG_ASSIGN_OR_RETURN(rule.file, patternOf(value, what));
    } else if (key == "phase") {
      TG_ASSIGN_OR_RETURN(rule.phase, patternOf(value, what));
    } else {
      return badRules(fmt::format("{} has an unknown key “{}”", where, key));
    }
  }
  if (!has_category) return badRules(where + " names no category");
  if (!rule.function && !rule.file && !rule.phase) {
    return badRules(where + " names no function, file or phase");
  }
  return rule;
}

}  // namespace

base::Result<CategoryRules> CategoryRules::parse(std::string_view yaml) {
  if (yaml.size() > kMaxBytes) {
    return badRules(fmt::format("the file has more than {} bytes", kMaxBytes));
  }
  try {
    YAML::Node root = YAML::Load(std::string(yaml));
    if (!root.IsMap()) return badRules("the file must be a YAML map with a list called rules");
    CategoryRules parsed;
    std::set<std::string> seen;
    std::set<std::string> seen_stated;
    for (const auto& entry : root) {
      const YAML::Node& value = entry.second;
      TG_ASSIGN_OR_RETURN(std::string key, keyOf(entry.first, seen, "the map"));
      if (key == "stated" && value.IsMap()) {
        for (const auto& stated : value) {
          TG_ASSIGN_OR_RETURN(std::string word, keyOf(stated.first, seen_stated, "stated"));
          TG_ASSIGN_OR_RETURN(Category category, categoryOf(stated.second, "stated"));
          parsed.stated_.emplace_back(base::lowerAscii(word), category);
        }
      } else if (key == "rules" && value.IsSequence()) {
        if (value.size() > kMaxRules) {
          return badRules(fmt::format("there are more than {} rules", kMaxRules));
        }
        for (const YAML::Node& node : value) {
          TG_ASSIGN_OR_RETURN(Rule rule, ruleOf(node, parsed.rules_.size() + 1));
          parsed.rules_.push_back(std::move(rule));
        }
      } else {
        return badRules(
            fmt::format("“{}” must be a map called stated or a list called rules", key));
      }
    }
    return parsed;
  } catch (const YAML::DeepRecursion& error) {  // the library calls that a bad file
    return noYaml(error, "it is nested too deeply");
  } catch (const YAML::Exception& error) {  // how the library reports invalid YAML
    return noYaml(error, error.msg);
  }
}

std::optional<Category> CategoryRules::stated(std::string_view word) const {
  std::string lower = base::lowerAscii(word);
  for (const auto& [known, category] : stated_) {
    if (known == lower) return category;
  }
  return std::nullopt;
}

std::shared_ptr<const CategoryRules> CategoryRules::builtIn() {
  static const std::shared_ptr<const CategoryRules> kBuiltIn = [] {
    base::Result<CategoryRules> parsed = parse(builtInText());
    assert(parsed.ok());  // a test parses them
    return std::make_shared<const CategoryRules>(parsed.ok() ? std::move(parsed).value()
                                                             : CategoryRules());
  }();
  return kBuiltIn;
}

}  // namespace tidegauge::analysis
