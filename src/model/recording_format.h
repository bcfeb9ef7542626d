// What marks a file as a recording: SQLite's own magic, and 12 numbers later whose it is.
//
//   byte 0   "SQLite format 3\0"      byte 60  user_version (big endian)
//   byte 68  application_id (big endian) = kRecordingApplication
//
// Its writer holds a lock on a byte that no file has, so that a reader can tell a recording that is
// being written from one whose recorder was killed: the kernel drops the lock with the process.
//
// Source: docs/formats/recording.md; the file format of SQLite, section 1.3.
#pragma once

#include <cstdint>

namespace tidegauge::model {

inline constexpr int32_t kRecordingApplication = 0x54674772;  // "TgGr"
// Readers refuse a higher one; columns may be added without a new one.
inline constexpr int32_t kRecordingVersion = 1;
// Far beyond SQLite's own lock bytes at 1 GiB.
inline constexpr int64_t kWriterLockByte = int64_t{1} << 62;
// The recorder holds it while it waits until nobody reads, to end a part: who comes now lets it go
// first.
inline constexpr int64_t kEndingLockByte = kWriterLockByte + 1;

}  // namespace tidegauge::model
