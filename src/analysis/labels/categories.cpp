#include "analysis/labels/categories.h"

#include <algorithm>
#include <bit>

#include "model/tensors/tensors.h"

namespace tidegauge::analysis {
namespace {

struct Names {
  std::string_view name;
  std::string_view title;
};
constexpr std::array<Names, kCategories> kNames = {{{"other", "other"},
                                                    {"parameters", "parameters"},
                                                    {"activations", "activations"},
                                                    {"attention", "attention"},
                                                    {"norm", "norm and residual"},
                                                    {"logits", "logits and loss"},
                                                    {"communication", "communication"},
                                                    {"optimizer", "optimizer"},
                                                    {"gradients", "gradients and recompute"},
                                                    {"unknown", "unknown or older"}}};

using RuleBits = uint64_t;  // bit i = rule i
static_assert(CategoryRules::kMaxRules <= 64);

// Which rules a text matches, for one kind of pattern; rules without such a pattern always match.
class TextRules {
 public:
  TextRules(const model::Trace& trace, const CategoryRules& rules,
            std::optional<TextPattern> CategoryRules::Rule::*pattern)
      : trace_(trace), rules_(rules), pattern_(pattern), known_(trace.strings.size()) {
    for (size_t r = 0; r < rules.rules().size(); ++r) {
      if (!(rules.rules()[r].*pattern)) always_ |= RuleBits{1} << r;
    }
  }

  RuleBits of(model::StringId id) {
    if (!id.valid()) return always_;
    Known& known = known_[id.index()];
    if (!known.looked_at) known = {true, look(trace_.strings.text(id))};
    return known.bits;
  }
  RuleBits ofText(std::string_view text) const { return look(text); }
  RuleBits always() const { return always_; }

 private:
  struct Known {
    bool looked_at = false;
    RuleBits bits = 0;
  };

  RuleBits look(std::string_view text) const {
    std::string slashed(text);
    std::replace(slashed.begin(), slashed.end(), '\\', '/');  // Windows
    RuleBits bits = always_;
    for (size_t r = 0; r < rules_.rules().size(); ++r) {
      const std::optional<TextPattern>& pattern = rules_.rules()[r].*pattern_;
      if (pattern && pattern->matches(slashed)) bits |= RuleBits{1} << r;
    }
    return bits;
  }

  const model::Trace& trace_;
  const CategoryRules& rules_;
  std::optional<TextPattern> CategoryRules::Rule::*pattern_;
  RuleBits always_ = 0;
  std::vector<Known> known_;
};

// Which phase rules match at a step. Steps must be asked for in ascending order.
class PhaseRules {
 public:
  PhaseRules(const model::Trace& trace, const std::vector<Phase>& phases, TextRules& names) {
    for (const Phase& phase : phases) {
      RuleBits bits = names.of(trace.annotations.name[phase.annotation]) & ~names.always();
      if (bits != 0 && phase.begin_step < phase.end_step) {
        edges_.push_back({phase.begin_step, bits, true});
        edges_.push_back({phase.end_step, bits, false});
      }
    }
    std::stable_sort(edges_.begin(), edges_.end(),
                     [](const Edge& x, const Edge& y) { return x.step < y.step; });
  }

  RuleBits at(Step step) {
    for (; next_ < edges_.size() && edges_[next_].step <= step; ++next_) {
      for (RuleBits bits = edges_[next_].bits; bits != 0; bits &= bits - 1) {
        auto rule = static_cast<size_t>(std::countr_zero(bits));
        open_[rule] += edges_[next_].opens ? 1 : -1;
        RuleBits bit = RuleBits{1} << rule;
        now_ = open_[rule] > 0 ? now_ | bit : now_ & ~bit;
      }
    }
    return now_;
  }

 private:
  struct Edge {
    Step step;
    RuleBits bits;
    bool opens;
  };
  std::vector<Edge> edges_;
  size_t next_ = 0;
  RuleBits now_ = 0;
  std::array<int64_t, CategoryRules::kMaxRules> open_{};
};

// What a named tensor proves of its block. An activation or another tensor says less than the rules
// do: they distinguish attention from norms.
std::optional<Category> categoryOf(model::TensorKind kind) {
  switch (kind) {
    case model::TensorKind::kParameter:
    case model::TensorKind::kBuffer:
      return Category::kParameters;
    case model::TensorKind::kGradient:
      return Category::kGradients;
    case model::TensorKind::kOptimizerState:
      return Category::kOptimizer;
    case model::TensorKind::kActivation:
    case model::TensorKind::kOther:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::string_view name(Category category) { return kNames[static_cast<size_t>(category)].name; }
std::string_view title(Category category) { return kNames[static_cast<size_t>(category)].title; }

std::optional<Category> categoryByName(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i].name == name) return static_cast<Category>(i);
  }
  return std::nullopt;
}

Categories::Categories(const model::Trace& trace, std::vector<const std::vector<Phase>*> phases,
                       std::shared_ptr<const CategoryRules> rules)
    : trace_(trace), phases_(std::move(phases)), rules_(std::move(rules)) {}

// The rules whose function and file match a frame of the stack; rules that name neither match all.
std::vector<RuleBits> Categories::rulesOfStacks(const CategoryRules& rules) const {
  TextRules functions(trace_, rules, &CategoryRules::Rule::function);
  TextRules files(trace_, rules, &CategoryRules::Rule::file);
  RuleBits without_frame = functions.always() & files.always();
  std::vector<RuleBits> of_frame(trace_.frames.size());
  // A stack of the forward pass is there for memory of the backward pass: it proves that.
  RuleBits of_backward = functions.ofText("backward") & files.ofText("");
  for (size_t f = 0; f < of_frame.size(); ++f) {
    if (trace_.frames.kind[f] == model::FrameKind::kForward) {
      of_frame[f] = of_backward;
      continue;
    }
    of_frame[f] = functions.of(trace_.frames.function[f]) & files.of(trace_.frames.file[f]);
  }
  std::vector<RuleBits> of_stack(trace_.stacks.size() + 1, without_frame);  // last: no stack
  for (size_t s = 0; s < trace_.stacks.size(); ++s) {
    model::StackId stack(static_cast<uint32_t>(s));
    model::FrameList frames = trace_.stacks.framesOf(stack);
    for (size_t i = 0; i < trace_.stacks.depth(stack); ++i) {
      of_stack[s] |= of_frame[frames[i].index()];
    }
  }
  return of_stack;
}

void Categories::compute() const {
  std::shared_ptr<const CategoryRules> rules = rules_ ? rules_ : CategoryRules::builtIn();
  std::vector<RuleBits> of_stack = rulesOfStacks(*rules);
  bool has_phases = std::any_of(phases_.begin(), phases_.end(),
                                [](const std::vector<Phase>* phases) { return !phases->empty(); });
  is_by_stack_ = !has_phases && trace_.allocations.category.empty() && !trace_.tensors;
  if (is_by_stack_) {
    computeStacks(*rules, of_stack);
    return;
  }
  by_row_.resize(trace_.allocations.size());
  for (size_t d = 0; d < trace_.devices.size(); ++d) computeDevice(d, *rules, of_stack);
  takeNames();
}

void Categories::takeNames() const {
  if (!trace_.tensors) return;
  const model::Tensors& tensors = *trace_.tensors;
  for (size_t i = 0; i < tensors.by_allocation.size(); ++i) {
    uint32_t tensor = tensors.by_allocation[i];
    model::AllocationId id = tensors.allocation[tensor];
    // The main one of each allocation comes first.
    bool main = i == 0 || tensors.allocation[tensors.by_allocation[i - 1]] != id;
    std::optional<Category> category = main ? categoryOf(tensors.kind[tensor]) : std::nullopt;
    if (category) by_row_[id.index()] = static_cast<uint8_t>(*category);
  }
}

void Categories::computeStacks(const CategoryRules& rules,
                               const std::vector<RuleBits>& of_stack) const {
  RuleBits always = TextRules(trace_, rules, &CategoryRules::Rule::phase).always();
  size_t count = rules.rules().size();
  if (count < 64) always &= (RuleBits{1} << count) - 1;
  for (RuleBits bits : of_stack) {
    RuleBits fits = bits & always;
    auto first = static_cast<size_t>(std::countr_zero(fits));
    Category category = fits == 0 ? Category::kUnknown : rules.rules()[first].category;
    by_stack_.push_back(static_cast<uint8_t>(category));
  }
}

void Categories::computeDevice(size_t device, const CategoryRules& rules,
                               const std::vector<RuleBits>& of_stack) const {
  const model::Allocations& a = trace_.allocations;
  TextRules names(trace_, rules, &CategoryRules::Rule::phase);
  PhaseRules phase_rules(trace_, *phases_[device], names);
  const RuleBits without_phase = names.always();
  const RuleBits all =
      rules.rules().size() == 64 ? ~RuleBits{0} : (RuleBits{1} << rules.rules().size()) - 1;
  std::vector<std::pair<uint32_t, std::optional<Category>>> stated;  // few distinct words
  auto statedBy = [&](model::StringId word) -> std::optional<Category> {
    for (const auto& [known, category] : stated) {
      if (known == word.value) return category;
    }
    std::optional<Category> category = rules.stated(trace_.strings.text(word));
    if (stated.size() < 64) stated.emplace_back(word.value, category);
    return category;
  };
  const model::Device& of = trace_.devices[device];
  for (uint64_t row = of.allocation_begin; row < of.allocation_end; ++row) {
    RuleBits phase = without_phase;
    // Memory older than the recording was allocated in an unknown phase.
    bool born_here = a.has(row, model::kAllocSeen);
    if (born_here) phase |= phase_rules.at(a.first_step[row]);
    bool has_word = !a.category.empty() && a.category[row].valid();
    std::optional<Category> category = has_word ? statedBy(a.category[row]) : std::nullopt;
    bool has_stack = a.stack[row].valid() && !a.has(row, model::kStackIsOfFree);
    RuleBits fits = of_stack[has_stack ? a.stack[row].index() : of_stack.size() - 1] & phase & all;
    if (!category && fits != 0) {
      category = rules.rules()[static_cast<size_t>(std::countr_zero(fits))].category;
    }
    if (!category) {
      std::string_view word = has_word ? trace_.strings.text(a.category[row]) : std::string_view();
      category = word.empty() || word == "unknown" || word == "UNKNOWN" ? Category::kUnknown
                                                                        : Category::kOther;
    }
    by_row_[row] = static_cast<uint8_t>(*category);
  }
}

}  // namespace tidegauge::analysis
