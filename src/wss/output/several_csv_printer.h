// Several processes as CSV: a line for each process and window, and one without a process for all
// of them, if it is known which pages are the same.
#pragma once

#include "wss/output/printer.h"
#include "wss/output/several_subject.h"

namespace tidegauge::wss {

class SeveralCsvPrinter final : public Printer<SeveralWindow> {
 public:
  explicit SeveralCsvPrinter(const SeveralSubject& subject) : subject_(subject) {}
  std::string begin() override;
  std::string window(const SeveralWindow& window) override;
  std::string end(const Ending& ending) override;

 private:
  SeveralSubject subject_;
};

}  // namespace tidegauge::wss
