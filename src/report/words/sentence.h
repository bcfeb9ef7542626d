// Sentences about a recording: the text in parts, the view of the page that shows it, and the SQL
// whose result contains all its numbers. Text, JSON and the page use the same sentences.
//
//   "The program requested 4,008 MiB. The driver had 3,842 MiB free, and 807 MiB were free inside
//    segments."
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tidegauge::report {

struct Part {
  enum class Style : uint8_t { kPlain, kStrong, kCode };
  std::string text;
  Style style = Style::kPlain;
};

struct Link {
  std::string view;   // "timeline"
  std::string label;  // "Timeline"
  std::vector<std::pair<std::string, std::string>> params;
};

struct Sentence {
  std::vector<Part> parts;
  std::optional<Link> link;
  std::string sql{};  // its result contains every number of the sentence
};

std::string plainText(const std::vector<Part>& parts);

Part plain(std::string text);
Part strong(std::string text);
Part code(std::string text);

// "one free range", "27 free ranges".
std::string freeRanges(uint64_t count);

// The SQL view with the statement.
Link sqlLink(std::string sql);
// The Growth view: "growing", "never_freed" or "churn".
Link growthLink(const std::string& list);

// "› Timeline · SELECT …;" on one line, without line breaks; empty without SQL.
std::string evidenceText(const std::string& sql, const std::optional<Link>& link);

}  // namespace tidegauge::report
