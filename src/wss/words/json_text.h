// JSON of a measurement as text, and how it ended.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"

namespace tidegauge::wss {

// Names may hold any bytes: what is not UTF-8 is replaced. `indent` −1: one line.
inline std::string jsonText(const nlohmann::json& json, int indent = -1) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Why a measurement ended before its last window; null: it did not, or a signal ended it.
inline nlohmann::json endedJson(const base::Status& status) {
  return status.ok() ? nlohmann::json() : nlohmann::json(status.error().what);
}

}  // namespace tidegauge::wss
