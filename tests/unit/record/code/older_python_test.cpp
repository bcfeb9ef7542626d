#include "record/code/older_python.h"

#include <gtest/gtest.h>

namespace tidegauge::record {
namespace {

TEST(OlderPython, IsDetectedByTheMappings) {
  EXPECT_EQ(olderPython("/usr/bin/python3.11"), "3.11");
  EXPECT_EQ(olderPython("/root/versions/3.8.18/bin/python3.8"), "3.8");
  EXPECT_EQ(olderPython("/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0"), "3.11");
  EXPECT_EQ(olderPython("/opt/lib/libpython3.7m.so.1.0"), "3.7");
  EXPECT_EQ(olderPython("/usr/bin/python2.7"), "2.7");
}

TEST(OlderPython, NewerOnesAndEverythingElseAreNone) {
  for (const char* path :
       {"", "/usr/bin/python3", "/usr/bin/python3.12", "/usr/lib/libpython3.13.so.1.0",
        "/usr/bin/python3.12d", "/usr/lib/libpython3.so", "/usr/bin/python3.11-config",
        "/usr/lib/python3.11/lib-dynload/_ctypes.cpython-311-x86_64-linux-gnu.so",
        "/bin/pythonista", "/usr/bin/python3.", "/usr/bin/python4.0", "/srv/libtorch_python.so"})
    EXPECT_EQ(olderPython(path), "") << path;
}

}  // namespace
}  // namespace tidegauge::record
