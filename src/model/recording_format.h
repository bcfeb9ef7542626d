// How a recording file is recognised: SQLite's magic, and Tidegauge's application_id.
//
//   byte 0   "SQLite format 3\0"      byte 60  user_version (big endian)
//   byte 68  application_id (big endian) = kRecordingApplication
//
// Its writer holds a lock on a byte beyond any file's end. So a reader can distinguish a recording
// that is being written from one whose recorder was killed: the kernel drops the lock with the
// process.
//
// Source: docs/formats/recording.md; the file format of SQLite, section 1.3.
#pragma once

#include <cstdint>

namespace tidegauge::model {

inline constexpr int32_t kRecordingApplication = 0x54674772;  // "TgGr"
// Readers refuse a higher version; columns may be added without a new one.
inline constexpr int32_t kRecordingVersion = 1;
// Far beyond SQLite's own lock bytes at 1 GiB.
inline constexpr int64_t kWriterLockByte = int64_t{1} << 62;
// The recorder holds it while it waits for all readers to close, to end a part. New readers wait
// until it is released.
inline constexpr int64_t kEndingLockByte = kWriterLockByte + 1;

}  // namespace tidegauge::model
