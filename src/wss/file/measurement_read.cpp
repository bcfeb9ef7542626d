#include <fmt/format.h>
#include <sys/stat.h>

#include <fstream>
#include <optional>

#include "wss/file/measurement_parse.h"

namespace tidegauge::wss {
namespace {

using nlohmann::json;

constexpr std::string_view kBeginning = R"({"tidegauge_wss":)";
constexpr const char* kAgain = "Measure again with tidegauge wss -o FILE";

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
    return unreadable(1,
                      fmt::format("it is of version {} of the format, and this tidegauge reads {}",
                                  version.get<uint64_t>(), kMeasurementVersion),
                      "A newer tidegauge wrote it, and can read it");
  return unreadable(1, fmt::format("\"tidegauge_wss\" is no version of the format that there is; "
                                   "this tidegauge reads {}",
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
      return unreadable(1, "no head of a measurement of tidegauge wss");
    if (rows && rows->samples() == kMaxSamples)
      return base::Error{base::ErrorKind::kLimit,
                         fmt::format("it has more than {} windows", kMaxSamples),
                         {},
                         "Split it: each part wants the first line before it"};
    // The measurement is still running, or was killed.
    if (!ended && !json::accept(line)) {
      if (!rows) return unreadable(1, "the file ends within it");
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
  if (!rows) return unreadable(1, "there is none");
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
                       "it is a folder, a pipe or a device, and no file of wss -o",
                       {},
                       "Write what a pipe gives to a file first"};
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return base::Error{base::ErrorKind::kUnreadable,
                       "it cannot be opened",
                       {},
                       "Is the path right, and may this user read it?"};
  return readMeasurement(in);
}

}  // namespace tidegauge::wss
