#include "cli/wss/wss_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string>

#include "cli/options/output.h"
#include "cli/options/usage.h"
#include "cli/wss/wss_file.h"
#include "cli/wss/wss_pinned.h"
#include "cli/wss/wss_rolling.h"
#include "cli/wss/wss_several.h"
#include "cli/wss/wss_survey.h"

namespace tidegauge::cli {
namespace {

// The last is the time, the others are processes.
int parseWords(WssOptions& options) {
  bool by_rule = !options.targets.comm.empty() || !options.targets.cgroup.empty();
  bool is_path = options.words.size() == 1 && !by_rule &&
                 options.words[0].find_first_not_of("0123456789.") != std::string::npos;
  if (is_path && ::access(options.words[0].c_str(), F_OK) == 0)
    return usageError(
        shownPath(options.words[0]) + " is not a measurement of wss",
        "`wss FILE` prints a file of `wss -o FILE`. For snapshots and recordings use `report "
        "FILE`");
  if (is_path)
    return usageError(
        shownPath(options.words[0]) + " is neither a file nor a PID with a window length",
        "Try `tidegauge wss 4711 0.1`, or a file saved by wss -o");
  if (options.words.size() < (by_rule ? 1 : 2))
    return usageError(
        "wss requires a PID and a "
        "window length in seconds",
        "Try `tidegauge wss 4711 0.1`");
  options.course.seconds = options.words.back();
  if (std::string wrong = number(0.001, kMaxWssSeconds)(options.course.seconds); !wrong.empty())
    return usageError(fmt::format("SECONDS {}", wrong));
  // As long as that few mean to wait, and it is somebody's number.
  constexpr double kLongWindow_s = 300;
  bool may_be_process = std::stod(options.course.seconds) >= kLongWindow_s &&
                        wholeNumber(1, kMaxPid)(options.course.seconds).empty() &&
                        ::access(("/proc/" + options.course.seconds).c_str(), F_OK) == 0;
  if (may_be_process)
    complain(fmt::format(
        "tidegauge: wss uses {0} as the window length in seconds. If it is a PID, press Ctrl-C "
        "and add the window length after it.",
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

}  // namespace

int checkWss(WssOptions& options) {
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
  bool stands_still = options.method.exact_window;
  if (stands_still && (options.method.backend == "mglru" || options.method.backend == "damon"))
    return usageError(
        fmt::format("--backend {} watches while the process runs, so --exact-window does not work",
                    options.method.backend),
        "Omit --exact-window, or use --backend pte or smaps");
  if (stands_still && options.form.compat)
    return usageError("--compat prints times as wss.pl does, which stops no process",
                      "Omit --exact-window or --compat");
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

}  // namespace tidegauge::cli
