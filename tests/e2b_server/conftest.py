# Parts of the server, no tests; the kernel's backend would import matplotlib into every run.
collect_ignore_glob = ["*.py"]
