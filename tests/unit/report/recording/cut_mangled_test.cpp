#include "report/recording/cut_mangled.h"

#include <gtest/gtest.h>

namespace tidegauge::report {
namespace {

TEST(CutMangled, NamesAreReadAsFarAsTheyGo) {
  EXPECT_EQ(readableName("_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_im"),
            "at::native::elementwise_kernel<…>");
  EXPECT_EQ(readableName("_ZN2at6native12_GLOBAL__N_124distribution_elementwiseEP"),
            "at::native::(anonymous)::distribution_elementwise(…)");
  EXPECT_EQ(readableName("_Z7scatterPfPKfi"), "scatter(…)");
  EXPECT_EQ(readableName("_Z4gemmILi128"), "gemm<…>");
  EXPECT_EQ(readableName("_ZN2at6native99cut"), "at::native(…)");
}

TEST(CutMangled, EverythingElseStays) {
  for (const char* name : {"", "_Z", "_ZN", "sgemm", "gemm<float>(int)", "_ZN0x", "_Z99999999999a",
                           "_ZTVN2at6TensorE", "kernel at 0xdef (no name)"})
    EXPECT_EQ(readableName(name), name);
}

}  // namespace
}  // namespace tidegauge::report
