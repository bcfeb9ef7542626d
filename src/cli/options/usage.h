// Checks of option values, and the errors for invalid ones.
//
//   command->add_option("--top", top)->check(wholeNumber(1, 10'000));
//   tidegauge report --top -1 x.pickle
//   → tidegauge: --top must be a whole number from 1 to 10,000, not “-1”. …          exit code 2
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace tidegauge::cli {

inline constexpr uint64_t kMaxPid = 4'194'304;  // PID_MAX_LIMIT of Linux
CLI::Validator wholeNumber(uint64_t least, uint64_t most);
CLI::Validator integer(int64_t least, int64_t most);
// Finite; `least` itself is allowed.
CLI::Validator number(double least, double most);
// In bytes, as parsed by base::parseSize(); `range` in words: "1 byte to 1 PiB, as in 512MiB".
CLI::Validator size(uint64_t least, uint64_t most, const std::string& range);
CLI::Validator oneOf(std::vector<std::string> names);

// How messages name the FILE of a user: "-" is standard input.
std::string shownPath(const std::string& path);

// Exit code 2 and one line; `hint` may be empty.
int usageError(const std::string& what, const std::string& hint = {});

// Parses and runs. Returns the exit code.
int runCommandLine(CLI::App& app, int argc, char** argv, const int& exit_code);

}  // namespace tidegauge::cli
