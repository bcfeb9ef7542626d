// See find.h.
#define _GNU_SOURCE
#include "injection/find.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 1024 };

static const char* const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"};
// Of NVIDIA's wheels, below site-packages.
static const char* const wheels[] = {"nvidia/cu13/lib/libcupti.so.13",
                                     "nvidia/cuda_cupti/lib/libcupti.so.12",
                                     "nvidia/cuda_cupti/lib/libcupti.so.11.8"};
static const char* const python_roots[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
static const char* const toolkit_roots[] = {"CUDA_HOME", "CUDA_PATH"};
static const char toolkit_place[] = "/usr/local/cuda";

struct search {
  injection_begin begin;
  void* context;
  bool* found;
};

static bool tryIt(struct search* search, const char* path, int flags) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL | flags);
  if (library == NULL) return false;
  *search->found = true;
  return search->begin(library, search->context);  // stays loaded: it may have threads
}

static bool tryFolder(struct search* search, const char* folder, const char* below,
                      const char* const* files, size_t count) {
  char path[PATH_BYTES];
  for (size_t i = 0; i < count; ++i)
    if (snprintf(path, sizeof(path), "%s%s%s", folder, below, files[i]) < (int)sizeof(path) &&
        tryIt(search, path, 0))
      return true;
  return false;
}

enum { NAMES = sizeof(names) / sizeof(names[0]), WHEELS = sizeof(wheels) / sizeof(wheels[0]) };

// The folders of packages from which the program has loaded something. Nothing is loaded here: the
// loader holds its lock.
struct folders {
  char paths[8][PATH_BYTES];
  size_t count;
};
static int noteFolder(struct dl_phdr_info* info, size_t size, void* context) {
  (void)size;
  struct folders* folders = context;
  static const char* const marks[] = {"/site-packages/", "/dist-packages/"};
  for (size_t i = 0; i < 2; ++i) {
    const char* mark = info->dlpi_name == NULL ? NULL : strstr(info->dlpi_name, marks[i]);
    if (mark == NULL) continue;
    size_t length = (size_t)(mark - info->dlpi_name) + strlen(marks[i]);
    if (length >= PATH_BYTES) continue;
    for (size_t k = 0; k < folders->count; ++k)
      if (strlen(folders->paths[k]) == length &&
          strncmp(folders->paths[k], info->dlpi_name, length) == 0)
        return 0;
    if (folders->count == sizeof(folders->paths) / sizeof(folders->paths[0])) return 1;
    memcpy(folders->paths[folders->count], info->dlpi_name, length);
    folders->paths[folders->count++][length] = '\0';
  }
  return 0;
}

static bool tryPythons(struct search* search) {
  static struct folders folders;  // large; this runs once
  dl_iterate_phdr(noteFolder, &folders);
  for (size_t i = 0; i < folders.count; ++i)
    if (tryFolder(search, folders.paths[i], "", wheels, WHEELS)) return true;
  for (size_t i = 0; i < 2; ++i) {
    const char* root = getenv(python_roots[i]);
    if (root == NULL || *root == '\0') continue;
    char pattern[PATH_BYTES];
    if (snprintf(pattern, sizeof(pattern), "%s/lib/python3*/site-packages/", root) >=
        (int)sizeof(pattern))
      continue;
    glob_t matches;
    if (glob(pattern, 0, NULL, &matches) != 0) continue;
    bool done = false;
    for (size_t k = 0; k < matches.gl_pathc && !done; ++k)
      done = tryFolder(search, matches.gl_pathv[k], "", wheels, WHEELS);
    globfree(&matches);
    if (done) return true;
  }
  return false;
}

bool injectionFindCupti(injection_begin begin, void* context, bool* found) {
  struct search search = {begin, context, found};
  *found = false;
  for (size_t i = 0; i < NAMES; ++i) {
    if (tryIt(&search, names[i], RTLD_NOLOAD)) return true;
    if (*found) return false;
  }
  if (tryFolder(&search, "", "", names, NAMES)) return true;
  if (tryPythons(&search)) return true;
  for (size_t i = 0; i < 2; ++i) {
    const char* root = getenv(toolkit_roots[i]);
    if (root != NULL && *root != '\0' &&
        tryFolder(&search, root, "/extras/CUPTI/lib64/", names, NAMES))
      return true;
  }
  return tryFolder(&search, toolkit_place, "/extras/CUPTI/lib64/", names, NAMES);
}
