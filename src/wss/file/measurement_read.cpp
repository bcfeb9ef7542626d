#include <fmt/format.h>
#include <sys/stat.h>

#include <fstream>
#include <optional>

#include "wss/file/measurement_parse.h"

namespace tidegauge::wss {
namespace {

using nlohmann::json;

constexpr std::string_view kBeginning = R"({"tidegauge_wss":)";
constexpr const char* kAgain = "Create one with `tidegauge wss PID SECONDS -o FILE`";

base::Error unreadable(size_t number, const std::string& what, const char* hint = kAgain) {
  return {base::ErrorKind::kUnreadable, fmt::format("line {}: {}", number, what), {}, hint};
}

bool isRegularFile(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// Maximum nesting of lists and objects. Checked before parsing, since each level takes much more
// memory than its one character. (The parser could skip them, but that takes quadratic time in the
// objects of a list.)
constexpr size_t kDeepest = 16;
bool isTooDeep(std::string_view text) {
  size_t depth = 0;
  bool is_text = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (is_text && c == '\\') {
      ++i;
    } else if (c == '"') {
      is_text = !is_text;
    } else if (!is_text && (c == '[' || c == '{')) {
      if (++depth > kDeepest) return true;
    } else if (!is_text && (c == ']' || c == '}')) {
      depth -= depth > 0;
    }
  }
  return false;
}

// First of all: in another version, nothing else may be the same.
std::optional<base::Error> wrongVersion(const json& head) {
  const json& version = head["tidegauge_wss"];
  if (version.is_number_integer() && version == kMeasurementVersion) return std::nullopt;
  if (version.is_number_unsigned() && version > kMeasurementVersion)
    return unreadable(
        1,
        fmt::format("the file has version {} of the format, and this tidegauge reads version {}",
                    version.get<uint64_t>(), kMeasurementVersion),
        "Use a newer tidegauge");
  return unreadable(
      1, fmt::format(
             "\"tidegauge_wss\" is not a version of the format; this tidegauge reads version {}",
             kMeasurementVersion));
}

// The next line, without its line feed; false: end of the file. `ended`: it had a line feed.
bool nextLine(std::istream& in, std::string& line, bool& ended, bool& too_long) {
  line.clear();
  ended = too_long = false;
  for (int c = in.get(); c != std::istream::traits_type::eof(); c = in.get()) {
    if (c == '\n') return ended = true;
    if (line.size() == kMaxLineBytes) return too_long = true;
    line.push_back(static_cast<char>(c));
  }
  return !line.empty();
}

}  // namespace

bool isMeasurement(std::string_view beginning) { return beginning.starts_with(kBeginning); }

base::Result<Measurement> readMeasurement(std::istream& in) {
  std::optional<RowReader> rows;
  std::string line;
  bool ended = false, too_long = false, is_cut = false;
  for (size_t number = 1; nextLine(in, line, ended, too_long); ++number) {
    if (too_long) return unreadable(number, fmt::format("longer than {} bytes", kMaxLineBytes));
    if (!rows && !isMeasurement(line))
      return unreadable(1, "this is not a file of `tidegauge wss -o`");
    if (rows && rows->samples() == kMaxSamples)
      return base::Error{base::ErrorKind::kLimit,
                         fmt::format("it has more than {} windows", kMaxSamples),
                         {},
                         "Split the file, and repeat the first line in each part"};
    // The measurement is still running, or was killed.
    if (!ended && !json::accept(line)) {
      if (!rows) return unreadable(1, "the file ends inside this line");
      is_cut = true;
      break;
    }
    if (isTooDeep(line))
      return unreadable(number, fmt::format("it is nested deeper than {}", kDeepest));
    json object = json::parse(line, nullptr, false);
    if (!object.is_object()) return unreadable(number, "it is not a JSON object");
    Fields fields;
    if (rows) {
      rows->add(fields, object);
    } else {
      if (auto wrong = wrongVersion(object)) return *wrong;
      rows.emplace(readHead(fields, object));
    }
    if (fields.firstWrong()) return unreadable(number, *fields.firstWrong());
  }
  if (!rows) return unreadable(1, "the file is empty");
  Measurement measurement = rows->take();
  measurement.is_cut = is_cut;
  return measurement;
}

// Opens nothing else: a pipe would wait for a writer, a device may be endless.
bool isMeasurementFile(const std::string& path) {
  if (!isRegularFile(path)) return false;
  std::ifstream in(path, std::ios::binary);
  std::string beginning(kBeginning.size(), '\0');
  return in.read(beginning.data(), static_cast<std::streamsize>(beginning.size())) &&
         isMeasurement(beginning);
}

base::Result<Measurement> readMeasurementFile(const std::string& path) {
  if (struct stat status{}; ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    return base::Error{base::ErrorKind::kUnreadable,
                       "this is a folder, a pipe or a device, not a file of `tidegauge wss -o`",
                       {},
                       "Save the output of a pipe to a file first"};
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return base::Error{base::ErrorKind::kUnreadable,
                       "it cannot be opened",
                       {},
                       "Check the path and the permissions"};
  return readMeasurement(in);
}

}  // namespace tidegauge::wss
