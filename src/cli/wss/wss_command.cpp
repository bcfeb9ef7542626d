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
  bool by_rule = !options.comm.empty() || !options.cgroup.empty();
  bool is_path = options.words.size() == 1 && !by_rule &&
                 options.words[0].find_first_not_of("0123456789.") != std::string::npos;
  if (is_path && ::access(options.words[0].c_str(), F_OK) == 0)
    return usageError(
        shownPath(options.words[0]) + " is no measurement of wss",
        "wss tells again what wss -o FILE kept; of snapshots and recordings: report FILE");
  if (is_path)
    return usageError(shownPath(options.words[0]) + " is neither a file nor a process with a time",
                      "tidegauge wss 4711 0.1, or a file that wss -o kept");
  if (options.words.size() < (by_rule ? 1 : 2))
    return usageError("wss wants a process and a time", "tidegauge wss 4711 0.1");
  options.seconds = options.words.back();
  if (std::string wrong = number(0.001, kMaxSeconds)(options.seconds); !wrong.empty())
    return usageError(fmt::format("SECONDS {}", wrong));
  // As long as that few mean to wait, and it is somebody's number.
  constexpr double kLongWindow_s = 300;
  bool may_be_process = std::stod(options.seconds) >= kLongWindow_s &&
                        wholeNumber(1, kMaxPid)(options.seconds).empty() &&
                        ::access(("/proc/" + options.seconds).c_str(), F_OK) == 0;
  if (may_be_process)
    complain(fmt::format(
        "tidegauge: the last word is the time: a window of {0} s begins. If process {0} was meant, "
        "Ctrl-C, and put the time behind it",
        options.seconds));
  for (size_t i = 0; i + 1 < options.words.size(); ++i) {
    if (std::string wrong = wholeNumber(1, kMaxPid)(options.words[i]); !wrong.empty())
      return usageError(fmt::format("PID {}", wrong));
    options.pids.push_back(std::stoi(options.words[i]));
  }
  return 0;
}

// --writes and --backend write are one.
int checkWrites(WssOptions& options) {
  if (options.writes && options.backend != "auto" && options.backend != "write")
    return usageError(
        fmt::format("--backend {} does not tell writing from reading", options.backend),
        "Leave out --backend");
  if (options.writes) options.backend = "write";
  if (options.backend == "write" && !options.steps.empty())
    return usageError("--writes has no -P: what is written is no working set that is to fit",
                      "Take -C, -s or one window");
  return 0;
}

int checked(WssOptions& options) {
  if (options.probe)
    return options.words.empty()
               ? 0
               : usageError("--probe looks at the machine, at no process", "Leave out the process");
  if (isWssFile(options)) return checkWssFile(options);
  if (int code = parseWords(options); code != 0) return code;
  if (int code = checkWrites(options); code != 0) return code;
  if (int code = checkOutput(options); code != 0) return code;
  if (int code = checkSurvey(options); code != 0 || isSurvey(options)) return code;
  if (int code = checkSeveral(options); code != 0) return code;
  bool rolls = options.rolling > 0;
  if (options.cumulative + !options.pause.empty() + !options.steps.empty() + rolls > 1)
    return usageError("-C, -s, -P and --rolling do not go together", "Take one of them");
  if (options.dry_run && options.compat + options.json + options.jsonl + options.csv > 0)
    return usageError("--dry-run is told in words alone",
                      "Leave out --compat, --json and the like");
  if (options.compat + options.json + options.jsonl + options.csv > 1)
    return usageError("--compat, --json, --jsonl and --csv do not go together", "Take one of them");
  if (!options.by.empty() && (options.compat || options.csv))
    return usageError("--by lists mappings, which --compat and --csv have no place for",
                      "Take --json or --jsonl for programs");
  bool is_auto = options.backend == "auto";
  if (options.compat && !is_auto && options.backend != "smaps")
    return usageError(fmt::format("--compat is for --backend smaps, not for {}", options.backend),
                      "It prints the PSS, and times as wss.pl takes them");
  bool must_sample = options.sample != "auto" && options.sample != "exact";
  if (must_sample && (options.compat || (!is_auto && options.backend != "pte")))
    return usageError("--sample is for --backend pte, without --compat",
                      "The others look at all pages, or choose themselves");
  bool has_marks = options.backend != "mglru" && options.backend != "damon";
  if (!has_marks && (options.cumulative || !options.steps.empty()))
    return usageError(
        fmt::format("--backend {} takes one window at a time: -C and -P are not for it",
                    options.backend),
        "Take -s, or --backend pte or smaps");
  if (int code = checkPinned(options); code != 0) return code;
  if (options.backend == "mglru" && !options.by.empty() && options.by != "kind")
    return usageError("--backend mglru does not know which mapping or file a page is of",
                      "Take --by kind, or --backend pte or smaps");
  if (options.total_s > 0 && !options.cumulative && options.pause.empty() &&
      options.steps.empty() && !rolls)
    return usageError("-d limits a run of several windows",
                      "Take -C, -s, -P or --rolling beside it");
  return checkRolling(options);
}

}  // namespace

void addWssCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<WssOptions>();
  CLI::App* command = app.add_subcommand(
      "wss", "Measure a process's working set: how many bytes it touches in a time");
  command
      ->add_option(
          "PID", options->words,
          "One process or several, and behind them SECONDS: how long a window is, as in 0.1; or a "
          "file of -o, which is told again")
      ->type_name("");
  command->add_flag("--children", options->children,
                    "With all that they forked, and what those forked");
  command->add_option("--comm", options->comm, "All processes of that name, as ps -eo comm has it")
      ->type_name("NAME");
  command
      ->add_option("--cgroup", options->cgroup, "All processes in that cgroup and those below it")
      ->type_name("PATH");
  command->add_flag("-C,--cumulative", options->cumulative,
                    "A row every SECONDS of what was touched since the beginning");
  command
      ->add_option("-s,--snapshot", options->pause,
                   "A window of SECONDS again and again, with a pause of S seconds between")
      ->check(number(0, kMaxSeconds))
      ->type_name("S");
  command
      ->add_option("-P,--profile", options->steps,
                   "N windows, each twice as long as the one before, beginning with SECONDS")
      ->check(wholeNumber(1, 40))
      ->type_name("N");
  command
      ->add_option("--rolling", options->rolling,
                   "Windows back to back, and what was touched within the last 1, 2, 4 … N of them")
      ->check(wholeNumber(1, wss::PageHistory::kMaxWindows))
      ->type_name("N");
  command->add_flag(
      "--heat", options->heat,
      "Of --rolling, draw which addresses were touched when; with --jsonl, list them");
  command->add_option("--plot", options->plot, "Draw that to a file, .svg or .png")
      ->type_name("FILE");
  command
      ->add_option("-o,--output", options->output,
                   "Keep the measurement in a file as it comes, for wss FILE and view FILE")
      ->type_name("FILE");
  command->add_flag("--force", options->force, "Write over the file of -o or --plot if it exists");
  command
      ->add_option("-d,--duration", options->total_s,
                   "End after S seconds, with -C, -s, -P or --rolling")
      ->check(number(0.001, kMaxSeconds))
      ->type_name("S");
  command->add_flag("-t,--moretimes", options->more_times,
                    "Say too how long it slept, and how long all took");
  std::vector<std::string> backends{"auto"};
  backends.insert(backends.end(), wss::kBackends.begin(), wss::kBackends.end());
  backends.insert(backends.end(), wss::kSurveys.begin(), wss::kSurveys.end());
  command
      ->add_option("--backend", options->backend,
                   fmt::format("How it is measured: {}", fmt::join(backends, ", ")))
      ->check(oneOf(backends))
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option("--sample", options->sample,
                   "Of private memory look at all pages, or one in "
                   "32, 128 or 512: auto, exact, 1/32, 1/128, 1/512")
      ->check(oneOf({"auto", "exact", "1/32", "1/128", "1/512"}))
      ->type_name("PART")
      ->capture_default_str();
  command
      ->add_option("--max-stall-ms", options->most_stall_ms,
                   "Say so if all pages are looked at and the process's mmap may wait longer")
      ->check(number(0.001, 1e6))
      ->type_name("MS")
      ->capture_default_str();
  command->add_option("--spots", options->spots, "Of --backend spot: words that are watched")
      ->check(wholeNumber(4, 100'000))
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--experiment", options->experiment,
                    "Of --backend shrink: it may take memory away from running programs");
  command
      ->add_option("--max-pressure", options->most_pressure,
                   "Of --backend shrink: end when they wait for memory for more than that share of "
                   "the time, in percent")
      ->check(number(0.1, 100))
      ->type_name("PERCENT")
      ->capture_default_str();
  command->add_flag("--writes", options->writes,
                    "What was written to, how fast, and how soon that would be all");
  command->add_option("--by", options->by, "List what was touched, by vma (mapping), file or kind")
      ->check(oneOf({"vma", "file", "kind"}))
      ->type_name("WHAT");
  command
      ->add_option("--with", options->with,
                   "Tell by itself the host memory that is pinned for devices, as a recording or a "
                   "snapshot of that process has it")
      ->type_name("FILE");
  command->add_option("--top", options->top, "Rows of that list")
      ->check(wholeNumber(1, 1'000'000))
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--compat", options->compat, "The text of wss.pl, byte for byte");
  command->add_flag("--json", options->json, "One JSON document, when all is measured");
  command->add_flag("--jsonl", options->jsonl, "A line of JSON for each row, as it comes");
  command->add_flag("--csv", options->csv, "Comma-separated rows, as they come");
  command->add_flag(
      "--probe", options->probe,
      "Measure nothing: say which back-ends can work here, and why the others cannot");
  command->add_flag("--dry-run", options->dry_run,
                    "Measure nothing: say how it would be done, and what it would cost");
  command->callback([options, command, &exit_code] {
    for (const CLI::Option* option : command->get_options())
      if (option->count() > 0) options->given.push_back(option->get_name());
    exit_code = checked(*options);
    if (exit_code == 0) exit_code = runWss(*options);
  });
}

}  // namespace tidegauge::cli
