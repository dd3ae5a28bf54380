"""The llama.cpp engine, as it runs in the child process; nothing outside the child imports it.

llama.cpp's worker threads meet at some hundred barriers a step, and OpenMP spins there. When another process takes a core, the spinning
thread burns time that the late one needs. Spinning for about as long as lies between two steps costs nothing when nobody disturbs, and a
little less when somebody does (docs/adr/0005). libgomp reads this once, when it is loaded, so it is set before anything here loads it.
"""

import os

os.putenv("GOMP_SPINCOUNT", "300000")  # noqa: TID251  (writes, and only for libgomp in this process)
