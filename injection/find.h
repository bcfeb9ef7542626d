// Finds CUPTI from inside a program.
//
//   injectionFindCupti(begin, &state)   begin(library, path, state) for each, until one is true
//
// In this order: the one that the program has already loaded (and then no other: two would disturb
// each other), the loader's paths, the wheels beside the program's other Python packages, the
// toolkit. Newest first. Cost: some failed open() calls, once per program.
#pragma once

#include <stdbool.h>

typedef bool (*injection_begin)(void* library, void* context);

// False: there is none, or none that begins. `found` is set if one was loaded.
bool injectionFindCupti(injection_begin begin, void* context, bool* found);
