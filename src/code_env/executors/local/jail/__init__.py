"""The processes of the `local` executor that run programs. They use the standard library and ctypes only.

These are the processes, from the trainer inwards; each is the parent of the next::

    trainer ── guardian.py   a fresh interpreter in the trainer's own namespaces; ends all when the trainer ends
                 └─ server.py    preloaded, jailed, forks workers; never sees a program
                      └─ worker.py   runs one program at a time; never sees a program either
                           └─ child.py   reads its order, gives up its remaining rights, becomes the program

For programs in an image the image's interpreter runs the server, and a process between it and the guardian waits: it
has entered namespaces in which the image's interpreter cannot change the view (`guardian.py`).

A session's worker (`session_worker.py`) keeps interpreters in which untrusted cells have run. It trusts nothing of
them.

Each layer that they enter has a file: `namespaces.py`, `landlock.py` and `seccomp.py`. The system calls are in
`linux.py`, the messages in `wire.py`. `fork_hooks.py`, `rehearsal.py` and `heap.py` keep forks cheap.

All these processes are trusted until the child runs the first line of a program. A fork inherits everything in memory,
so guardian, server and worker hold nothing that a program must not see. The trainer gives them descriptors and numbers,
and only a child reads the contents behind its descriptors.

`boot.py` imports this package without the packages around it. So Gymnasium and NumPy are not there, nor the tasks that
this distribution contains.
"""
