// The key `tidegauge`: names of tensors beside a snapshot.
#include "model/tensors/tensors.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "unit/readers/torch/pickle_writer.h"

namespace tidegauge::readers::torch {
namespace {

using model::IssueKind;
using model::TensorKind;

// A snapshot with this as the value of the key.
model::Trace withNames(std::string_view json) {
  auto trace = readText(fmt::format(R"({{"segments": [], "device_traces": [[
      {{"action": "alloc", "addr": 4096, "size": 700, "stream": 0}}]], "tidegauge": {}}})",
                                    json));
  EXPECT_TRUE(trace.ok()) << trace.error().what;
  return trace.ok() ? std::move(trace).value() : model::Trace();
}

model::Trace withTensors(std::string_view list) {
  return withNames(fmt::format(R"({{"version": 1, "tensors": {}}})", list));
}

bool hasDetail(const model::Trace& trace, IssueKind kind, std::string_view detail) {
  for (const model::Issue& issue : trace.issues.all()) {
    if (issue.kind == kind && issue.detail == detail) return true;
  }
  return false;
}

TEST(NamesOfTensors, AreRead) {
  model::Trace trace = withTensors(R"([
      {"device": 0, "address": 4096, "bytes": 700, "name": "layers.3.attn.q_proj.weight",
       "kind": "parameter", "of": "", "state": "", "shape": [4096, 1024], "dtype": "float32",
       "time_us": 1700000000000000},
      {"device": 1, "address": -4096, "bytes": 16, "name": "exp_avg", "kind": "optimizer_state",
       "of": "w", "state": "exp_avg", "shape": [], "dtype": "bfloat16", "time_us": 5}])");
  ASSERT_NE(trace.tensors, nullptr);
  const model::Tensors& t = *trace.tensors;
  auto text = [&](model::StringId id) { return std::string(trace.strings.text(id)); };
  ASSERT_EQ(t.size(), 2u);
  EXPECT_EQ(t.device, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(t.address, (std::vector<uint64_t>{4096, ~uint64_t{4095}}));
  EXPECT_EQ(t.size_bytes, (std::vector<uint64_t>{700, 16}));
  EXPECT_EQ(text(t.name[0]), "layers.3.attn.q_proj.weight");
  EXPECT_EQ(t.kind, (std::vector<TensorKind>{TensorKind::kParameter, TensorKind::kOptimizerState}));
  EXPECT_FALSE(t.of[0].valid());
  EXPECT_EQ(text(t.of[1]), "w");
  EXPECT_EQ(text(t.state[1]), "exp_avg");
  EXPECT_EQ(text(t.shape[0]), "[4096, 1024]");
  EXPECT_EQ(text(t.shape[1]), "[]");
  EXPECT_EQ(text(t.dtype[1]), "bfloat16");
  EXPECT_EQ(t.time_us, (std::vector<int64_t>{1700000000000000, 5}));
  EXPECT_TRUE(trace.issues.all().empty());
}

TEST(NamesOfTensors, APickleWithPairsGivesTheSameShape) {
  PickleWriter writer;
  writer.proto().dict().mark().str("segments").list().str("device_traces").list().str("tidegauge");
  writer.dict().mark().str("version").number(1).str("tensors").list().mark().dict().mark();
  writer.str("device").number(0).str("address").number(4096).str("name").str("w");
  writer.str("kind").str("buffer").str("shape").number(3).number(4).pair();
  writer.setItems().appends().setItems().setItems().stop();
  auto trace = read(writer);
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  ASSERT_NE(trace.value().tensors, nullptr);
  const model::Tensors& t = *trace.value().tensors;
  EXPECT_EQ(trace.value().strings.text(t.shape[0]), "[3, 4]");
  EXPECT_EQ(t.kind[0], TensorKind::kBuffer);
  EXPECT_EQ(t.size_bytes[0], model::kUnknownBytes);
  EXPECT_EQ(t.time_us[0], model::kNoTime);
}

TEST(NamesOfTensors, ASnapshotWithoutThemHasNone) {
  EXPECT_EQ(withNames("null").tensors, nullptr);
  EXPECT_EQ(withTensors("[]").tensors, nullptr);
  EXPECT_EQ(withNames(R"({"version": 1})").tensors, nullptr);
  EXPECT_TRUE(withTensors("[]").issues.all().empty());
}

TEST(NamesOfTensors, AnotherVersionIsLeftOut) {
  for (std::string_view version : {"2", "\"1\"", "null", "1.0"}) {
    model::Trace trace = withNames(fmt::format(
        R"({{"version": {}, "tensors": [{{"device": 0, "address": 1, "name": "w"}}]}})", version));
    EXPECT_EQ(trace.tensors, nullptr) << version;
    EXPECT_EQ(trace.events.size(), 1u);
    EXPECT_TRUE(hasDetail(trace, IssueKind::kBadValue,
                          "'version' of tidegauge is not 1: names of tensors are left out"))
        << version;
  }
}

TEST(NamesOfTensors, WhatIsNoTensorIsAnIssue) {
  for (std::string_view value : {"7", "\"x\"", "[]", "[1]", "{}", "{\"action\": \"alloc\"}",
                                 "{\"filename\": \"f\", \"line\": 1, \"name\": \"n\"}"}) {
    model::Trace trace = withNames(value);
    EXPECT_EQ(trace.tensors, nullptr) << value;
    EXPECT_TRUE(hasDetail(trace, IssueKind::kBadValue, "'tidegauge' of the top level")) << value;
  }
  for (std::string_view list :
       {"7", "{\"a\": 1}", "[1, [], {}, \"x\", {\"action\": \"oom\"}]", "[[1, 2]]"}) {
    model::Trace trace = withTensors(list);
    EXPECT_EQ(trace.tensors, nullptr) << list;
    EXPECT_TRUE(hasDetail(trace, IssueKind::kBadValue, "'tensors' of tidegauge")) << list;
  }
}

TEST(NamesOfTensors, WithoutNameDeviceOrAddressARowIsLeftOut) {
  model::Trace trace = withTensors(R"([
      {"address": 1, "name": "a", "kind": "other"},
      {"device": 5000, "address": 1, "name": "a", "kind": "other"},
      {"device": 0, "name": "a", "kind": "other"},
      {"device": 0, "address": "0x10", "name": "a", "kind": "other"},
      {"device": 0, "address": 1, "name": "", "kind": "other"},
      {"device": 0, "address": 1, "name": 12, "kind": "other"},
      {"device": 0, "address": 1, "name": "kept", "kind": "other"}])");
  ASSERT_NE(trace.tensors, nullptr);
  EXPECT_EQ(trace.tensors->size(), 1u);
  for (std::string_view key : {"device", "address", "name"}) {
    EXPECT_TRUE(hasDetail(trace, IssueKind::kBadValue,
                          fmt::format("'{}' of a named tensor: left out", key)));
  }
  EXPECT_EQ(trace.issues.count(IssueKind::kBadValue), 6u);
}

TEST(NamesOfTensors, OtherBadValuesBecomeUnknown) {
  model::Trace trace = withTensors(R"([
      {"device": 0, "address": 1, "name": "w", "kind": "weird", "bytes": -1, "of": 3,
       "state": [], "shape": [1, "x"], "dtype": {}, "time_us": -4, "colour": "red"},
      {"device": 0, "address": 1, "name": "v", "shape": null, "of": null, "bytes": 8}])");
  ASSERT_NE(trace.tensors, nullptr);
  const model::Tensors& t = *trace.tensors;
  ASSERT_EQ(t.size(), 2u);
  for (size_t row = 0; row < 2; ++row) {
    EXPECT_EQ(t.kind[row], TensorKind::kOther);
    EXPECT_FALSE(t.of[row].valid() || t.state[row].valid());
    EXPECT_FALSE(t.shape[row].valid() || t.dtype[row].valid());
    EXPECT_EQ(t.time_us[row], model::kNoTime);
  }
  EXPECT_EQ(t.size_bytes, (std::vector<uint64_t>{model::kUnknownBytes, 8}));
  for (std::string_view key : {"kind", "bytes", "of", "state", "shape", "dtype", "time_us"}) {
    EXPECT_TRUE(hasDetail(trace, IssueKind::kBadValue, fmt::format("'{}' of a named tensor", key)))
        << key;
  }
  EXPECT_TRUE(hasDetail(trace, IssueKind::kMissingKey, "'kind' of a named tensor"));
  EXPECT_TRUE(hasDetail(trace, IssueKind::kUnknownKey, "'colour' of a named tensor"));
}

// One dict in two bytes, again and again: the rows stay within what the file's size justifies.
TEST(NamesOfTensors, OneDictNamedFromEverywhereGivesFewRows) {
  constexpr int kTimes = 20000;
  PickleWriter writer;
  writer.proto(2).dict().mark().str("segments").list().str("tidegauge");
  writer.dict().mark().str("version").number(1).str("tensors").list().mark().dict().put(1).mark();
  writer.str("device").number(0).str("address").number(1).str("name").str("w").setItems();
  for (int i = 0; i < kTimes; ++i) writer.get(1);
  writer.appends().setItems().setItems().stop();
  auto trace = read(writer);
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  ASSERT_NE(trace.value().tensors, nullptr);
  EXPECT_EQ(trace.value().tensors->size(), writer.size() / 16);
  EXPECT_EQ(trace.value().issues.count(IssueKind::kBadValue), kTimes + 1 - writer.size() / 16);
}

TEST(NamesOfTensors, AShapeOfManyDimensionsIsUnknown) {
  std::string shape = "[1";
  for (int i = 0; i < 100; ++i) shape += ",1";
  model::Trace trace = withTensors(fmt::format(
      R"([{{"device": 0, "address": 1, "name": "w", "kind": "other", "shape": {}]}}])", shape));
  ASSERT_NE(trace.tensors, nullptr);
  EXPECT_FALSE(trace.tensors->shape[0].valid());
}

}  // namespace
}  // namespace tidegauge::readers::torch
