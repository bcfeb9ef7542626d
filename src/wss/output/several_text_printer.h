// Several processes as text, for people: a table for each window, and what all of them say.
#pragma once

#include <string>
#include <vector>

#include "wss/output/printer.h"
#include "wss/output/several_subject.h"
#include "wss/words/fit_text.h"

namespace tidegauge::wss {

class SeveralTextPrinter final : public Printer<SeveralWindow> {
 public:
  SeveralTextPrinter(const SeveralSubject& subject, const PrintOptions& options);
  std::string begin() override;
  std::string window(const SeveralWindow& window) override;
  std::string end(const Ending& ending) override;

 private:
  std::string wrapped(const std::string& words) const;
  std::string beganText() const;
  std::string rollingRow(const SeveralWindow& window);
  std::string table(const SeveralWindow& window);

  SeveralSubject subject_;
  PrintOptions options_;
  Machine machine_;               // the limit is that of the first process
  std::vector<Touched> profile_;  // of -P, all of them
  UnseenTouches unseen_;          // of --rolling, in any window
  Cost most_{};                   // that any window had
  int windows_ = 0;
};

}  // namespace tidegauge::wss
