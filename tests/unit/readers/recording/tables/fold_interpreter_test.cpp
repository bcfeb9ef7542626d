// The interpreter's own code distinguishes no stacks if Python's functions are named.
#include "readers/recording/tables/fold_interpreter.h"

#include <gtest/gtest.h>

namespace tidegauge::readers::recording {
namespace {

class Tables {
 public:
  uint32_t frame(const char* function, const char* file, const char* module) {
    RecordedFrame frame;
    frame.function = tables.texts.intern(function);
    frame.file = tables.texts.intern(file);
    if (*module != 0) frame.module = tables.texts.intern(module);
    tables.frames.push_back(frame);
    return static_cast<uint32_t>(tables.frames.size() - 1);
  }
  void stack(int64_t id, std::vector<uint32_t> frames) {
    tables.stack_rows[id] = static_cast<uint32_t>(tables.stack_begin.size() - 1);
    tables.stack_frames.insert(tables.stack_frames.end(), frames.begin(), frames.end());
    tables.stack_begin.push_back(tables.stack_frames.size());
  }
  std::vector<uint32_t> framesOf(int64_t id) {
    uint32_t row = tables.stack_rows.at(id);
    return {tables.stack_frames.begin() + static_cast<ptrdiff_t>(tables.stack_begin[row]),
            tables.stack_frames.begin() + static_cast<ptrdiff_t>(tables.stack_begin[row + 1])};
  }
  RecordedTables tables;
};

constexpr char kPython[] = "/usr/lib/libpython3.13.so.1.0";

TEST(FoldInterpreter, StacksThatDifferOnlyInItAreOne) {
  Tables of;
  uint32_t malloc = of.frame("cudaMalloc", "", "/lib/libcudart.so.13");
  uint32_t plain = of.frame("_PyEval_EvalFrameDefault", "generated_cases.c.h", kPython);
  uint32_t quick = of.frame("_PyEval_EvalFrameDefault", "generated_cases.c.h", kPython);
  uint32_t call = of.frame("PyObject_Vectorcall", "call.c", kPython);
  uint32_t get = of.frame("get", "/x/th.py", "");
  uint32_t put = of.frame("Cache.put", "/x/th.py", "");
  uint32_t start = of.frame("_start", "", "/usr/bin/python3.13");
  of.stack(7, {malloc, plain, get, call, plain, put, start});
  of.stack(8, {malloc, quick, get, plain, start});
  of.stack(9, {malloc, quick, get, quick, put, start});
  of.stack(10, {malloc, get});
  foldInterpreter(of.tables);
  using Frames = std::vector<uint32_t>;
  EXPECT_EQ(of.framesOf(7), (Frames{malloc, get, put}));
  EXPECT_EQ(of.framesOf(8), (Frames{malloc, get}));
  EXPECT_EQ(of.tables.stack_rows.at(9), of.tables.stack_rows.at(7));
  EXPECT_EQ(of.tables.stack_rows.at(10), of.tables.stack_rows.at(8));
  EXPECT_EQ(of.tables.stack_begin.size(), 3U);
}

TEST(FoldInterpreter, WithoutAPythonFunctionItStays) {
  Tables of;
  uint32_t malloc = of.frame("cudaMalloc", "", "/lib/libcudart.so.13");
  uint32_t plain = of.frame("_PyEval_EvalFrameDefault", "ceval.c", kPython);
  uint32_t get = of.frame("get", "/x/th.py", "");
  of.stack(0, {malloc, plain});
  of.stack(1, {malloc, plain});
  of.stack(2, {malloc, plain, get});
  foldInterpreter(of.tables);
  EXPECT_EQ(of.framesOf(0), (std::vector<uint32_t>{malloc, plain}));
  EXPECT_EQ(of.framesOf(2), (std::vector<uint32_t>{malloc, get}));
  EXPECT_NE(of.tables.stack_rows.at(0), of.tables.stack_rows.at(1));
}

}  // namespace
}  // namespace tidegauge::readers::recording
