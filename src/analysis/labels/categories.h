// What memory is for: parameters, activations, … Editable rules derive it from the frames that
// allocated, the phase they ran in, and the category that the file states. Where the program named
// the tensor of a block (model/tensors), its kind is the truth and comes first.
//
//   rules:                                       "F.py:9 scaled_dot_product_attention"  → attention
//     - category: attention
//       function: [/attention|sdpa/]             src/assets/categories.yaml has those built in
//
// Each distinct function and file name is matched against each rule once. Then each stack is a sum
// over its frames, and each allocation takes one byte; none if the file has no phases and states no
// categories, since then its stack decides. Computed once, on first use.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/labels/phases.h"
#include "analysis/labels/text_pattern.h"
#include "base/result.h"
#include "model/trace.h"

namespace tidegauge::analysis {

// The numbers are colours of the page (its slots), so they never change their meaning.
enum class Category : uint8_t {
  kOther = 0,
  kParameters = 1,
  kActivations = 2,
  kAttention = 3,
  kNorm = 4,
  kLogits = 5,
  kCommunication = 6,
  kOptimizer = 7,
  kGradients = 8,
  kUnknown = 9,
};
inline constexpr size_t kCategories = 10;
std::string_view name(Category category);   // "norm", as in rules, filters and tables
std::string_view title(Category category);  // "norm and residual", for people
std::optional<Category> categoryByName(std::string_view name);

class CategoryRules {
 public:
  static constexpr size_t kMaxRules = 64;
  static constexpr size_t kMaxBytes = 1 << 20;

  // Errors name the rule, or the line of invalid YAML.
  static base::Result<CategoryRules> parse(std::string_view yaml);
  static std::shared_ptr<const CategoryRules> builtIn();
  static std::string_view builtInText();

  struct Rule {
    Category category = Category::kOther;
    std::optional<TextPattern> function;
    std::optional<TextPattern> file;
    std::optional<TextPattern> phase;
  };
  const std::vector<Rule>& rules() const { return rules_; }
  // The category of a word stated in the file; absent if the rules do not know the word.
  std::optional<Category> stated(std::string_view word) const;

 private:
  std::vector<Rule> rules_;
  std::vector<std::pair<std::string, Category>> stated_;  // in lower case
};

class Categories {
 public:
  // `phases` by device, in the order of trace.devices. Both must outlive this. Without rules, the
  // built-in ones are used.
  Categories(const model::Trace& trace, std::vector<const std::vector<Phase>*> phases,
             std::shared_ptr<const CategoryRules> rules);

  // `row` of trace.allocations. Thread-safe.
  Category of(uint32_t row) const {
    std::call_once(once_, [this] { compute(); });
    return static_cast<Category>(is_by_stack_ ? by_stack_[stackOf(row)] : by_row_[row]);
  }
  // The rules that it was made with, for another recording of the same program; null: the built-in
  // ones.
  const std::shared_ptr<const CategoryRules>& rules() const { return rules_; }

 private:
  void compute() const;
  void computeStacks(const CategoryRules& rules, const std::vector<uint64_t>& of_stack) const;
  // The last one stands for no stack.
  size_t stackOf(uint32_t row) const {
    const model::Allocations& a = trace_.allocations;
    bool has_stack = a.stack[row].valid() && !a.has(row, model::kStackIsOfFree);
    return has_stack ? a.stack[row].index() : by_stack_.size() - 1;
  }
  std::vector<uint64_t> rulesOfStacks(const CategoryRules& rules) const;
  void computeDevice(size_t device, const CategoryRules& rules,
                     const std::vector<uint64_t>& of_stack) const;
  void takeNames() const;

  const model::Trace& trace_;
  std::vector<const std::vector<Phase>*> phases_;
  std::shared_ptr<const CategoryRules> rules_;
  mutable std::once_flag once_;
  mutable std::vector<uint8_t> by_row_, by_stack_;
  mutable bool is_by_stack_ = false;
};

}  // namespace tidegauge::analysis
