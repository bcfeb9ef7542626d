#include "cli/wss/wss_command.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/options/usage.h"
#include "cli/wss/wss_check.h"
#include "wss/choice/choose.h"
#include "wss/measure/page_history.h"
#include "wss/surveys/survey.h"

namespace tidegauge::cli {
void addWssCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<WssOptions>();
  CLI::App* command = app.add_subcommand("wss", "Measure how much host memory a process touches");
  command
      ->add_option("PID", options->words,
                   "PIDs, then SECONDS, the length of a window (4711 0.1); or a file written by -o")
      ->type_name("");
  command->add_flag("--children", options->targets.children,
                    "Include their children and all further descendants");
  command
      ->add_option("--comm", options->targets.comm, "All processes of this name, as in ps -eo comm")
      ->type_name("NAME");
  command
      ->add_option("--cgroup", options->targets.cgroup,
                   "All processes of this cgroup "
                   "and the cgroups below it")
      ->type_name("PATH");
  command->add_flag("-C,--cumulative", options->course.cumulative,
                    "Every SECONDS, print the memory touched since the start");
  command
      ->add_option("-s,--snapshot", options->course.pause,
                   "Measure windows of SECONDS repeatedly, with a pause of S seconds")
      ->check(number(0, kMaxWssSeconds))
      ->type_name("S");
  command
      ->add_option("-P,--profile", options->course.steps,
                   "Measure N windows, the first of SECONDS, each twice as long as the one before")
      ->check(wholeNumber(1, 40))
      ->type_name("N");
  command
      ->add_option(
          "--rolling", options->course.rolling,
          "Measure windows back to back; print the memory that the last 1, 2, 4 … N of them "
          "touched")
      ->check(wholeNumber(1, wss::PageHistory::kMaxWindows))
      ->type_name("N");
  command->add_flag(
      "--heat", options->form.heat,
      "(--rolling) Draw which addresses were touched at which time; --jsonl lists them");
  command
      ->add_option("--plot", options->files.plot,
                   "(--heat) Write the picture to a file, .svg or .png")
      ->type_name("FILE");
  command
      ->add_option("-o,--output", options->files.output,
                   "Save the measurement in a file, for `wss FILE` and `view FILE`")
      ->type_name("FILE");
  command->add_flag("--force", options->files.force,
                    "Overwrite the file of -o or --plot if it exists");
  command
      ->add_option("-d,--duration", options->course.total_s,
                   "(-C, -s, -P, --rolling) Stop after S seconds")
      ->check(number(0.001, kMaxWssSeconds))
      ->type_name("S");
  command->add_flag("-t,--moretimes", options->form.more_times,
                    "Also print how long wss slept and how long the measurement took, in seconds");
  std::vector<std::string> backends{"auto"};
  backends.insert(backends.end(), wss::kBackends.begin(), wss::kBackends.end());
  backends.insert(backends.end(), wss::kSurveys.begin(), wss::kSurveys.end());
  command
      ->add_option("--backend", options->method.backend,
                   fmt::format("Method: {}", fmt::join(backends, ", ")))
      ->check(oneOf(backends))
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option("--sample", options->method.sample,
                   "Pages of private memory to read: auto, exact (all), 1/32, 1/128, 1/512")
      ->check(oneOf({"auto", "exact", "1/32", "1/128", "1/512"}))
      ->type_name("PART")
      ->capture_default_str();
  command
      ->add_option("--max-stall-ms", options->method.most_stall_ms,
                   "Warn if reading all pages may stall the process's mmap for more than this many "
                   "milliseconds")
      ->check(number(0.001, 1e6))
      ->type_name("MS")
      ->capture_default_str();
  command->add_flag("--exact-window", options->method.exact_window,
                    "Stop the process while its memory is cleared and while it is read, so that "
                    "all of it is watched for exactly the same time");
  command
      ->add_option("--spots", options->method.spots,
                   "(spot) Number of 8-byte words of memory to watch")
      ->check(wholeNumber(4, 100'000))
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--experiment", options->method.experiment,
                    "(shrink, resctrl --ways) Allow slowing running programs down: their memory "
                    "or their share of the cache is reduced");
  command->add_flag("--ways", options->method.ways,
                    "(resctrl) Allow the process fewer and fewer ways of the last-level cache, "
                    "until it reads more from memory");
  command
      ->add_option("--pressure", options->method.pressure,
                   "(shrink) Reclaim until tasks stall on memory for this percentage of the time, "
                   "and hold that, as senpai does")
      ->check(number(0.001, 99))
      ->type_name("PERCENT");
  command
      ->add_option("--max-pressure", options->method.most_pressure,
                   "(shrink) Stop when tasks stall on memory for more than this percentage of time")
      ->check(number(0.1, 100))
      ->type_name("PERCENT")
      ->capture_default_str();
  command->add_flag("--writes", options->method.writes,
                    "Report written pages, the write rate, and "
                    "how long until all memory has been written");
  command
      ->add_option("--by", options->form.by,
                   "List the touched memory by vma (mapping), file or kind")
      ->check(oneOf({"vma", "file", "kind"}))
      ->type_name("WHAT");
  command
      ->add_option(
          "--with", options->method.with,
          "Report pinned host memory separately; FILE is a recording or snapshot of the process")
      ->type_name("FILE");
  command->add_option("--top", options->form.top, "(--by) Number of rows to list")
      ->check(wholeNumber(1, 1'000'000))
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--compat", options->form.compat,
                    "Print exactly the output of Brendan Gregg's script wss.pl");
  command->add_flag("--json", options->form.json, "Print one JSON document at the end");
  command->add_flag("--jsonl", options->form.jsonl, "Print a line of JSON for each row");
  command->add_flag("--csv", options->form.csv, "Print comma-separated rows");
  command->add_flag(
      "--probe", options->probe,
      "Measure nothing; print which back-ends work on this machine, and why others do not");
  command->add_flag("--dry-run", options->dry_run,
                    "Measure nothing; print the method that wss would use, and its cost");
  command->callback([options, command, &exit_code] {
    for (const CLI::Option* option : command->get_options())
      if (option->count() > 0) options->given.push_back(option->get_name());
    exit_code = checkWss(*options);
    if (exit_code == 0) exit_code = runWss(*options);
  });
}

}  // namespace tidegauge::cli
