#include "cli/watch/metrics_token.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace tidegauge::cli {
namespace {

class MetricsToken : public testing::Test {
 protected:
  // What is read of a file with this content and mode; empty: it is refused.
  std::string read(const std::string& content, mode_t mode) {
    std::ofstream(path_) << content;
    chmod(path_.c_str(), mode);
    auto token = metricsToken(path_);
    return token.ok() ? token.value() : "";
  }
  void TearDown() override { unlink(path_.c_str()); }
  std::string path_ = testing::TempDir() + "metrics_token_" + std::to_string(getpid());
};

TEST_F(MetricsToken, IsTheFirstLine) {
  EXPECT_EQ(read("0123456789abcdef\nnot this\n", 0600), "0123456789abcdef");
  EXPECT_EQ(read("0123456789abcdef", 0640), "0123456789abcdef");
  EXPECT_EQ(read("0123456789abcdef \r\n", 0400), "0123456789abcdef");
}

TEST_F(MetricsToken, IsRefusedIfOthersMayReadIt) {
  EXPECT_EQ(read("0123456789abcdef\n", 0644), "");
  EXPECT_EQ(read("0123456789abcdef\n", 0620), "");
}

TEST_F(MetricsToken, IsLongAndWithoutSpaces) {
  EXPECT_EQ(read("0123456789abcde\n", 0600), "");
  EXPECT_EQ(read("0123456789 abcdef\n", 0600), "");
  EXPECT_EQ(read(std::string(1025, 'a'), 0600), "");
  EXPECT_EQ(read("", 0600), "");
  EXPECT_FALSE(metricsToken(path_ + "-absent").ok());
}

}  // namespace
}  // namespace tidegauge::cli
