#include "readers/torch/pickle/json.h"

#include <gtest/gtest.h>

#include "unit/readers/torch/pickle_writer.h"

namespace tidegauge::readers::torch {
namespace {

// The result of a metadata string.
std::string metadataOf(std::string_view literal) {
  auto trace = readText(R"({"segments": [], "device_traces": [[{"action": "alloc",
      "user_metadata": )" +
                        std::string(literal) + "}]]}");
  if (!trace.ok()) return "error: " + trace.error().what;
  return std::string(trace.value().strings.text(trace.value().events.metadata[0]));
}

TEST(Json, ReadsStrings) {
  EXPECT_EQ(metadataOf(R"("plain")"), "plain");
  EXPECT_EQ(metadataOf(R"("")"), "");
  EXPECT_EQ(metadataOf(R"("a\"b\\c\/d\n\t\r\b\f")"), "a\"b\\c/d\n\t\r\b\f");
  EXPECT_EQ(metadataOf(R"("\u00e4\u6b65")"), "ä步");
  EXPECT_EQ(metadataOf(R"("\ud83d\ude00")"), "😀");
  EXPECT_EQ(metadataOf(R"("\ud83dx\ude00")"), "\xef\xbf\xbdx\xef\xbf\xbd");
  EXPECT_EQ(metadataOf(R"("\ud83dA")"),
            "\xef\xbf\xbd"
            "A");
}

TEST(Json, ReadsOtherValuesAsText) {
  EXPECT_EQ(metadataOf("1.5"), "1.5");
  EXPECT_EQ(metadataOf("-7"), "-7");
  EXPECT_EQ(metadataOf("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(metadataOf("99999999999999999999"), "a number beyond 64 bits");
  EXPECT_EQ(metadataOf("true"), "True");
  EXPECT_EQ(metadataOf("null"), "None");
  EXPECT_EQ(metadataOf("NaN"), "nan");
  EXPECT_EQ(metadataOf("-Infinity"), "-inf");
  EXPECT_EQ(metadataOf("1e400"), "inf");
  EXPECT_EQ(metadataOf("-1e400"), "-inf");
  EXPECT_EQ(metadataOf("1e-400"), "0");
  EXPECT_EQ(metadataOf(R"({"a": 1, "b": [], "c": [1, 2, 3]})"), "{a: 1, b: [], c: …}");
}

TEST(Json, RefusesWhatIsBroken) {
  const std::string_view broken[] = {
      "{",      "[",         "{\"a\"",      "{\"a\":",       "{\"a\": 1", "{\"a\" 1}",
      "{1: 2}", "[1 2]",     "[1,]",        "{\"a\": 1,}",   "[tru]",     "[-]",
      "[\"a]",  "[\"\\x\"]", "[\"\\u12\"]", "[\"\\u12g4\"]", "{]",        "[1}",
      "[+1]",   "[nul",
  };
  for (std::string_view text : broken) {
    auto trace = readText(text);
    ASSERT_FALSE(trace.ok()) << text;
    EXPECT_TRUE(trace.error().byte_offset.has_value() ||
                trace.error().what.find("protocol") != std::string::npos)
        << text;
  }
}

TEST(Json, ToleratesSpaceAndNamesWhatFollows) {
  auto spaced = readText(" \n {\"segments\" :\t[ ] } \r\n");
  ASSERT_TRUE(spaced.ok()) << spaced.error().what;
  EXPECT_EQ(spaced.value().source.format, "JSON");
  EXPECT_EQ(spaced.value().issues.count(model::IssueKind::kTrailingBytes), 0u);
  auto trailing = readText("{\"segments\": []} {}");
  ASSERT_TRUE(trailing.ok());
  EXPECT_EQ(trailing.value().issues.count(model::IssueKind::kTrailingBytes), 2u);
}

TEST(Json, AByteOrderMarkIsNotPartOfIt) {
  auto trace = readText("\xef\xbb\xbf{\"segments\": []}");
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_EQ(trace.value().issues.count(model::IssueKind::kTrailingBytes), 0u);
}

TEST(Json, EveryCutSaysSo) {
  constexpr std::string_view kWhole =
      R"({"segments": [true, null, -12, 1.5e3, NaN, -Infinity, "a\u00e4\\"]})";
  for (size_t length = 1; length < kWhole.size(); ++length) {
    auto cut = readText(kWhole.substr(0, length));
    ASSERT_FALSE(cut.ok()) << length;
    // Half of "1.5e3" looks like a wrong number.
    bool half_number = kWhole.substr(0, length).ends_with('e') && kWhole[length] == '3';
    if (half_number) continue;
    EXPECT_NE(cut.error().what.find("ends in the middle"), std::string::npos)
        << kWhole.substr(0, length) << ": " << cut.error().what;
    EXPECT_EQ(cut.error().byte_offset, length) << kWhole.substr(0, length);
  }
}

TEST(Json, DeepNestingIsFine) {
  std::string text =
      "{\"segments\": [], \"deep\": " + std::string(200'000, '[') + std::string(200'000, ']') + "}";
  EXPECT_TRUE(readText(text).ok());
  EXPECT_FALSE(readText(std::string(200'000, '[')).ok());
}

}  // namespace
}  // namespace tidegauge::readers::torch
