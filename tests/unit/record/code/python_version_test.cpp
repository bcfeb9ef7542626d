#include "record/code/python_version.h"

#include <gtest/gtest.h>

namespace tidegauge::record {
namespace {

TEST(PythonVersion, IsThatOfTheFileName) {
  EXPECT_EQ(pythonVersion("/usr/bin/python3.11"), "3.11");
  EXPECT_EQ(pythonVersion("/usr/bin/python3.12d"), "3.12");
  EXPECT_EQ(pythonVersion("/root/versions/3.8.18/bin/python3.8"), "3.8");
  EXPECT_EQ(pythonVersion("/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0"), "3.11");
  EXPECT_EQ(pythonVersion("/opt/lib/libpython3.7m.so.1.0"), "3.7");
  EXPECT_EQ(pythonVersion("/usr/bin/python2.7"), "2.7");
}

TEST(PythonVersion, EverythingElseHasNone) {
  for (const char* path :
       {"", "/usr/bin/python3", "/usr/lib/libpython3.so", "/usr/bin/python3.11-config",
        "/usr/lib/python3.11/lib-dynload/_ctypes.cpython-311-x86_64-linux-gnu.so",
        "/bin/pythonista", "/usr/bin/python3.", "/usr/bin/python4.0", "/srv/libtorch_python.so"})
    EXPECT_EQ(pythonVersion(path), "") << path;
}

}  // namespace
}  // namespace tidegauge::record
