# Included by CMake at llama-cpp-python's project(): leave out llama.cpp's library of command-line tools, which takes a third
# of the build and is not loaded. Its CMakeLists.txt sets the cache entry by force; a plain variable comes before the cache.
cmake_policy(SET CMP0126 NEW)
set(LLAMA_BUILD_COMMON OFF)
