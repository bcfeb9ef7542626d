#include "cli/wss/wss_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "cli/options/output.h"
#include "cli/options/usage.h"
#include "cli/wss/wss_file.h"
#include "cli/wss/wss_pinned.h"
#include "cli/wss/wss_rolling.h"
#include "cli/wss/wss_several.h"
#include "cli/wss/wss_survey.h"
#include "wss/measure/choose.h"
#include "wss/surveys/survey.h"

namespace tidegauge::cli {
namespace {

// No clock of ours counts further.
constexpr double kMaxSeconds = 1e9;

// The last is the time, the others are processes.
int parseWords(WssOptions& options) {
  bool by_rule = !options.targets.comm.empty() || !options.targets.cgroup.empty();
  bool is_path = options.words.size() == 1 && !by_rule &&
                 options.words[0].find_first_not_of("0123456789.") != std::string::npos;
  if (is_path && ::access(options.words[0].c_str(), F_OK) == 0)
    return usageError(shownPath(options.words[0]) + " is not a measurement of wss",
                      "`wss FILE` prints what `wss -o FILE` saved; "
                      "for snapshots and recordings use `report FILE`");
  if (is_path)
    return usageError(
        shownPath(options.words[0]) + " is neither a file nor a PID with a window length",
        "Try tidegauge wss 4711 0.1, or a file saved by wss -o");
  if (options.words.size() < (by_rule ? 1 : 2))
    return usageError(
        "wss requires a PID and a "
        "window length in seconds",
        "Try tidegauge wss 4711 0.1");
  options.course.seconds = options.words.back();
  if (std::string wrong = number(0.001, kMaxSeconds)(options.course.seconds); !wrong.empty())
    return usageError(fmt::format("SECONDS {}", wrong));
  // As long as that few mean to wait, and it is somebody's number.
  constexpr double kLongWindow_s = 300;
  bool may_be_process = std::stod(options.course.seconds) >= kLongWindow_s &&
                        wholeNumber(1, kMaxPid)(options.course.seconds).empty() &&
                        ::access(("/proc/" + options.course.seconds).c_str(), F_OK) == 0;
  if (may_be_process)
    complain(
        fmt::format("tidegauge: taking {0} as the window length in seconds. If it "
                    "is a PID, press Ctrl-C and add the window length after it.",
                    options.course.seconds));
  for (size_t i = 0; i + 1 < options.words.size(); ++i) {
    if (std::string wrong = wholeNumber(1, kMaxPid)(options.words[i]); !wrong.empty())
      return usageError(fmt::format("PID {}", wrong));
    options.targets.pids.push_back(std::stoi(options.words[i]));
  }
  return 0;
}

// --writes and --backend write are one.
int checkWrites(WssOptions& options) {
  if (options.method.writes && options.method.backend != "auto" &&
      options.method.backend != "write")
    return usageError(
        fmt::format("--backend {} cannot distinguish writes from reads", options.method.backend),
        "Omit --backend");
  if (options.method.writes) options.method.backend = "write";
  if (options.method.backend == "write" && !options.course.steps.empty())
    return usageError("--writes does not support -P", "Use -C, -s or one window");
  return 0;
}

int checked(WssOptions& options) {
  if (options.probe)
    return options.words.empty() ? 0
                                 : usageError(
                                       "--probe checks this "
                                       "machine and takes no PID",
                                       "Omit the PID");
  if (isWssFile(options)) return checkWssFile(options);
  if (int code = parseWords(options); code != 0) return code;
  if (int code = checkWrites(options); code != 0) return code;
  if (int code = checkOutput(options); code != 0) return code;
  if (int code = checkSurvey(options); code != 0 || isSurvey(options)) return code;
  if (int code = checkSeveral(options); code != 0) return code;
  bool rolls = options.course.rolling > 0;
  if (options.course.cumulative + !options.course.pause.empty() + !options.course.steps.empty() +
          rolls >
      1)
    return usageError("-C, -s, -P and --rolling exclude each other", "Use one of them");
  if (options.dry_run && options.form.count() > 0)
    return usageError("--dry-run prints text only", "Omit --compat, --json and the like");
  if (options.form.count() > 1)
    return usageError("--compat, --json, --jsonl and --csv exclude each other", "Use one of them");
  if (!options.form.by.empty() && (options.form.compat || options.form.csv))
    return usageError("--by lists mappings, which --compat and --csv cannot print",
                      "Use --json or --jsonl for programs");
  bool is_auto = options.method.backend == "auto";
  if (options.form.compat && !is_auto && options.method.backend != "smaps")
    return usageError(
        fmt::format("--compat requires --backend smaps, not {}", options.method.backend),
        "It prints the PSS, and times as wss.pl does");
  bool must_sample = options.method.sample != "auto" && options.method.sample != "exact";
  if (must_sample && (options.form.compat || (!is_auto && options.method.backend != "pte")))
    return usageError("--sample requires --backend pte, without --compat",
                      "Other back-ends read all pages, or sample on their own");
  bool has_marks = options.method.backend != "mglru" && options.method.backend != "damon";
  if (!has_marks && (options.course.cumulative || !options.course.steps.empty()))
    return usageError(
        fmt::format("--backend {} measures one window at a time; it does not support -C and -P",
                    options.method.backend),
        "Use -s, or --backend pte or smaps");
  if (int code = checkPinned(options); code != 0) return code;
  if (options.method.backend == "mglru" && !options.form.by.empty() && options.form.by != "kind")
    return usageError("--backend mglru does not know the mapping or file of a page",
                      "Use --by kind, or --backend pte or smaps");
  if (options.course.total_s > 0 && !options.course.cumulative && options.course.pause.empty() &&
      options.course.steps.empty() && !rolls)
    return usageError("-d requires a run of several windows", "Add -C, -s, -P or --rolling");
  return checkRolling(options);
}

}  // namespace

void addWssCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<WssOptions>();
  CLI::App* command = app.add_subcommand("wss", "Measure how much host memory a process touches");
  command
      ->add_option(
          "PID", options->words,
          "One or more PIDs, then the window length in seconds (4711 0.1); or a file written by -o")
      ->type_name("");
  command->add_flag("--children", options->targets.children,
                    "Include their children, and the children of those");
  command
      ->add_option("--comm", options->targets.comm, "All processes of this name, as in ps -eo comm")
      ->type_name("NAME");
  command
      ->add_option("--cgroup", options->targets.cgroup,
                   "All processes of this cgroup "
                   "and the cgroups below it")
      ->type_name("PATH");
  command->add_flag("-C,--cumulative", options->course.cumulative,
                    "Print every SECONDS what was touched since the start");
  command
      ->add_option("-s,--snapshot", options->course.pause,
                   "Measure windows of SECONDS repeatedly, with a pause of S seconds")
      ->check(number(0, kMaxSeconds))
      ->type_name("S");
  command
      ->add_option("-P,--profile", options->course.steps,
                   "Measure N windows, each twice as long as the one before, from SECONDS on")
      ->check(wholeNumber(1, 40))
      ->type_name("N");
  command
      ->add_option("--rolling", options->course.rolling,
                   "Measure windows back to back; print what the last 1, 2, 4 … N of them touched")
      ->check(wholeNumber(1, wss::PageHistory::kMaxWindows))
      ->type_name("N");
  command->add_flag("--heat", options->form.heat,
                    "(--rolling) Draw which addresses were touched when; --jsonl lists them");
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
      ->check(number(0.001, kMaxSeconds))
      ->type_name("S");
  command->add_flag("-t,--moretimes", options->form.more_times,
                    "Also print sleep time and total time");
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
                   "Warn if reading all pages may stall the process's mmap for longer")
      ->check(number(0.001, 1e6))
      ->type_name("MS")
      ->capture_default_str();
  command->add_option("--spots", options->method.spots, "(spot) Number of words to watch")
      ->check(wholeNumber(4, 100'000))
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--experiment", options->method.experiment,
                    "(shrink) Allow taking memory away from running programs");
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
      ->add_option("--by", options->form.by, "List what was touched by vma (mapping), file or kind")
      ->check(oneOf({"vma", "file", "kind"}))
      ->type_name("WHAT");
  command
      ->add_option("--with", options->method.with,
                   "Report device-pinned host memory separately, from a recording or snapshot")
      ->type_name("FILE");
  command->add_option("--top", options->form.top, "(--by) Number of rows to list")
      ->check(wholeNumber(1, 1'000'000))
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--compat", options->form.compat, "Print the text of wss.pl, byte for byte");
  command->add_flag("--json", options->form.json, "Print one JSON document at the end");
  command->add_flag("--jsonl", options->form.jsonl, "Print a line of JSON for each row");
  command->add_flag("--csv", options->form.csv, "Print comma-separated rows");
  command->add_flag(
      "--probe", options->probe,
      "Measure nothing; print which back-ends work on this machine, and why others do not");
  command->add_flag("--dry-run", options->dry_run,
                    "Measure nothing; print how it would be measured, and the cost");
  command->callback([options, command, &exit_code] {
    for (const CLI::Option* option : command->get_options())
      if (option->count() > 0) options->given.push_back(option->get_name());
    exit_code = checked(*options);
    if (exit_code == 0) exit_code = runWss(*options);
  });
}

}  // namespace tidegauge::cli
