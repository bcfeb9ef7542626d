#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "readers/torch/unpack.h"

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

// The window is memory that the file asks for: no more than its size can justify.
int windowLogFor(const UnpackBudget& budget) {
  auto affordable = static_cast<int>(std::bit_width(budget.leftBytes())) - 1;
  return std::clamp(affordable, kUsualWindowLog, kLargestWindowLog);
}

base::Result<base::ByteBuffer> stream(std::span<const uint8_t> input, UnpackBudget& budget) {
  Context context(ZSTD_createDCtx());
  if (!context) return Error{ErrorKind::kLimit, "not enough memory to unpack", std::nullopt, ""};
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, windowLogFor(budget));
  base::ByteBuffer output;
  ZSTD_inBuffer in{input.data(), input.size(), 0};
  ZSTD_outBuffer out{nullptr, 0, 0};
  size_t unfinished = 1;
  for (;;) {
    if (out.pos == out.size) {
      uint64_t wanted = std::max<uint64_t>({1 << 16, input.size() * 4, output.capacity() * 2});
      wanted = std::min(wanted, budget.leftBytes());
      if (wanted <= output.capacity()) return unpackLimitError();
      output.reserve(wanted);
      out.dst = output.data();
      out.size = output.capacity();
    }
    unfinished = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(unfinished)) return zstdError(unfinished, in.pos);
    if (in.pos < in.size || out.pos == out.size) continue;
    if (unfinished == 0) break;
    return Error{ErrorKind::kUnreadable, "the compressed data is cut off", in.pos,
                 "Copy the file again."};
  }
  (void)budget.take(out.pos);
  output.setSize(out.pos);
  return output;
}

// One frame that says how large it is unpacks straight into place, without a window.
base::Result<base::ByteBuffer> single(std::span<const uint8_t> input, uint64_t content_bytes,
                                      UnpackBudget& budget) {
  if (!budget.take(content_bytes)) return unpackLimitError();
  base::ByteBuffer output;
  output.reserve(std::max<uint64_t>(content_bytes, 1));
  size_t written = ZSTD_decompress(output.data(), content_bytes, input.data(), input.size());
  if (ZSTD_isError(written)) return zstdError(written, input.size());
  output.setSize(written);
  return output;
}

}  // namespace

bool isZstd(std::span<const uint8_t> input) {
  if (input.size() < 5 || input[3] > 0xfd) return false;
  bool frame = input[0] == 0x28 && input[1] == 0xb5 && input[2] == 0x2f && input[3] == 0xfd;
  bool skippable =
      (input[0] & 0xf0) == 0x50 && input[1] == 0x2a && input[2] == 0x4d && input[3] == 0x18;
  return frame || skippable;
}

base::Result<base::ByteBuffer> unpackZstd(std::span<const uint8_t> input, UnpackBudget& budget) {
  unsigned long long content_bytes = ZSTD_getFrameContentSize(input.data(), input.size());
  bool known = content_bytes != ZSTD_CONTENTSIZE_UNKNOWN && content_bytes != ZSTD_CONTENTSIZE_ERROR;
  size_t frame_bytes = ZSTD_findFrameCompressedSize(input.data(), input.size());
  bool only_frame = !ZSTD_isError(frame_bytes) && frame_bytes == input.size();
  if (known && only_frame && content_bytes > 0) return single(input, content_bytes, budget);
  return stream(input, budget);
}

}  // namespace tidegauge::readers::torch
