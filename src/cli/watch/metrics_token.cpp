#include "cli/watch/metrics_token.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace tidegauge::cli {
namespace {

constexpr size_t kShortest = 16, kLongest = 1024;

}  // namespace

base::Result<std::string> metricsToken(const std::string& path) {
  struct stat status {};
  std::ifstream file(path);
  if (::stat(path.c_str(), &status) != 0 || !file)
    return base::Error{base::ErrorKind::kUsage,
                       fmt::format("{} cannot be read: {}", path, std::strerror(errno)),
                       {},
                       "--metrics-token needs a file with a token in its first line"};
  constexpr const char* kMake = "Make a file for it: (umask 077; openssl rand -hex 16 >NAME)";
  if (!S_ISREG(status.st_mode))
    return base::Error{base::ErrorKind::kUsage, path + " is not a regular file", {}, kMake};
  if ((status.st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) != 0)
    return base::Error{base::ErrorKind::kUsage,
                       path + " holds a token, and other users may read or change it",
                       {},
                       kMake};
  std::string token;
  std::getline(file, token);
  while (!token.empty() && (token.back() == '\r' || token.back() == ' ')) token.pop_back();
  bool is_plain =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 127; });
  if (token.size() < kShortest || token.size() > kLongest || !is_plain)
    return base::Error{
        base::ErrorKind::kUsage,
        fmt::format("the first line of {} is no token of {} to {} characters without "
                    "spaces",
                    path, kShortest, kLongest),
        {},
        kMake};
  return token;
}

}  // namespace tidegauge::cli
