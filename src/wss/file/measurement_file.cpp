#include "wss/file/measurement_file.h"

#include <filesystem>
#include <utility>

namespace tidegauge::wss {

MeasurementFile::MeasurementFile(std::string path, MeasurementHead head)
    : path_(std::move(path)),
      lines_(std::move(head)),
      out_(path_, std::ios::binary | std::ios::trunc) {
  out_ << lines_.head() << std::endl;
}

void MeasurementFile::row(const Row& row, double unix_s, const Plan& plan, const Rolling* rolling) {
  last_begins_at_ = out_.tellp();
  out_ << lines_.next(row, unix_s, plan, rolling) << std::endl;
}

bool MeasurementFile::end() {
  // In the place of what is there of that row. Only a file has places: what cannot be sought stays
  // as it is.
  if (auto last = lines_.lastWithMappings(); last && out_ && out_.seekp(last_begins_at_)) {
    out_ << *last << std::endl;
    std::error_code failed;
    std::filesystem::resize_file(path_, static_cast<uint64_t>(out_.tellp()), failed);
  }
  out_.close();
  return static_cast<bool>(out_);
}

}  // namespace tidegauge::wss
