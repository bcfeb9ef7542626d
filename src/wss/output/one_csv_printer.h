// One process as rows alone: CSV, and the text of wss.pl, which scripts read as columns.
#pragma once

#include <string>
#include <utility>

#include "wss/output/one_window.h"
#include "wss/output/printer.h"
#include "wss/words/compat_text.h"

namespace tidegauge::wss {

class OneCsvPrinter final : public Printer<OneWindow> {
 public:
  explicit OneCsvPrinter(const OneSubject& subject) : subject_(subject) {}
  std::string begin() override;
  std::string window(const OneWindow& window) override;
  std::string end(const Ending& ending) override;

 private:
  OneSubject subject_;
};

class OneCompatPrinter final : public Printer<OneWindow> {
 public:
  OneCompatPrinter(const OneSubject& subject, CompatWords words, bool more_times)
      : subject_(subject), words_(std::move(words)), more_times_(more_times) {}
  std::string begin() override;
  std::string window(const OneWindow& window) override;
  std::string end(const Ending& ending) override;

 private:
  OneSubject subject_;
  CompatWords words_;
  bool more_times_;
};

}  // namespace tidegauge::wss
