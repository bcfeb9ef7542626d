#include "cli/wss/wss_writer.h"

#include <fmt/format.h>

#include "base/text_layout.h"
#include "cli/wss/wss_common.h"
#include "cli/wss/wss_rolling.h"
#include "wss/output/one_csv_printer.h"
#include "wss/output/one_json_printer.h"
#include "wss/output/one_text_printer.h"

namespace tidegauge::cli {
namespace {

std::unique_ptr<wss::Printer<wss::OneWindow>> printerOf(const WssOptions& options,
                                                        const wss::OneSubject& subject) {
  if (options.form.compat)
    return std::make_unique<wss::OneCompatPrinter>(
        subject,
        wss::CompatWords{fmt::format("{}", subject.asked_pid), options.course.seconds,
                         options.course.pause, options.course.steps},
        options.form.more_times);
  if (options.form.csv) return std::make_unique<wss::OneCsvPrinter>(subject);
  if (options.form.json || options.form.jsonl)
    return std::make_unique<wss::OneJsonPrinter>(subject, printOptions(options), jsonForm(options));
  return std::make_unique<wss::OneTextPrinter>(subject, printOptions(options));
}

}  // namespace

WssWriter::WssWriter(const WssOptions& options, const wss::Plan& plan, const wss::Process& process,
                     const wss::Choice& choice, Output& out)
    : options_(options),
      plan_(plan),
      process_(process),
      out_(out),
      rolling_(rollingOf(options, plan)),
      printer_(printerOf(options, {.process = process,
                                   .choice = choice,
                                   .plan = plan,
                                   .rolling = rolling_.get(),
                                   .asked_pid = options.targets.pids.front()})) {
  out_.write(printer_->begin());
  if (options.form.csv) complainOfLimits(*choice.backend);
  if (!options.files.output.empty())
    file_.emplace(options.files.output, wss::headOf(process, choice, plan, rolling_ != nullptr));
  out_.flush();  // who waits for the first row sees what it waits for
}

bool WssWriter::row(const wss::Row& row) {
  wss::OneWindow window{row, unixSeconds()};
  rows_ += 1;
  if (rolling_) rolling_->add(row);
  if (file_) file_->row(row, window.unix_s, plan_, rolling_ ? &rolling_->last() : nullptr);
  out_.write(printer_->window(window));
  out_.flush();
  return !out_.failed() && !(file_ && file_->failed());
}

int WssWriter::end(const base::Status& status) {
  out_.write(printer_->end({.status = status}));
  int code = endFile();
  if (!rolling_) return code;
  int plot_code =
      writeHeatPlot(options_, *rolling_,
                    fmt::format("What {} touched, and when", base::printable(process_.name())));
  return code != 0 ? code : plot_code;
}

int WssWriter::endFile() {
  if (!file_ || file_->end()) return 0;
  complain(fmt::format("tidegauge: {} could not be written. Perhaps the disk is full.",
                       base::printable(file_->path())));
  return kNotWritten;
}

}  // namespace tidegauge::cli
