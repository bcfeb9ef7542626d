// What marks a file as a recording: SQLite's own magic, and 12 numbers later whose it is.
//
//   byte 0   "SQLite format 3\0"      byte 60  user_version (big endian)
//   byte 68  application_id (big endian) = kRecordingApplication
//
// Source: docs/formats/recording.md; the file format of SQLite, section 1.3.
#pragma once

#include <cstdint>

namespace tidegauge::model {

inline constexpr int32_t kRecordingApplication = 0x54674772;  // "TgGr"
// Readers refuse a higher one; columns may be added without a new one.
inline constexpr int32_t kRecordingVersion = 1;

}  // namespace tidegauge::model
