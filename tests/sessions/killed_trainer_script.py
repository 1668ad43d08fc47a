"""A trainer with sessions that is killed: it says which processes it has started, and runs a cell until then."""

import json
import os
import sys
import threading

from code_env import Limits, make_executor
from code_env.harness.process.watching import descendants

executor = make_executor(sys.argv[1], workers=2)
sessions = [executor.open_session(limits=Limits(cpu_s=600, wall_s=600)) for _ in range(3)]
for session in sessions:
    session.run("x = 1")
branches = sessions[0].fork(2)
threading.Thread(target=branches[0].run, args=("while True: pass",)).start()
while branches[0].state != "busy" or not descendants(os.getpid()):
    pass
print(json.dumps(descendants(os.getpid())), flush=True)
threading.Event().wait()
