// A survey as text and as JSON.
//
//   pressure of mysqld (process 4711): what the kernel counts …     {"backend": "pressure", …,
//   Time(s)   Some%   Full%  Scan(MB) …                              "rows": [{…}],
//   Memory of its cgroup is not short: …                             "all": {…}, "verdict": "…"}
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "wss/output/printer.h"
#include "wss/process/process.h"
#include "wss/surveys/survey.h"

namespace tidegauge::wss {

class SurveyTextPrinter final : public Printer<SurveyRow> {
 public:
  // `process`: nullptr of a cgroup.
  SurveyTextPrinter(const Survey& survey, int64_t window_ns, const Process* process,
                    size_t columns);
  std::string begin() override;
  std::string window(const SurveyRow& row) override;
  std::string end(const Ending& ending) override;

 private:
  std::string wrapped(const std::string& words) const;

  const Survey& survey_;
  SurveyHead head_;
  std::string whose_;
  size_t columns_;
  int rows_ = 0;
};

class SurveyJsonPrinter final : public Printer<SurveyRow> {
 public:
  SurveyJsonPrinter(const Survey& survey, int64_t window_ns, const Process* process, JsonForm form);
  std::string window(const SurveyRow& row) override;
  std::string end(const Ending& ending) override;

 private:
  const Survey& survey_;
  JsonForm form_;
  nlohmann::json head_, rows_ = nlohmann::json::array();
  bool is_empty_ = true;
};

}  // namespace tidegauge::wss
