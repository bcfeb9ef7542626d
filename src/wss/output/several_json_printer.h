// Several processes as JSON, for programs: one document at the end, or a line for each window.
//
//   {"backend": "pte", …, "rows": [{"time": …, "all": {…}, "processes": […]}], "left_out": []}
#pragma once

#include <nlohmann/json.hpp>

#include "wss/output/printer.h"
#include "wss/output/several_subject.h"

namespace tidegauge::wss {

class SeveralJsonPrinter final : public Printer<SeveralWindow> {
 public:
  SeveralJsonPrinter(const SeveralSubject& subject, const PrintOptions& options, JsonForm form);
  std::string window(const SeveralWindow& window) override;
  std::string end(const Ending& ending) override;

 private:
  nlohmann::json leftOut() const;

  SeveralSubject subject_;
  PrintOptions options_;
  JsonForm form_;
  nlohmann::json head_, rows_ = nlohmann::json::array();
  int windows_ = 0;
};

}  // namespace tidegauge::wss
