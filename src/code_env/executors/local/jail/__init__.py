"""What runs on the far side of `local`: standard library and ctypes only.

Processes, from the trainer inwards; each is the parent of the next::

    trainer ── guardian.py   a fresh interpreter in the trainer's own namespaces; ends all with the trainer
                 └─ server.py    preloaded, jailed, forks workers; never sees a program
                      └─ worker.py   one for each program at a time; never sees a program either
                           └─ child.py   reads its order, gives up what is left of its rights, becomes the program

The layers they enter are one file each: `namespaces.py`, `landlock.py`, `seccomp.py`, with the system
calls in `linux.py`. `wire.py` has the messages. What keeps forks cheap is in `fork_hooks.py`, `rehearsal.py`
and `heap.py`.

Who is trusted: all of these until the child runs the first line of a program. Guardian, server and worker
hold nothing that a program must not see, because a fork passes on whatever memory holds: the
trainer hands them descriptors and numbers, and only a child reads what is behind its own.

It is imported without the packages around it (`boot.py`), so nothing of Gymnasium or NumPy is there, and none
of the tasks that this distribution brings.
"""
