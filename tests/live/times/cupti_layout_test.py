#!/usr/bin/env python3
"""The places of fields that injection/cupti_layout.h states, and the structures of the stand-in
libcupti, are those of CUPTI's real headers, for every version whose records the library reads.

pip fetches NVIDIA's wheels into the folder of the live tests once; without a network the test is skipped."""
import pathlib
import re
import subprocess
import sys
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import live  # noqa: E402  # beside this folder

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Each with what cuptiGetVersion() of it says.
CUPTI = {
    "nvidia-cuda-cupti-cu11==11.8.87": 18,
    "nvidia-cuda-cupti-cu12==12.0.146": 18,
    "nvidia-cuda-cupti-cu12==12.1.105": 18,
    "nvidia-cuda-cupti-cu12==12.2.142": 20,
    "nvidia-cuda-cupti-cu12==12.3.101": 21,
    "nvidia-cuda-cupti-cu12==12.4.127": 22,
    "nvidia-cuda-cupti-cu12==12.5.82": 23,
    "nvidia-cuda-cupti-cu12==12.6.80": 24,
    "nvidia-cuda-cupti-cu12==12.8.90": 26,
    "nvidia-cuda-cupti-cu12==12.9.19": 27,
    "nvidia-cuda-cupti-cu12==12.9.79": 28,
    "nvidia-cuda-cupti==13.0.85": 130001,
    "nvidia-cuda-cupti==13.1.115": 130101,
    "nvidia-cuda-cupti==13.2.86": 130202,
    "nvidia-cuda-cupti==13.3.75": 130301,
    "nvidia-cuda-cupti==13.4.92": 130401,
    "nvidia-cuda-cupti==13.5.25": 130500,
}
CUDA = ("nvidia-cuda-runtime==13.5.37", "nvidia-cuda-crt==13.5.37")  # cuda.h, and what it includes

CHECK = r"""
#include <stddef.h>
#include <stdio.h>
#include <cupti.h>
#include "injection/cupti_layout.h"
#define SAME(type, field, place) \
  if (offsetof(type, field) != (place)) printf("%s.%s is at %zu\n", #type, #field, offsetof(type, field))
int main(void) {
  SAME(KERNEL, kind, CUPTI_RECORD_KIND); SAME(KERNEL, start, CUPTI_RECORD_START);
  SAME(KERNEL, end, CUPTI_RECORD_END); SAME(KERNEL, deviceId, CUPTI_KERNEL_DEVICE);
  SAME(KERNEL, contextId, CUPTI_KERNEL_CONTEXT); SAME(KERNEL, streamId, CUPTI_KERNEL_STREAM);
  SAME(KERNEL, correlationId, CUPTI_KERNEL_CORRELATION); SAME(KERNEL, name, CUPTI_KERNEL_NAME);
  SAME(MEMCPY, kind, CUPTI_RECORD_KIND); SAME(MEMCPY, copyKind, CUPTI_COPY_KIND);
  SAME(MEMCPY, bytes, CUPTI_COPY_SIZE); SAME(MEMCPY, start, CUPTI_RECORD_START);
  SAME(MEMCPY, end, CUPTI_RECORD_END); SAME(MEMCPY, deviceId, CUPTI_COPY_DEVICE);
  SAME(MEMCPY, contextId, CUPTI_COPY_CONTEXT); SAME(MEMCPY, streamId, CUPTI_COPY_STREAM);
  SAME(MEMCPY, correlationId, CUPTI_COPY_CORRELATION);
  SAME(PEER, bytes, CUPTI_COPY_SIZE); SAME(PEER, start, CUPTI_RECORD_START);
  SAME(PEER, end, CUPTI_RECORD_END); SAME(PEER, deviceId, CUPTI_COPY_DEVICE);
  SAME(PEER, contextId, CUPTI_COPY_CONTEXT); SAME(PEER, streamId, CUPTI_COPY_STREAM);
  SAME(PEER, correlationId, CUPTI_COPY2_CORRELATION);
  SAME(MEMSET, bytes, CUPTI_COPY_SIZE); SAME(MEMSET, start, CUPTI_RECORD_START);
  SAME(MEMSET, end, CUPTI_RECORD_END); SAME(MEMSET, deviceId, CUPTI_COPY_DEVICE);
  SAME(MEMSET, contextId, CUPTI_COPY_CONTEXT); SAME(MEMSET, streamId, CUPTI_COPY_STREAM);
  SAME(MEMSET, correlationId, CUPTI_COPY_CORRELATION);
  printf("%d %d %d %d %d %d %d\n", CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL == CUPTI_CONCURRENT_KERNEL,
         CUPTI_ACTIVITY_KIND_MEMCPY == CUPTI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2 == CUPTI_MEMCPY2,
         CUPTI_ACTIVITY_KIND_MEMSET == CUPTI_MEMSET, CUPTI_ERROR_MAX_LIMIT_REACHED == CUPTI_NO_MORE_RECORDS,
         CUPTI_ACTIVITY_FLAG_FLUSH_FORCED == CUPTI_FLUSH_FORCED,
         CUPTI_ACTIVITY_MEMCPY_KIND_PTOP == CUPTI_COPY_PTOP && CUPTI_ACTIVITY_MEMCPY_KIND_HTOD == CUPTI_COPY_HTOD &&
         CUPTI_ACTIVITY_MEMCPY_KIND_DTOH == CUPTI_COPY_DTOH && CUPTI_ACTIVITY_MEMCPY_KIND_HTOA == CUPTI_COPY_HTOA &&
         CUPTI_ACTIVITY_MEMCPY_KIND_ATOH == CUPTI_COPY_ATOH && CUPTI_ACTIVITY_MEMCPY_KIND_ATOA == CUPTI_COPY_ATOA &&
         CUPTI_ACTIVITY_MEMCPY_KIND_ATOD == CUPTI_COPY_ATOD && CUPTI_ACTIVITY_MEMCPY_KIND_DTOA == CUPTI_COPY_DTOA &&
         CUPTI_ACTIVITY_MEMCPY_KIND_DTOD == CUPTI_COPY_DTOD && CUPTI_ACTIVITY_MEMCPY_KIND_HTOH == CUPTI_COPY_HTOH);
  printf("%d %d\n", CUPTI_API_VERSION, cuptiVersionIsKnown(CUPTI_API_VERSION));
  printf("%zu %zu %zu %zu %d\n", sizeof(KERNEL), sizeof(MEMCPY), sizeof(PEER), sizeof(MEMSET),
         CUPTI_ERROR_MAX_LIMIT_REACHED);
  return 0;
}
"""
SIZES = r"""
#include <stdio.h>
#include <stdlib.h>
#include "cupti.c"
int main(int count, char** words) {
  struct sizes sizes = sizesOf((uint32_t)atoi(words[count - 1]));
  printf("%zu %zu %zu %zu %d\n", sizes.kernel, sizes.copy, sizes.peer, sizes.set, kMaxLimitReached);
  return 0;
}
"""


def fetched(name):
    """The folder into which the wheel of that name was unpacked."""
    folder = live.FOLDER / "cupti" / name.replace("==", "-")
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, name],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise unittest.SkipTest(f"pip cannot fetch {name} here: give it a network")
        for wheel in folder.glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(folder)
            wheel.unlink()
        (folder / "done").touch()
    return folder


def include_of(folder, header):
    return next(folder.rglob(header)).parent


def newest(headers, name):
    """CUpti_ActivityKernel9, say: the version that the library of these headers writes."""
    found = re.findall(rf"^}} (CUpti_Activity{name}(\d*));", (headers / "cupti_activity.h").read_text(), re.MULTILINE)
    return max(found, key=lambda it: int(it[1] or 1))[0]


class Layouts(unittest.TestCase):
    def compiled(self, folder, text, *words):
        source = folder / "check.c"
        source.write_text(text)
        live.standin.run("gcc", "-std=gnu17", "-w", "-o", folder / "check", source, "-I", ROOT, *words)
        return folder / "check"

    def test_places_are_those_of_the_real_headers(self):
        cuda = [include_of(fetched(CUDA[0]), "cuda.h"), include_of(fetched(CUDA[1]), "host_defines.h").parent]
        for name, version in CUPTI.items():
            folder = fetched(name)
            headers = include_of(folder, "cupti.h")
            with self.subTest(name):
                names = {"KERNEL": "Kernel", "MEMCPY": "Memcpy", "PEER": "MemcpyPtoP", "MEMSET": "Memset"}
                defined = [f"-D{macro}={newest(headers, of)}" for macro, of in names.items()]
                paths = [word for path in (headers, *cuda) for word in ("-I", path)]
                check = self.compiled(folder, CHECK, *defined, *paths)
                said = subprocess.run([check], capture_output=True, text=True, check=True).stdout.splitlines()
                self.assertEqual(said[:2], ["1 1 1 1 1 1 1", f"{version} 1"])
                sizes = self.compiled(folder, SIZES, "-I", live.standin.HERE, "-lpthread")
                # 12.0 and 12.1 say 18 as 11.8 does, with 8 bytes more: no field is there that is read.
                number = "19" if version == 18 and "cu12" in name else str(version)
                self.assertEqual(subprocess.run([sizes, number], capture_output=True, text=True,
                                                check=True).stdout.splitlines(), said[2:])

    def test_a_version_that_was_not_compared_is_refused(self):
        folder = live.FOLDER / "cupti"
        folder.mkdir(parents=True, exist_ok=True)
        check = self.compiled(folder, '#include <stdio.h>\n#include <stdlib.h>\n#include "injection/cupti_layout.h"\n'
                                      'int main(int n, char** w) { for (int i = 1; i < n; ++i) '
                                      'printf("%d", cuptiVersionIsKnown(atoi(w[i]))); return 0; }')
        unknown = ["0", "17", "19", "25", "29", "120000", "129999", "130600", "140000"]
        self.assertEqual(subprocess.run([check, *unknown], capture_output=True, text=True, check=True).stdout,
                         "0" * len(unknown))
        known = [str(version) for version in CUPTI.values()]
        self.assertEqual(subprocess.run([check, *known], capture_output=True, text=True, check=True).stdout,
                         "1" * len(known))


if __name__ == "__main__":
    live.main()
