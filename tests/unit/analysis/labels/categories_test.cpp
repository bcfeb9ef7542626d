#include "analysis/labels/categories.h"

#include <gtest/gtest.h>

#include "analysis/trace/analysed_trace.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using testing::TraceBuilder;

// The category of one allocation with that stack, by the built-in rules.
Category categoryOf(const std::vector<std::string>& frames) {
  TraceBuilder b;
  b.stack(frames).alloc(0x1000, 512);
  AnalysedTrace trace(b.build());
  return trace.categories->of(0);
}

TEST(Categories, TheBuiltInRulesAreUsable) {
  auto rules = CategoryRules::parse(CategoryRules::builtInText());
  ASSERT_TRUE(rules.ok()) << rules.error().what;
  EXPECT_GE(rules.value().rules().size(), 9u);
}

TEST(Categories, KnowTheFramesOfTheFrameworks) {
  const std::string call = "_call_impl@/x/torch/nn/modules/module.py:1";
  EXPECT_EQ(categoryOf({"forward@/x/torch/nn/modules/linear.py:114", call, "main@train.py:3"}),
            Category::kActivations);
  EXPECT_EQ(categoryOf({"scaled_dot_product@m.py:1", "forward@model.py:8"}), Category::kAttention);
  EXPECT_EQ(categoryOf({"forward@/x/vllm/attention/layer.py:9"}), Category::kAttention);
  EXPECT_EQ(categoryOf({"rms_norm@model.py:2", "forward@model.py:8"}), Category::kNorm);
  EXPECT_EQ(categoryOf({"cross_entropy@/x/torch/nn/functional.py:3", "step@train.py:4"}),
            Category::kLogits);
  EXPECT_EQ(categoryOf({"all_gather_into_tensor@/x/torch/distributed/distributed_c10d.py:3"}),
            Category::kCommunication);
  EXPECT_EQ(categoryOf({"_init_group@/x/torch/optim/adamw.py:3", "step@train.py:4"}),
            Category::kOptimizer);
  EXPECT_EQ(categoryOf({"convert@/x/torch/nn/modules/module.py:3",
                        "to@/x/torch/nn/modules/module.py:9", "__init__@attention.py:3"}),
            Category::kParameters);
  EXPECT_EQ(categoryOf({"torch::autograd::Engine::evaluate_function@engine.cpp:0"}),
            Category::kGradients);
  EXPECT_EQ(categoryOf({"forward@m.py:1", "recompute_fn@/x/torch/utils/checkpoint.py:3"}),
            Category::kGradients);
  EXPECT_EQ(categoryOf({"main@train.py:3"}), Category::kUnknown);
}

TEST(Categories, TheFirstRuleWinsAndPhasesCount) {
  auto rules = CategoryRules::parse(R"(
rules:
  - category: norm
    function: [same, /^exact$/]
    file: model.py
  - category: optimizer
    phase: /optim/
  - category: attention
    function: [same]
)");
  ASSERT_TRUE(rules.ok()) << rules.error().what;
  TraceBuilder b;
  b.time(100);
  b.stack({"same@model.py:1"}).alloc(0x1000, 512);                  // 100: norm
  b.stack({"same@other.py:1", "x@model.py:1"}).alloc(0x2000, 512);  // 101: not in one frame
  b.stack({"same@other.py:1"}).alloc(0x3000, 512);                  // 102: in the phase
  b.noStack().alloc(0x4000, 512);                                   // 103: in the phase
  b.noStack().alloc(0x5000, 512);                                   // 104: after it
  b.annotation("Optim.step", 102, 103);
  AnalysedTrace trace(b.build(), std::make_shared<const CategoryRules>(std::move(rules).value()));
  EXPECT_EQ(trace.categories->of(0), Category::kNorm);
  EXPECT_EQ(trace.categories->of(1), Category::kAttention);
  EXPECT_EQ(trace.categories->of(2), Category::kOptimizer);
  EXPECT_EQ(trace.categories->of(3), Category::kOptimizer);
  EXPECT_EQ(trace.categories->of(4), Category::kUnknown);
}

TEST(Categories, WhatTheFileSaysComesFirst) {
  TraceBuilder b;
  for (uint64_t i = 0; i < 4; ++i) b.stack({"attention@a.py:1"}).alloc(0x1000 * (i + 1), 512);
  b.noStack().alloc(0x9000, 512);
  model::Trace trace = b.build();
  trace.allocations.category.resize(trace.allocations.size());
  trace.allocations.category[0] = trace.strings.intern("OPTIMIZER_STATE");
  trace.allocations.category[1] = trace.strings.intern("TEMPORARY");
  trace.allocations.category[4] = trace.strings.intern("INPUT");
  AnalysedTrace analysed(std::move(trace));
  EXPECT_EQ(analysed.categories->of(0), Category::kOptimizer);
  EXPECT_EQ(analysed.categories->of(1), Category::kAttention) << "not a known category: the stack";
  EXPECT_EQ(analysed.categories->of(2), Category::kAttention);
  EXPECT_EQ(analysed.categories->of(4), Category::kOther) << "stated, but none of the nine";
}

TEST(Categories, TheTensorOfABlockIsTheTruth) {
  using model::TensorKind;
  TraceBuilder b;
  for (uint64_t i = 1; i <= 6; ++i) b.stack({"attention@a.py:1"}).alloc(0x1000 * i, 512);
  b.tensor(0x1000, "w").tensor(0x2000, "b", TensorKind::kBuffer);
  b.tensor(0x3000, "w.grad", TensorKind::kGradient);
  b.tensor(0x4000, "w.exp_avg", TensorKind::kOptimizerState);
  b.tensor(0x5000, "out", TensorKind::kActivation).tensor(0x5000, "x", TensorKind::kOther);
  b.tensor(0x6000, "grad", TensorKind::kGradient).tensor(0x6000, "flat", TensorKind::kParameter);
  model::Trace trace = b.build();
  trace.allocations.category.resize(trace.allocations.size());
  trace.allocations.category[0] = trace.strings.intern("OPTIMIZER_STATE");
  AnalysedTrace analysed(std::move(trace));
  EXPECT_EQ(analysed.categories->of(0), Category::kParameters) << "before what the file states";
  EXPECT_EQ(analysed.categories->of(1), Category::kParameters);
  EXPECT_EQ(analysed.categories->of(2), Category::kGradients);
  EXPECT_EQ(analysed.categories->of(3), Category::kOptimizer);
  EXPECT_EQ(analysed.categories->of(4), Category::kAttention) << "the rules know more";
  EXPECT_EQ(analysed.categories->of(5), Category::kParameters) << "the main tensor";
}

TEST(Categories, BadRulesAreNamed) {
  for (const char* bad :
       {"", "[]", "rules: 1", "rules: [1]", "rules: [{category: blue, file: x}]",
        "rules: [{category: norm}]", "rules: [{category: norm, file: []}]",
        "rules: [{category: norm, colour: x, file: y}]", "rules: [{category: norm, file: [[x]]}]",
        "rules: [{category: norm, file: '/(/'}]", "{rules: [", "stated: {a: b}", "unheard: 1"}) {
    auto rules = CategoryRules::parse(bad);
    ASSERT_FALSE(rules.ok()) << bad;
    EXPECT_EQ(rules.error().kind, base::ErrorKind::kUsage);
  }
  std::string many = "rules:\n";
  for (int i = 0; i < 65; ++i) many += "  - {category: norm, file: x}\n";
  EXPECT_FALSE(CategoryRules::parse(many).ok());
  EXPECT_FALSE(CategoryRules::parse(std::string(2 << 20, ' ')).ok());
  EXPECT_FALSE(CategoryRules::parse(std::string(100'000, '[')).ok()) << "depth is bounded";
}

TEST(Categories, AKeyIsThereOnce) {
  auto what = [](const char* yaml) {
    auto parsed = CategoryRules::parse(yaml);
    return parsed.ok() ? std::string() : parsed.error().what;
  };
  EXPECT_NE(what("rules: []\nrules: []\n").find("“rules” twice"), std::string::npos);
  EXPECT_NE(what("stated: {A: optimizer, A: parameters}").find("stated has “A” twice"),
            std::string::npos);
  EXPECT_NE(
      what("rules: [{category: optimizer, file: a, file: b}]").find("rule 1 has “file” twice"),
      std::string::npos);
  EXPECT_NE(what("? [a]\n: []\n").find("not text"), std::string::npos);
}

TEST(Categories, InvalidYamlSaysWhere) {
  auto whatOf = [](const std::string& yaml) { return CategoryRules::parse(yaml).error().what; };
  const std::string unusable = "the category rules are invalid: ";
  EXPECT_EQ(whatOf("rules: [\n"), unusable + "line 2, column 1: end of sequence flow not found");
  std::string deep = whatOf("rules:\n  " + std::string(100'000, '['));
  EXPECT_TRUE(deep.starts_with(unusable + "line ")) << deep;
  EXPECT_TRUE(deep.ends_with(": it is nested too deeply")) << deep;
}

}  // namespace
}  // namespace tidegauge::analysis
