// Fields of a line of JSON from an unknown source, each checked when it is read.
//
//   Fields fields;
//   head.pid = fields.whole(line, "pid");    {"pid": "x"} → 0, firstWrong(): "pid" is not a number
//   if (fields.firstWrong()) …
//
// The first invalid field is remembered; later fields are 0 or empty.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace tidegauge::wss {

class Fields {
 public:
  // 2^53: exact in JSON.
  static constexpr double kMaxWhole = 9007199254740992.0;
  static constexpr double kMaxSeconds = 1e9;
  static constexpr size_t kMaxText = 4096;  // bytes

  // False if absent or null.
  static bool tells(const nlohmann::json& of, const char* name);

  // From 0 to `most`.
  double number(const nlohmann::json& of, const char* name, double most);
  uint64_t whole(const nlohmann::json& of, const char* name, double most = kMaxWhole);
  int64_t nanoseconds(const nlohmann::json& of, const char* name);  // written as seconds
  std::string text(const nlohmann::json& of, const char* name);
  bool flag(const nlohmann::json& of, const char* name);
  const nlohmann::json& object(const nlohmann::json& of, const char* name);
  // Absent: an empty list.
  const nlohmann::json& list(const nlohmann::json& of, const char* name, size_t most);

  void wrong(std::string what);
  const std::optional<std::string>& firstWrong() const { return wrong_; }

 private:
  nlohmann::json empty_ = nlohmann::json::object(), empty_list_ = nlohmann::json::array();
  std::optional<std::string> wrong_;
};

}  // namespace tidegauge::wss
