// Fields of a line of JSON that may come from anybody, each checked when it is asked for.
//
//   Fields fields;
//   head.pid = fields.whole(line, "pid");    {"pid": "x"} → 0, and firstWrong(): "pid" is no number
//   if (fields.firstWrong()) …
//
// The first that is not as it should be is remembered; what is asked for after it is 0 or empty.
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

  // Absent or null: no such thing is told.
  static bool tells(const nlohmann::json& of, const char* name);

  // From 0 to `most`.
  double number(const nlohmann::json& of, const char* name, double most);
  uint64_t whole(const nlohmann::json& of, const char* name, double most = kMaxWhole);
  int64_t nanoseconds(const nlohmann::json& of, const char* name);  // written as seconds
  std::string text(const nlohmann::json& of, const char* name);
  bool flag(const nlohmann::json& of, const char* name);
  const nlohmann::json& object(const nlohmann::json& of, const char* name);
  // Absent: an empty one.
  const nlohmann::json& list(const nlohmann::json& of, const char* name, size_t most);

  void wrong(std::string what);
  const std::optional<std::string>& firstWrong() const { return wrong_; }

 private:
  nlohmann::json empty_ = nlohmann::json::object(), empty_list_ = nlohmann::json::array();
  std::optional<std::string> wrong_;
};

}  // namespace tidegauge::wss
