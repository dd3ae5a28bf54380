"""The llama.cpp engine, as it runs in the child process; nothing outside the child imports it.

llama.cpp's worker threads meet at some hundred barriers a step, and OpenMP spins there. When another process takes a core, the spinning
thread burns the very time that the late one needs: a busy neighbour then costs a factor of ten and more. Spinning briefly, and sleeping
after that, costs little when nobody disturbs. libgomp reads this once, when it is loaded, so it is set before anything here loads it.
"""

import os

os.putenv("GOMP_SPINCOUNT", "300000")  # noqa: TID251  (writes, and only for libgomp in this process)
