// The memory shared with a program is untrusted: what waits because of its content is bounded.
#include "record/preload/preload.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "record/session/session.h"
#include "support/bytes.h"

namespace tidegauge::record {
namespace {

// Entries as the library in the programs writes them.
class Writer {
 public:
  explicit Writer(preload_area& area) : area_(area) {}

  // Which the recorder reads at the next poll(); no more than it has chunks.
  void begin() { next_ = 0; }

  void stack(uint32_t image, int32_t id) {
    struct {
      preload_stack stack{};
      uint64_t frame = 0x1000;
    } entry;
    entry.stack.frames = 1;
    entry.stack.id = id;
    add(image, ENTRY_STACK, &entry, sizeof(entry));
  }
  void lines(uint32_t image, uint32_t number) {  // of Python
    struct {
      preload_lines lines{};
      uint8_t bytes[PRELOAD_LINES_BYTES]{};
    } entry;
    entry.lines.number = number;
    add(image, ENTRY_PYTHON_LINES, &entry, sizeof(entry));
  }
  void program(uint32_t image, uint32_t tgid) {
    system_record record{};
    record.event = SYSTEM_EXEC;
    record.tgid = tgid;
    add(image, ENTRY_SYSTEM, &record, sizeof(record));
  }

 private:
  void add(uint32_t image, uint32_t type, const void* bytes, uint32_t size) {
    preload_entry entry{type, size};
    bool has_room = next_ > 0 && chunk().image == image &&
                    chunk().written + sizeof(entry) + size <= sizeof(chunk().bytes);
    if (!has_room) {
      ASSERT_LT(next_, area_.head.chunks);
      area_.head.most_chunks = std::max(area_.head.most_chunks, ++next_);
      chunk().image = image;
      chunk().written = chunk().read = 0;
      chunk().state = CHUNK_FULL;
    }
    uint8_t* at = chunk().bytes + chunk().written;
    std::memcpy(at, &entry, sizeof(entry));
    std::memcpy(at + sizeof(entry), bytes, size);
    chunk().written += static_cast<uint32_t>(sizeof(entry)) + (size + 7) / 8 * 8;
  }
  preload_chunk& chunk() { return area_.chunks[next_ - 1]; }

  preload_area& area_;
  uint32_t next_ = 0;
};

TEST(Preload, StacksThatWaitAreBoundedTogether) {
  auto area = PreloadArea::make({.ring_bytes = 64 * kMiB});
  ASSERT_TRUE(area.ok()) << area.error().what;
  Writer writer(*area.value());
  Session session(std::nullopt);
  PreloadRecorder recorder(std::move(area.value()), session);
  for (uint32_t image = 1; image <= 11; ++image) {  // none of them ever reports its start
    writer.begin();
    for (int32_t id = 0; id < 100'000; ++id) writer.stack(image, id);
    recorder.poll(0);
    EXPECT_EQ(recorder.losses()[LOSS_READ_FAULT], image <= 10 ? 0U : 100'000U) << image;
  }
}

TEST(Preload, LinesOfCodeObjectsThatNeverComeAreBounded) {
  auto area = PreloadArea::make({.ring_bytes = 128 * kMiB});
  ASSERT_TRUE(area.ok()) << area.error().what;
  Writer writer(*area.value());
  Session session(std::nullopt);
  PreloadRecorder recorder(std::move(area.value()), session);
  constexpr uint32_t kFit = 64 * kMiB / PRELOAD_LINES_BYTES + 1;
  for (uint32_t number = 0; number < kFit + 1000; ++number) writer.lines(number % 7, number);
  recorder.poll(0);
  EXPECT_EQ(recorder.losses()[LOSS_READ_FAULT], 1000U);
}

TEST(Preload, ProgramsThatNeverBeginTakeNoRoomFromThoseThatDo) {
  auto area = PreloadArea::make({.ring_bytes = 64 * kMiB});
  ASSERT_TRUE(area.ok()) << area.error().what;
  Writer writer(*area.value());
  Session session(std::nullopt);
  PreloadRecorder recorder(std::move(area.value()), session);
  constexpr uint32_t kAtOnce = 10'000;
  for (uint32_t image = 1; image <= 100'000; ++image) {
    if (image % kAtOnce == 1) writer.begin();
    writer.stack(image, 1);
    if (image % kAtOnce == 0) recorder.poll(0);
  }
  writer.begin();
  writer.program(100'001, static_cast<uint32_t>(getpid()));
  recorder.poll(0);
  EXPECT_EQ(session.processes().size(), 1U);
  EXPECT_EQ(recorder.losses()[LOSS_READ_FAULT], 0U);
}

}  // namespace
}  // namespace tidegauge::record
