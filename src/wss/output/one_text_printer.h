// One process as text, for people: a head, a row for each window, and what all of them say.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wss/file/suggested_limit.h"
#include "wss/output/one_window.h"
#include "wss/output/printer.h"
#include "wss/words/fit_text.h"
#include "wss/words/row_text.h"

namespace tidegauge::wss {

class OneTextPrinter final : public Printer<OneWindow> {
 public:
  OneTextPrinter(const OneSubject& subject, const PrintOptions& options);
  std::string begin() override;
  std::string window(const OneWindow& window) override;
  std::string end(const Ending& ending) override;

 private:
  std::string header() const;
  std::string warnings() const;
  std::string wrapped(const std::string& words) const;

  OneSubject subject_;
  PrintOptions options_;
  TextOptions text_;
  Machine machine_;
  std::vector<Touched> profile_;          // of -P
  std::string cold_;                      // what the longest window says is cold
  UnseenTouches unseen_;                  // in any of several windows
  std::optional<MinuteWindows> minutes_;  // of windows that may say which limit would do
  std::string repeats_{};                 // of the last row of several
  Cost most_{};                           // that any window had
  Meanwhile last_reclaimed_{};            // of the last row in which memory was reclaimed
  size_t windows_reclaimed_ = 0;
  int rows_ = 0;
};

}  // namespace tidegauge::wss
