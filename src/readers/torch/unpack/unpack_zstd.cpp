#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "readers/torch/unpack/unpack.h"

namespace tidegauge::readers::torch {
namespace {

using base::Error;
using base::ErrorKind;

constexpr int kUsualWindowLog = 27;  // zstd --long
constexpr int kLargestWindowLog = 31;

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};
using Context = std::unique_ptr<ZSTD_DCtx, FreeContext>;

Error zstdError(size_t code, uint64_t offset) {
  return {ErrorKind::kUnreadable,
          fmt::format("the compressed data is damaged or cut off ({})", ZSTD_getErrorName(code)),
          offset, "Copy the file again."};
}

// The position of an error in a frame. A checksum is at the end of its frame, so its error has no
// known position.
uint64_t placeOf(size_t code, std::span<const uint8_t> input, uint64_t at) {
  if (ZSTD_getErrorCode(code) != ZSTD_error_checksum_wrong) return at;
  size_t frame_bytes = ZSTD_findFrameCompressedSize(input.data() + at, input.size() - at);
  return ZSTD_isError(frame_bytes) ? at : at + frame_bytes;
}

// The window is memory requested by the file: no more than its size can justify.
int windowLogFor(const UnpackBudget& budget) {
  auto affordable = static_cast<int>(std::bit_width(budget.leftBytes())) - 1;
  return std::clamp(affordable, kUsualWindowLog, kLargestWindowLog);
}

base::Result<Context> contextFor(const UnpackBudget& budget) {
  Context context(ZSTD_createDCtx());
  if (!context) return Error{ErrorKind::kLimit, "not enough memory to unpack", 0, ""};
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, windowLogFor(budget));
  return context;
}

// All frames, of any length: most_bytes bounds the output, and the result says if that was all.
base::Result<Decompressed> stream(std::span<const uint8_t> input, UnpackBudget& budget,
                                  uint64_t most_bytes) {
  TG_ASSIGN_OR_RETURN(Context context, contextFor(budget));
  Decompressed result;
  base::ByteBuffer& output = result.bytes;
  ZSTD_inBuffer in{input.data(), input.size(), 0};
  ZSTD_outBuffer out{nullptr, 0, 0};
  bool checked = false;  // its start
  for (;;) {
    if (out.pos == most_bytes) {
      result.is_whole = false;
      break;
    }
    if (!checked && out.pos == kUnpackedStart) {
      checked = true;
      result.is_whole = mayBecomeReadable({output.data(), out.pos});
      if (!result.is_whole) break;
    }
    if (out.pos == output.capacity()) {
      uint64_t wanted = std::max<uint64_t>({kUnpackedStart, input.size() * 4, out.pos * 2});
      wanted = std::min({wanted, budget.leftBytes(), most_bytes});
      if (wanted <= output.capacity()) return budget.error();
      output.reserve(wanted);
    }
    out.dst = output.data();
    out.size = checked ? output.capacity() : std::min(output.capacity(), kUnpackedStart);
    size_t before = in.pos;
    size_t unfinished = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(unfinished)) return zstdError(unfinished, placeOf(unfinished, input, before));
    if (in.pos < in.size || out.pos == out.size) continue;
    if (unfinished == 0) break;
    return Error{ErrorKind::kUnreadable, "the compressed data is cut off", in.pos,
                 "Copy the file again."};
  }
  (void)budget.take(out.pos);
  output.setSize(out.pos);
  return result;
}

// One frame with a known size is unpacked directly into place, without a window.
base::Result<Decompressed> single(std::span<const uint8_t> input, uint64_t content_bytes,
                                  UnpackBudget& budget) {
  if (content_bytes > kUnpackedStart) {
    TG_ASSIGN_OR_RETURN(Decompressed start, stream(input, budget, kUnpackedStart));
    if (!mayBecomeReadable(start.bytes.bytes())) return start;
  }
  if (!budget.take(content_bytes)) return budget.error();
  Decompressed result;
  result.bytes.reserve(std::max<uint64_t>(content_bytes, 1));
  size_t written = ZSTD_decompress(result.bytes.data(), content_bytes, input.data(), input.size());
  if (ZSTD_isError(written)) return zstdError(written, placeOf(written, input, 0));
  result.bytes.setSize(written);
  return result;
}

}  // namespace

bool isZstd(std::span<const uint8_t> input) {
  if (input.size() < 4) return false;
  bool frame = input[0] == 0x28 && input[1] == 0xb5 && input[2] == 0x2f && input[3] == 0xfd;
  bool skippable =
      (input[0] & 0xf0) == 0x50 && input[1] == 0x2a && input[2] == 0x4d && input[3] == 0x18;
  return frame || skippable;
}

base::Result<Decompressed> unpackZstd(std::span<const uint8_t> input, UnpackBudget& budget) {
  unsigned long long content_bytes = ZSTD_getFrameContentSize(input.data(), input.size());
  bool known = content_bytes != ZSTD_CONTENTSIZE_UNKNOWN && content_bytes != ZSTD_CONTENTSIZE_ERROR;
  size_t frame_bytes = ZSTD_findFrameCompressedSize(input.data(), input.size());
  bool only_frame = !ZSTD_isError(frame_bytes) && frame_bytes == input.size();
  if (known && only_frame && content_bytes > 0) return single(input, content_bytes, budget);
  return stream(input, budget, UINT64_MAX);
}

}  // namespace tidegauge::readers::torch
