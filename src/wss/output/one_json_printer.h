// One process as JSON, for programs: one document at the end, or a line for each window.
//
//   {"pid": 4711, "process": "mysqld", …, "rows": [{"time": …}, …], "ended": null}
//   {"pid": 4711, "process": "mysqld", …, "time": …}
#pragma once

#include <nlohmann/json.hpp>

#include "wss/output/one_window.h"
#include "wss/output/printer.h"

namespace tidegauge::wss {

class OneJsonPrinter final : public Printer<OneWindow> {
 public:
  OneJsonPrinter(const OneSubject& subject, const PrintOptions& options, JsonForm form);
  std::string window(const OneWindow& window) override;
  std::string end(const Ending& ending) override;

 private:
  OneSubject subject_;
  PrintOptions options_;
  JsonForm form_;
  nlohmann::json head_, rows_ = nlohmann::json::array();
};

}  // namespace tidegauge::wss
